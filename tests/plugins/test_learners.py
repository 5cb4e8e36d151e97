"""Every built-in learner satisfies the contract, works with scikit-learn, and is reproducible."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import NotFittedError

from built_in_learners import EVERY, OTHERWISE, PLAIN, SPECS, SetUp
from harness import Taxonomy
from harness_prototype import PA
from internals import HasIndexBytes, HasIndexSize, Problem, Ranks, TouchesEdges, learner_checks, scikit_learn_checks
from messages import naming
from problems import parts_of_prototypes

CONTRACT = [(set_up, check) for set_up in EVERY for check in learner_checks(set_up.spec, **set_up.params)]
AT_HOME = [set_up for set_up in [*PLAIN, *OTHERWISE] if "taxonomy" not in set_up.spec.needs]
AT_HOME += [
    SetUp("committee", {"learner": None, "members": 2}),
    SetUp("sparsify", {"learner": None, "share": 0.8}),
    SetUp("oversample", {"learner": None, "least": 3}),
    SetUp("batches", {"learner": None, "rows": 7}),
    SetUp("shortlist", {"learner": PA(passes=2), "candidates": 3}),
    SetUp("blend"),
]
SCIKIT_LEARN = [(set_up, check) for set_up in AT_HOME for check in scikit_learn_checks(set_up.spec, **set_up.params)]
PACKAGES = sorted({spec.load.split(".")[0] for spec in SPECS.values()})

every = pytest.mark.parametrize("set_up", [*PLAIN, *OTHERWISE], ids=str)


def named(pairs):
    return [f"{set_up}-{check}" for set_up, check in pairs]


@pytest.mark.parametrize(("set_up", "check"), CONTRACT, ids=named(CONTRACT))
def test_it_satisfies_the_contract(set_up, check):
    check()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(("set_up", "check"), SCIKIT_LEARN, ids=named(SCIKIT_LEARN))
def test_it_passes_scikit_learns_estimator_checks(set_up, check):
    check()


def problem(seed: int = 0, n: int = 200, n_classes: int = 12) -> Problem:
    X, y = parts_of_prototypes(seed, n, n_classes=n_classes)
    parent = np.array([-1, 0, 0, 0, *(1 + np.arange(n_classes) % 3)])
    return Problem(X, y, Taxonomy(parent, 4 + np.arange(n_classes)))


def fitted(set_up: SetUp, given: Problem, **params):
    return set_up.subject.fit(set_up.build(**params), given)


def learned(learner) -> dict[str, np.ndarray]:
    """Return all fitted attributes, without unused arena space."""
    found = {}
    for name, value in learner._fitted().items():
        for part, array in enumerate(value if isinstance(value, tuple) else [value]):
            found[f"{name} {part}"] = np.asarray(array)
    return found


@every
def test_it_learns_above_chance(set_up):
    train, test = problem(n=1500).part(0, 1200), problem(n=1500).part(1200, 1500)
    assert fitted(set_up, train).score(test.X, test.y) > 0.7


@every
def test_results_are_bit_identical_for_any_number_of_threads(set_up, monkeypatch):
    given = problem(n=300)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = fitted(set_up, given)
    expected, ranks = learned(alone), alone.rank(given.X, 5)
    for threads in ("2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        learner = fitted(set_up, given)
        assert_array_equal(learner.rank(given.X, 5), ranks)
        assert_array_equal(alone.predict(given.X), learner.predict(given.X))
        found = learned(learner)
        assert found.keys() == expected.keys()
        for name in found:
            assert_array_equal(found[name], expected[name], err_msg=name)


@every
def test_it_has_the_optional_attributes_of_the_contract(set_up):
    learner = fitted(set_up, problem())
    for ability in (Ranks, HasIndexSize, HasIndexBytes, TouchesEdges):
        assert isinstance(learner, ability)
    assert 0 < learner.index_size_ <= learner.index_bytes_ / 4


@every
def test_equal_seeds_are_bit_identical_and_other_seeds_differ(set_up):
    one, two, other = (learned(fitted(set_up, problem(), random_state=seed)) for seed in (3, 3, 4))
    assert one.keys() == two.keys()
    for name, array in one.items():
        assert_array_equal(array, two[name], err_msg=name, strict=True)
    assert any(not np.array_equal(array, other.get(name)) for name, array in one.items())


@every
def test_fitting_again_discards_the_previous_fit(set_up):
    fresh, again = fitted(set_up, problem()), fitted(set_up, problem(seed=1, n=90))
    set_up.subject.fit(again, problem())
    for name, array in learned(fresh).items():
        assert_array_equal(array, learned(again)[name], err_msg=name, strict=True)


@every
def test_ranks_beyond_the_classes_are_padded_and_all_training_classes_are_ranked(set_up):
    given = problem(n_classes=4)
    given = given.labelled(np.where(given.y == 2, 1, given.y))
    ranked = fitted(set_up, given).rank(given.X, 7)
    assert np.all(ranked[:, 3:] == -1)
    assert set(ranked[:, :3].ravel()) - {-1} == {0, 1, 2}


@every
@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda X: X.toarray(), lambda X: X.astype(np.float64)])
def test_every_matrix_type_gives_the_same_ranks(set_up, kind):
    given = problem()
    same = Problem(kind(given.X), given.y, given.taxonomy)
    assert_array_equal(fitted(set_up, same).rank(same.X, 4), fitted(set_up, given).rank(given.X, 4))


@every
def test_duplicate_and_zero_entries_change_nothing(set_up):
    given = problem()
    learner = fitted(set_up, given)
    for i in range(5):
        row = csr_array(given.X[[i]])
        halves, features = [*row.data / 2, *row.data / 2, 0], [*row.indices, *row.indices, 1]
        repeated = csr_array((halves, features, [0, len(features)]), shape=row.shape)
        assert_array_equal(learner.rank(repeated, 3), learner.rank(row, 3))


@every
def test_after_each_pass_the_learner_equals_one_with_that_many_passes(set_up):
    if "after_pass" not in inspect.signature(set_up.subject.kind().fit).parameters:
        pytest.skip("trains as a whole")
    given, seen = problem(), []
    learner = set_up.build(passes=3)
    learner.fit(given.X, given.y, after_pass=lambda n: seen.append((n, learner.rank(given.X, 3), learner.index_size_)))
    assert [n for n, *_ in seen] == [1, 2, 3]
    for n, ranked, size in seen:
        alone = fitted(set_up, given, passes=n)
        assert_array_equal(ranked, alone.rank(given.X, 3))
        assert size == alone.index_size_


@pytest.mark.parametrize("set_up", EVERY, ids=str)
@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_a_bad_k_raises_an_error_with_its_value(set_up, k):
    given = problem(n=60)
    with pytest.raises(ValueError, match=naming(f"k={k!r}", "1")):
        fitted(set_up, given).rank(given.X, k)


@pytest.mark.parametrize("set_up", EVERY, ids=str)
def test_an_unfitted_learner_raises_not_fitted_error(set_up, tmp_path):
    X, learner = problem().X, set_up.build()
    calls = [lambda: learner.rank(X, 1), lambda: learner.predict(X), lambda: learner.save(tmp_path / "model")]
    if not set_up.spec.wraps:
        calls += [lambda: learner.index_size_, lambda: learner.index_bytes_, lambda: learner.edges_touched(X)]
    for ask in calls:
        with pytest.raises(NotFittedError):
            ask()


@every
def test_a_single_class_is_always_predicted(set_up):
    given = problem()
    learner = fitted(set_up, given.labelled(np.full(200, 7)))
    assert learner.predict(given.X).tolist() == [7] * 200
    assert set(map(tuple, learner.rank(given.X, 2))) <= {(0, -1), (-1, -1)}


@pytest.mark.parametrize("name", SPECS)
def test_the_registered_spec_matches_the_learner(name):
    spec = SPECS[name]
    module, _, kind = spec.load.partition(":")
    package = sys.modules[module.split(".")[0]]
    assert getattr(package, kind) is SetUp(name).subject.kind()
    assert kind in dir(package)
    assert spec.preload == (module,)
    assert ("multilabel" in spec.supports) == SetUp(name).subject.kind().takes_several
    assert spec.summary


@pytest.mark.parametrize("package", PACKAGES)
def test_listing_a_plugin_imports_no_learner(package):
    heavy = "[name for name in ('numba', 'numpy', 'scipy', 'sklearn') if name in sys.modules]"
    code = f"import sys, {package}.plugin as p; p.harness_learners(); print({heavy})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_exports_its_learners_only(package):
    with pytest.raises(AttributeError, match=naming(f"{package}", "Nobody")):
        _ = sys.modules[package].Nobody
