"""Details of single wrappers, tested with the Python of the tool's environment."""

import os
import subprocess
import textwrap

import pytest

from harness_peers.plugin import harness_learners
from internals import environment_for

HOME = os.environ.get("HARNESS_PEERS_HOME", "")
MADE = """
import numpy as np
from scipy.sparse import csr_array

def make(n_classes, n_rows=600, n_features=200):
    chance = np.random.default_rng(0)
    words = chance.random((n_classes, n_features)) < 0.05
    y = np.arange(n_rows) % n_classes
    return csr_array(words[y] * chance.random((n_rows, n_features))), y
"""


@pytest.fixture
def inside(monkeypatch):
    """Run code in the environment of a learner; `make(n_classes)` returns rows and labels there."""
    if not HOME:
        pytest.skip("HARNESS_PEERS_HOME names no data home with environments: `tox -e peers` builds them")
    monkeypatch.setenv("HARNESS_DATA_HOME", HOME)

    def run(learner, code):
        (spec,) = [spec for spec in harness_learners() if spec.name == learner]
        ready = environment_for(spec.environment).find()
        if ready is None:
            pytest.skip(f"the environment of {learner} is not built in {HOME}")
        words = [str(ready.python), "-c", MADE + textwrap.dedent(code)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]

    return run


@pytest.mark.parametrize("learner", ["Tree", "OneVersusRest"])
def test_libmultilabel_learns_if_most_labels_have_no_row(inside, learner):
    inside(
        "libmultilabel-tree",
        f"""
        from harness_peers.libmultilabel_linear import {learner}
        X, y = make(150)
        Y = np.zeros((600, 600), np.int8)
        Y[np.arange(600), y * 3] = 1
        found = {learner}(random_state=0).fit(X, csr_array(Y)).decision_function(X)
        assert found.shape == Y.shape
        assert (found.argmax(axis=1) == y * 3).mean() > 0.9
        assert np.isneginf(found[:, 1::3]).all()
        """,
    )


def test_libmultilabel_predicts_as_trained_with_and_without_a_bias(inside):
    inside(
        "libmultilabel-ovr",
        """
        from scipy.sparse import hstack
        from harness_peers.libmultilabel_linear import OneVersusRest
        X, y = make(30)
        for B, features in ((-1.0, X), (0.0, X), (2.0, hstack([X, np.full((600, 1), 2.0)]))):
            learner = OneVersusRest(B=B, random_state=0).fit(X, y)
            weights = learner.model_.weights
            assert weights.shape[0] == features.shape[1]
            assert np.allclose(learner.decision_function(X), features @ weights, atol=1e-4)
        """,
    )


@pytest.mark.parametrize("kary_tree", [2, 3, 16])
def test_vowpal_wabbits_label_tree_ranks_exactly_the_classes(inside, kary_tree):
    inside(
        "vw-plt",
        f"""
        from harness_peers.vowpal import LabelTree
        X, y = make(10)
        ranks = LabelTree(kary_tree={kary_tree}, passes=3).fit(X, y).rank(X, 10)
        assert (np.sort(ranks, axis=1) == np.arange(10)).all()
        """,
    )


def test_pecos_predicts_after_its_files_are_deleted_and_reports_their_size(inside):
    inside(
        "pecos-xr-linear",
        """
        from harness_peers.pecos_linear import XRLinear
        X, y = make(40)
        learner = XRLinear().fit(X, y)
        assert learner.model_.is_predict_only
        assert (learner.rank(X, 5)[:, 0] == y).mean() > 0.9
        assert learner.rank(X[:0], 5).shape == (0, 5)
        assert learner.index_bytes_ > 1000
        """,
    )


def test_xgboost_learns_several_labels_per_row(inside):
    inside(
        "xgboost",
        """
        from harness_peers.xgboost_trees import XGBoost
        X, y = make(5)
        Y = np.zeros((600, 6), np.int8)
        Y[np.arange(600), y] = 1
        Y[y == 0, 5] = 1
        found = XGBoost(n_estimators=20).fit(X, csr_array(Y)).decision_function(X)
        assert found.shape == Y.shape
        assert ((found > 0.5) == Y).mean() > 0.95
        """,
    )


@pytest.mark.parametrize("learner", ["OneAgainstAll", "LogMulti", "RecallTree", "LabelTree"])
def test_vowpal_wabbit_learns_the_same_from_prepared_examples_and_from_lines(inside, learner):
    inside(
        "vw-oaa",
        f"""
        import harness_peers.vowpal as vowpal
        X, y = make(20)
        answers = []
        for vowpal.MOST_HELD_BYTES in (10**9, 250 * (vowpal.EXAMPLE_BYTES + 80), 0):
            answers.append(vowpal.{learner}(passes=3, random_state=1).fit(X, y).predict(X))
        assert (answers[0] == y).mean() > 0.9
        assert (answers[1] == answers[0]).all()
        assert (answers[2] == answers[0]).all()
        """,
    )


@pytest.mark.parametrize("learner", ["L2SVC", "CrammerSinger"])
def test_liblinear_predicts_without_copying_its_weights(inside, learner):
    inside(
        "liblinear-l2",
        f"""
        from harness_peers.linear import {learner}
        X, y = make(20)
        for bias in (-1.0, 1.0):
            model = {learner}(bias=bias).fit(X, y)
            assert (model.predict(X) == y).mean() > 0.9
            assert model.coef_[:, : X.shape[1]].T.flags.c_contiguous  # else each prediction copies the matrix
        """,
    )


