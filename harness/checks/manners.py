"""What a learner must put up with: data that are not its own to write, labels of any kind, being cloned, batches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassifierMixin, clone

from harness.checks.check import CheckFailed, NotApplicable, require
from harness.checks.subject import N_CLASSES, N_ROWS, Subject, accuracy_of, own_parameters, ranks_by

BATCHES = 4
ROUNDS = 5
"""Times that the batches are gone through, as often as most learners go through their data."""
ENOUGH = 2 / N_CLASSES
"""The accuracy above which something was learned: twice that of guessing."""


def check_takes_read_only_input(subject: Subject) -> None:
    problem = subject.problem()
    with TemporaryDirectory() as folder:
        mapped = replace(problem, X=_mapped_rows(problem.X, folder), y=_mapped(problem.y, folder, "y"))
        try:
            ranks_by(subject.fitted(mapped), mapped.X)
        except ValueError as error:
            ranks_by(subject.fitted(problem), problem.X)  # what fails here as well has another cause, and tells it
            raise CheckFailed(f"refuses data mapped from a file, read-only: work on a copy ({error})") from error


def _mapped_rows(X: Any, folder: str) -> Any:
    if not issparse(X) and X.dtype.hasobject:
        X.setflags(write=False)  # texts, which no file can be mapped to as they are
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
    if not issubclass(subject.kind(), ClassifierMixin):
        raise NotApplicable("is no scikit-learn classifier: its labels are class positions")
    if "taxonomy" in subject.spec.needs:
        raise NotApplicable("its labels are the positions of classes in a tree")
    problem = subject.problem()
    texts = np.array([f"class {c}" for c in range(N_CLASSES)])
    for names in (texts, texts.astype(object), 10 * np.arange(N_CLASSES) - 7):
        learner = subject.fitted(problem.labelled(names[problem.y]))
        require(np.array_equal(learner.classes_, names), f"classes_ is {learner.classes_!r}, expected {names!r}")
        accuracy = float((np.asarray(learner.predict(problem.X)) == names[problem.y]).mean())
        require(accuracy > ENOUGH, f"accuracy {accuracy:.2f} where classes have names such as {names[0]!r}")


def check_survives_sklearns_clone(subject: Subject) -> None:
    learner = subject.fitted(subject.problem())
    if own_parameters(learner) is None:
        raise NotApplicable("has no get_params")
    try:
        copy = clone(learner)
    except (RuntimeError, TypeError) as error:
        raise CheckFailed(f"scikit-learn cannot clone it: {error}") from error
    before, after = own_parameters(learner), own_parameters(copy)
    require(repr(before) == repr(after), f"its clone has other parameters: {before} -> {after}")
    require(not hasattr(copy, "classes_"), "its clone is fitted already: whatever is learned belongs to fit alone")


def check_learns_in_batches(subject: Subject) -> None:
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


def check_goes_on_from_what_fit_learned(subject: Subject) -> None:
    problem = subject.problem()
    learner = subject.fitted(problem)
    if not hasattr(learner, "partial_fit"):
        raise NotApplicable("has no partial_fit")
    batch = problem.part(0, N_CLASSES)
    learner.partial_fit(batch.X, batch.y)
    accuracy = accuracy_of(learner, subject.problem(seed=1))
    require(accuracy > ENOUGH, f"accuracy {accuracy:.2f} after fit and a small batch: it forgot what fit learned")
