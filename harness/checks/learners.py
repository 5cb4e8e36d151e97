"""Checks of learners on a small, easy problem: the contract, the conventions of scikit-learn, and saved files."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassifierMixin, clone

from harness.checks.subject import (
    N_CLASSES,
    N_ROWS,
    PREFIX,
    Check,
    CheckFailed,
    NotApplicable,
    Problem,
    Subject,
    accuracy_of,
    own_parameters,
    ranks_by,
    require,
)
from harness.errors import ContractError
from harness.host.contract import LearnerSpec
from harness.host.introspection import import_parameters
from harness.text import counted
from harness.trials.data import checksum
from harness.trials.predict import checked_contributions, checked_scores_of, has_scores

FRESH_FITS, FITS_AGAIN = 5, 2
"""Number of fits of new learners, which show how much ranks vary by chance, and of repeated fits to compare."""
MEASURES = ("index_size_", "index_bytes_", "edges_touched")
"""Optional attributes of learners that report a size."""


def check_names_its_parameters(subject: Subject) -> None:
    """The declared parameters and defaults equal those of the class, since records state them."""
    actual = dict(import_parameters(subject.spec.load))
    declared = subject.declared_parameters()
    require(declared.keys() == actual.keys(), f"declared parameters {sorted(declared)}, the class has {sorted(actual)}")
    wrong = []
    for name, default in declared.items():
        is_source = hasattr(default, "text")  # an expression from the source, which cannot be compared
        if not is_source and repr(default) != repr(actual[name]):
            wrong.append(name)
    require(not wrong, f"declared defaults differ from those of the class: {', '.join(wrong)}")


def check_has_get_params_and_set_params(subject: Subject) -> None:
    """`set_params(**get_params())` changes nothing, as scikit-learn expects."""
    learner = subject.build()
    before = own_parameters(learner)
    if before is None:
        raise CheckFailed("no get_params: derive the class from sklearn.base.BaseEstimator")
    learner.set_params(**before)
    after = own_parameters(learner)
    require(repr(before) == repr(after), f"set_params(**get_params()) changed the parameters: {before} -> {after}")


def check_ranks_in_the_required_shape(subject: Subject) -> None:
    """`rank(X, k)` returns k columns for any k, since metrics such as R5 read them by position."""
    problem = subject.problem()
    learner = subject.fitted(problem)
    for k in (1, 3, N_CLASSES + 4):
        ranks_by(learner, problem.X, k)


def check_learns_an_easy_problem(subject: Subject) -> None:
    """The accuracy on an easy problem is at least twice that of guessing; less points to a mistake in `fit`."""
    accuracy = accuracy_of(subject.fitted(subject.problem()), subject.problem(seed=1))
    require(accuracy > 2 / N_CLASSES, f"accuracy {accuracy:.2f} on an easy problem of {N_CLASSES} classes")


def check_predicts_what_it_ranks_first(subject: Subject) -> None:
    """`predict` returns the class that is ranked first, since metrics use both."""
    problem = subject.problem()
    learner = subject.fitted(problem)
    ranks, predicted = ranks_by(learner, problem.X), np.asarray(learner.predict(problem.X))
    ranked = ranks[:, 0] >= 0
    differ = np.flatnonzero(predicted[ranked] != ranks[ranked, 0])
    rows = counted(differ.size, "row")
    require(differ.size == 0, f"predict and the first rank differ in {rows}, first in row {differ[:1]}")


def check_does_not_change_its_input(subject: Subject) -> None:
    """`fit` and ranking do not change X or y, which belong to the caller."""
    problem = subject.problem()
    before = checksum(problem.X), checksum(problem.y)
    learner = subject.fitted(problem)
    require(before == (checksum(problem.X), checksum(problem.y)), "fit changed X or y: work on a copy")
    ranks_by(learner, problem.X)
    require(before[0] == checksum(problem.X), "ranking changed X: work on a copy")


def check_is_reproducible(subject: Subject) -> None:
    """Two fits with the same `random_state` return the same ranks, since results must be repeatable."""
    if not subject.spec.deterministic:
        raise NotApplicable("declared as not deterministic")
    problem = subject.problem()
    first, second = ranks_by(subject.fitted(problem), problem.X), ranks_by(subject.fitted(problem), problem.X)
    require(
        np.array_equal(first, second), "two fits with the same random_state rank differently: seed every random choice"
    )


def check_forgets_when_fitted_again(subject: Subject) -> None:
    """A second `fit` forgets the first one, since earlier data must not leak into a trial."""
    problem = subject.problem()
    fresh = [ranks_by(subject.fitted(problem), problem.X)]
    if np.array_equal(fresh[0], _ranks_after_another_fit(subject, problem)):
        return
    # Two fits may differ by chance. The check fails only if repeated fits differ by more than new learners do.
    fresh += [ranks_by(subject.fitted(problem), problem.X) for _ in range(FRESH_FITS - 1)]
    by_chance = max(_difference(one, other) for one, other in itertools.combinations(fresh, 2))
    for _ in range(FITS_AGAIN):
        again = _ranks_after_another_fit(subject, problem)
        if min(_difference(again, one) for one in fresh) <= by_chance:
            return
    raise CheckFailed("a second fit depends on the first: reset all state in fit")


def _ranks_after_another_fit(subject: Subject, problem: Problem) -> NDArray[np.int32]:
    """Return the ranks of a learner that was first fitted on other labels, then on the problem."""
    learner = subject.fitted(problem.labelled(problem.y[::-1].copy()))
    return ranks_by(subject.fit(learner, problem), problem.X)


def _difference(first: NDArray[np.int32], second: NDArray[np.int32]) -> float:
    """Return the share of ranks that differ."""
    return float((first != second).mean())


def check_ranks_only_training_classes(subject: Subject) -> None:
    """Ranks never include a class without training rows, which a split may produce."""
    problem = subject.problem()
    without = problem.labelled(np.where(problem.y == 2, 0, problem.y))
    ranks = ranks_by(subject.fitted(without), problem.X, N_CLASSES)
    require(not (ranks == 2).any(), "ranks a class that was not in the training data")


def check_takes_an_empty_row(subject: Subject) -> None:
    """A row without features, such as a text of unknown words, can be ranked."""
    problem = subject.problem()
    learner = subject.fitted(problem)
    ranks_by(learner, problem.X[-1:])


def check_takes_several_labels_if_declared(subject: Subject) -> None:
    """A learner that declares `multilabel` fits rows with two labels, since it gets such data."""
    if "multilabel" not in subject.spec.supports:
        raise NotApplicable("takes one label a row")
    problem = subject.problem()
    rows = np.arange(N_ROWS)
    pairs = (np.concatenate([rows, rows]), np.concatenate([problem.y, (problem.y + 1) % N_CLASSES]))
    y = csr_array((np.ones(2 * N_ROWS, np.int8), pairs), shape=(N_ROWS, N_CLASSES))
    ranks_by(subject.fitted(problem.labelled(y)), problem.X)


def check_measures_its_index(subject: Subject) -> None:
    """The sizes that the learner reports are finite and not negative, since tables compare them."""
    problem = subject.problem()
    learner = subject.fitted(problem)
    if not any(hasattr(learner, name) for name in MEASURES):
        raise NotApplicable("has none of " + ", ".join(MEASURES))
    if hasattr(learner, "index_size_"):
        require(int(learner.index_size_) >= 0, f"index_size_ is {learner.index_size_!r}, expected a count")
    if hasattr(learner, "index_bytes_"):
        require(int(learner.index_bytes_) >= 0, f"index_bytes_ is {learner.index_bytes_!r}, expected a count")
    if hasattr(learner, "edges_touched"):
        edges = float(learner.edges_touched(problem.X))
        require(np.isfinite(edges) and edges >= 0, f"edges_touched returned {edges}, expected edges per active feature")


def check_scores_what_it_ranks(subject: Subject) -> None:
    """`scores(X, ranks)` returns a score for each rank, best first, since confidence is computed from them."""
    problem = subject.problem()
    learner = subject.fitted(problem)
    if not has_scores(learner):
        raise NotApplicable("has no scores(X, ranks)")
    try:
        checked_scores_of(learner, problem.X, np.asarray(learner.rank(problem.X, 3)))
    except ContractError as error:
        raise CheckFailed(str(error)) from error


def check_contributions_add_up(subject: Subject) -> None:
    """`contributions(X, ranks)` and the bias add up to each score, since explanations show these parts."""
    problem = subject.problem()
    learner = subject.fitted(problem)
    if not hasattr(learner, "contributions"):
        raise NotApplicable("has no contributions(X, ranks)")
    try:
        checked_contributions(learner, problem.X, np.asarray(learner.rank(problem.X, 3)))
    except ContractError as error:
        raise CheckFailed(str(error)) from error


def check_reports_each_pass(subject: Subject) -> None:
    """`fit` calls `after_pass` with 1, 2, ... after each pass, since learning curves need each one."""
    if "after_pass" not in inspect.signature(subject.kind().fit).parameters:
        raise NotApplicable("fit takes no after_pass")
    passes: list[int] = []
    subject.fitted(subject.problem(), after_pass=passes.append)
    expected = list(range(1, len(passes) + 1))
    require(bool(passes) and passes == expected, f"after_pass got {passes}, expected 1, 2, ... after each pass")


BATCHES = 4
ROUNDS = 5
"""Passes over the batches, as many as most learners make over their training data."""
ENOUGH = 2 / N_CLASSES
"""Minimum accuracy of a learner that has learned something: twice that of guessing."""


def check_takes_read_only_input(subject: Subject) -> None:
    """The learner works on read-only arrays, since trials map their data from files."""
    problem = subject.problem()
    with TemporaryDirectory() as folder:
        mapped = replace(problem, X=_mapped_rows(problem.X, folder), y=_mapped(problem.y, folder, "y"))
        try:
            ranks_by(subject.fitted(mapped), mapped.X)
        except ValueError as error:
            ranks_by(subject.fitted(problem), problem.X)  # raises here if read-only arrays are not the cause
            raise CheckFailed(f"fails on read-only arrays: work on a copy ({error})") from error


def _mapped_rows(X: Any, folder: str) -> Any:
    if not issparse(X) and X.dtype.hasobject:
        X.setflags(write=False)  # texts cannot be memory-mapped
        return X
    if not issparse(X):
        return _mapped(X, folder, "X")
    parts = [_mapped(getattr(X, name), folder, name) for name in ("data", "indices", "indptr")]
    return csr_array(tuple(parts), shape=X.shape)


def _mapped(array: NDArray[Any], folder: str, name: str) -> NDArray[Any]:
    file = Path(folder, f"{name}.npy")
    np.save(file, array)
    mapped: NDArray[Any] = np.load(file, mmap_mode="r")
    return mapped


def check_takes_labels_of_any_kind(subject: Subject) -> None:
    """`fit` takes strings or any whole numbers as labels, as in scikit-learn."""
    if not issubclass(subject.kind(), ClassifierMixin):
        raise NotApplicable("is not a scikit-learn classifier: its labels are class positions")
    if "taxonomy" in subject.spec.needs:
        raise NotApplicable("its labels are positions in a taxonomy")
    problem = subject.problem()
    texts = np.array([f"class {c}" for c in range(N_CLASSES)])
    for names in (texts, texts.astype(object), 10 * np.arange(N_CLASSES) - 7):
        learner = subject.fitted(problem.labelled(names[problem.y]))
        require(np.array_equal(learner.classes_, names), f"classes_ is {learner.classes_!r}, expected {names!r}")
        accuracy = float((np.asarray(learner.predict(problem.X)) == names[problem.y]).mean())
        require(accuracy > ENOUGH, f"accuracy {accuracy:.2f} with class names such as {names.tolist()[0]!r}")


def check_can_be_cloned(subject: Subject) -> None:
    """`sklearn.base.clone` returns an unfitted copy with the same parameters, as wrappers and tuning need."""
    learner = subject.fitted(subject.problem())
    if own_parameters(learner) is None:
        raise NotApplicable("has no get_params")
    try:
        copy = clone(learner)
    except (RuntimeError, TypeError) as error:
        raise CheckFailed(f"scikit-learn cannot clone it: {error}") from error
    before, after = own_parameters(learner), own_parameters(copy)
    require(repr(before) == repr(after), f"its clone has other parameters: {before} -> {after}")
    require(not hasattr(copy, "classes_"), "its clone is already fitted: learn in fit only")


def check_learns_in_batches(subject: Subject) -> None:
    """`partial_fit` learns an easy problem from batches, since `batches(...)` trains with it alone."""
    learner = subject.build()
    if not hasattr(learner, "partial_fit"):
        raise NotApplicable("has no partial_fit")
    problem, known = subject.problem(), np.arange(N_CLASSES)
    size = N_ROWS // BATCHES
    for number in range(BATCHES * ROUNDS):
        start = number % BATCHES * size
        batch = problem.part(start, start + size)
        if number == 0:
            learner.partial_fit(batch.X, batch.y, classes=known)
        else:
            learner.partial_fit(batch.X, batch.y)
    accuracy = accuracy_of(learner, subject.problem(seed=1))
    require(accuracy > ENOUGH, f"accuracy {accuracy:.2f} on an easy problem of {N_CLASSES} classes, in batches")


def check_continues_after_fit(subject: Subject) -> None:
    """`partial_fit` after `fit` continues the training, since `harness update` adds rows to a model."""
    problem = subject.problem()
    learner = subject.fitted(problem)
    if not hasattr(learner, "partial_fit"):
        raise NotApplicable("has no partial_fit")
    batch = problem.part(0, N_CLASSES)
    learner.partial_fit(batch.X, batch.y)
    accuracy = accuracy_of(learner, subject.problem(seed=1))
    require(accuracy > ENOUGH, f"accuracy {accuracy:.2f} after fit and a small batch: it forgot what fit learned")


CUTS, FLIPS = 6, 24
"""Number of positions at which a saved file is truncated, and at which a byte is changed."""


@contextmanager
def _saved(subject: Subject) -> Iterator[tuple[Any, Path]]:
    """Yield a fitted learner and the file to which it was saved."""
    kind = subject.kind()
    if not (callable(getattr(kind, "save", None)) and callable(getattr(kind, "load", None))):
        raise NotApplicable("has no save and load")
    learner = subject.fitted(subject.problem())
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        learner.save(file)
        require(file.is_file(), "save(path) wrote no file at path")
        yield learner, file


def check_saves_and_loads(subject: Subject) -> None:
    """After `save` and `load` a learner ranks and learns as before, since models are used from files."""
    with _saved(subject) as (learner, file):
        loaded = subject.kind().load(file)
    problem = subject.problem(seed=1)
    before, after = own_parameters(learner), own_parameters(loaded)
    require(repr(before) == repr(after), f"loads with other parameters: {before} -> {after}")
    _require_alike(learner, loaded, problem.X, "a saved learner loads with other ranks")
    if hasattr(learner, "index_size_"):
        sizes = learner.index_size_, loaded.index_size_
        require(sizes[0] == sizes[1], f"index_size_ is {sizes[1]} after loading, was {sizes[0]}")
    if hasattr(learner, "partial_fit") and subject.spec.deterministic:
        for one in (learner, loaded):
            one.partial_fit(problem.X, problem.y)
        _require_alike(learner, loaded, problem.X, "a loaded learner learns its next batch differently")


def _require_alike(learner: Any, loaded: Any, X: Any, message: str) -> None:
    same_ranks = np.array_equal(ranks_by(learner, X, N_CLASSES), ranks_by(loaded, X, N_CLASSES))
    require(same_ranks and np.array_equal(learner.predict(X), loaded.predict(X)), message)


def check_refuses_a_damaged_file(subject: Subject) -> None:
    """`load` of a damaged file raises ValueError unless no rank changes: damage must not pass unnoticed."""
    random = np.random.default_rng(0)
    X = subject.problem().X
    with _saved(subject) as (_, file):
        content, expected = file.read_bytes(), ranks_by(subject.kind().load(file), X)
        for cut in (0, *random.integers(1, len(content), CUTS)):
            file.write_bytes(content[:cut])
            loaded = _load(subject, file, f"cut off after {cut:,} of {len(content):,} bytes")
            require(loaded is None, f"loads a file that was cut off after {cut:,} of {len(content):,} bytes")
        for place in random.integers(0, len(content), FLIPS):
            damaged = bytearray(content)
            damaged[place] ^= 0xFF
            file.write_bytes(damaged)
            loaded = _load(subject, file, f"whose byte {place:,} was changed")
            harmless = loaded is None or np.array_equal(ranks_by(loaded, X), expected)  # such as a byte of a date
            require(harmless, f"loads a file whose byte {place:,} was changed, and ranks differently")


def _load(subject: Subject, file: Path, damage: str) -> Any:
    """Return the loaded learner; None if loading raised ValueError, as it should for a damaged file."""
    try:
        return subject.kind().load(file)
    except ValueError:
        return None
    except Exception as error:
        raise CheckFailed(f"a file {damage} raises {type(error).__name__}, expected ValueError: {error}") from error


def scikit_learn_checks(spec: LearnerSpec, **params: Any) -> list[Check]:
    """Return the checks of `sklearn.utils.estimator_checks.check_estimator` for a learner with these parameters.

    The harness does not require them. They are stricter on invalid input and on the wording of errors.

    Parameters
    ----------
    spec : LearnerSpec
        The learner.
    **params : object
        Parameters that differ from the defaults.
    """
    from sklearn.utils.estimator_checks import estimator_checks_generator  # noqa: PLC0415 (scikit-learn's checks bring pytest along)

    learner = Subject(spec, params).build()
    found = []
    for estimator, check in estimator_checks_generator(learner):
        found.append(Check(_name_of(check), partial(check, estimator)))
    return found


def _name_of(check: Any) -> str:
    """Return the name of a check, with its arguments, since scikit-learn uses some functions for several checks."""
    if not isinstance(check, partial):
        return str(check.__name__).removeprefix(PREFIX)
    called_with = [f"{name}={value}" for name, value in check.keywords.items()]
    return ",".join([_name_of(check.func), *called_with])