CHECKED = [
    ("liblinear-l2", "linear:L2SVC"),
    ("omikuji-parabel", "omikuji_trees:Parabel"),
    ("vw-oaa", "vowpal:OneAgainstAll"),
    ("vw-plt", "vowpal:LabelTree"),
    ("fasttext", "fasttext_models:Softmax"),
    ("libmultilabel-ovr", "libmultilabel_linear:OneVersusRest"),
    ("pecos-xr-linear", "pecos_linear:XRLinear"),
    ("napkinxc-ovr", "napkinxc_models:OneVersusRest"),
]
SAVED = [
    *CHECKED,
    ("vw-log-multi", "vowpal:LogMulti"),
    ("vw-recall-tree", "vowpal:RecallTree"),
    ("libmultilabel-tree", "libmultilabel_linear:Tree"),
    ("napkinxc-plt", "napkinxc_models:PLT"),
    ("napkinxc-hsm", "napkinxc_models:HSM"),
    ("lightgbm", "lightgbm_trees:LightGBM"),
    ("xgboost", "xgboost_trees:XGBoost"),
    ("hiclass-per-parent", "hiclass_parents:PerParent"),
]
READ_AGAIN = """
import pickle, sys
from pathlib import Path
import numpy as np
from harness_peers.{module} import {name}
folder = Path(sys.argv[1])
X, y = make(10)
expected = np.load(folder / "predicted.npy")
for again in ({name}.load(folder / "saved"), pickle.loads((folder / "pickled").read_bytes())):
    for copy in (again, pickle.loads(pickle.dumps(again))):
        assert (copy.predict(X) == expected).all()
    again.save(folder / f"{{type(again)}}{{id(again)}}")
"""
"""For a separate process: an object that a pickle only names would be found in the same one."""


@pytest.mark.parametrize(("learner", "place"), CHECKED)
def test_a_wrapper_refuses_what_its_tool_cannot_take(inside, learner, place):
    module, name = place.split(":")
    inside(
        learner,
        f"""
        from sklearn.exceptions import NotFittedError
        from harness_peers.{module} import {name}
        X, y = make(10)
        fitted = {name}().fit(X, y)
        bad = X.toarray()
        bad[3, 2] = np.nan
        for error, call in [
            (NotFittedError, lambda: {name}().predict(X)),
            (ValueError, lambda: fitted.predict(X[:, :50])),
            (ValueError, lambda: fitted.predict(bad)),
            (ValueError, lambda: {name}().fit(bad, y)),
            (ValueError, lambda: {name}().fit(X[:0], y[:0])),
        ]:
            try:
                call()
            except error:
                continue
            raise AssertionError(error)
        """,
    )


@pytest.mark.parametrize(("learner", "place"), SAVED)
def test_another_process_reads_a_saved_or_pickled_wrapper_which_answers_as_before(inside, learner, place, tmp_path):
    module, name = place.split(":")
    folder = tmp_path / "a name with spaces"
    folder.mkdir()
    inside(
        learner,
        f"""
        import pickle, subprocess, sys
        from pathlib import Path
        from harness import Taxonomy
        from harness_peers.{module} import {name}
        X, y = make(10)
        needed = {{}}
        if {name == "PerParent"}:
            needed["taxonomy"] = Taxonomy(np.array([-1, 0, 0] + [1] * 5 + [2] * 5), np.arange(3, 13))
        fitted = {name}().fit(X, y, **needed)
        folder = Path({str(folder)!r})
        fitted.save(folder / "saved")
        (folder / "pickled").write_bytes(pickle.dumps(fitted))
        np.save(folder / "predicted.npy", fitted.predict(X))
        del fitted
        code = {(MADE + READ_AGAIN.format(module=module, name=name))!r}
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        """,
    )
    assert (folder / "saved" / "wrapper.npz").stat().st_size > 0


@pytest.mark.parametrize("option", ["--final_regressor x", "-f x", "--predictions=x", "--passes 3"])
def test_a_model_of_vowpal_wabbit_sets_no_options_of_others(inside, option):
    inside(
        "vw-oaa",
        f"""
        import pytest, tempfile
        from pathlib import Path
        from harness_peers.vowpal import OneAgainstAll
        X, y = make(10)
        place = Path(tempfile.mkdtemp(), "m")
        OneAgainstAll().fit(X, y).save(place)
        content = (place / "model").read_bytes()
        size, start = content.index(b" --") - 4, content.index(b" --")
        length = int.from_bytes(content[size:start], "little")
        added = content[start : start + length].rstrip(b"\\0") + b" {option}\\0"
        changed = content[:size] + len(added).to_bytes(4, "little") + added + content[start + length :]
        (place / "model").write_bytes(changed)
        with pytest.raises(ValueError, match="options -"):
            OneAgainstAll.load(place)
        (place / "model").write_bytes(content)
        assert (OneAgainstAll.load(place).predict(X) == OneAgainstAll().fit(X, y).predict(X)).all()
        """,
    )
