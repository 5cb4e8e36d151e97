"""Other tools, each in its environment where that is built; `tox -e peers` builds all of them."""

import os

import pytest
from packaging.requirements import Requirement

from harness import run
from harness_peers.plugin import harness_learners
from internals import Session, environment_for, find_checked, run_checks

HOME = os.environ.get("HARNESS_PEERS_HOME", "")
"""A data home in which the environments have been built, for all these tests."""
PEERS = [spec for spec in harness_learners() if spec.environment and spec.name != "transformer"]
"""All but the one that needs a model: `test_transformer.py` makes one."""
GIVES_ONE_CLASS = {"hiclass-per-parent", "vw-log-multi", "vw-recall-tree"}
LEAST_R1 = {"vw-log-multi": 0.3, "vw-recall-tree": 0.3, "vw-plt": 0.3}
"""Online trees of one pass; others are above 0.8."""
WITH_TREE = "subsample(icd10cm, classes=30)"
"""Short texts with a class tree."""
SET_UPS = {name: f"{name}(lr=1.0, epoch=25)" for name in ("fasttext", "fasttext-hs")}
"""Its own five passes in short steps are too few for some hundred rows: nothing is learned from them."""

MANY_ROWS = "topics(rows=4000, classes=60)"
"""Work for a second or so, that a second thread can be seen in."""
BUSY = {
    "fasttext": "fasttext(epoch=25)",
    "fasttext-hs": "fasttext-hs(epoch=50)",
    "lightgbm": "lightgbm(num_iterations=5)",
    "xgboost": "xgboost(n_estimators=5)",
}
"""Parameters for learners whose defaults would take much longer or much less."""
TAKES_ONE = {"liblinear-l2", "liblinear-cs", "vw-oaa", "vw-log-multi", "vw-recall-tree", "vw-plt"}
"""Learners without threads."""


@pytest.fixture(params=PEERS, ids=lambda spec: spec.name)
def peer(request, monkeypatch):
    """Return a learner whose environment is built."""
    if not HOME:
        pytest.skip("HARNESS_PEERS_HOME names no data home with environments: `tox -e peers` builds them")
    monkeypatch.setenv("HARNESS_DATA_HOME", HOME)
    if environment_for(request.param.environment).find() is None:
        pytest.skip(f"the environment of {request.param.name} is not built in {HOME}")
    return request.param


def test_a_peer_satisfies_the_contract(peer):
    session = Session()
    ends = list(run_checks(find_checked(SET_UPS.get(peer.name, peer.name), session.catalog), session, 120.0))
    failed = [(result.name, result.end.reason) for result in ends if result.end.status == "failed"]
    assert ends
    assert failed == []


@pytest.fixture
def record(peer, tmp_path):
    data = WITH_TREE if "taxonomy" in peer.needs or "text" in peer.supports else "digits"
    learner = SET_UPS.get(peer.name, peer.name)
    results = run(learner, data, trials=1, out=tmp_path / "out", build=False, progress=False)
    (record,) = results.records
    assert record.status == "ok", record.message
    return record


def test_a_peer_learns_ranks_and_is_measured(peer, record):
    assert record.scores["r1"] > LEAST_R1.get(peer.name, 0.8)
    assert (record.scores["r5"] is None) == (peer.name in GIVES_ONE_CLASS)
    assert record.index_bytes > 0
    assert (record.stage_seconds is None) == ("taxonomy" in peer.needs)  # its rows are used unchanged
    assert Requirement(peer.environment[0]).name in record.versions
    assert (record.representation == "texts") == ("text" in peer.supports)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_peer_uses_the_allowed_number_of_threads(peer, tmp_path, threads):
    learner, data = BUSY.get(peer.name, peer.name), WITH_TREE if "taxonomy" in peer.needs else MANY_ROWS
    results = run(learner, data, trials=1, threads=threads, out=tmp_path / "out", build=False, progress=False)
    (record,) = results.records
    assert record.status == "ok", record.message
    used = record.fit_cpu_seconds / record.fit_seconds
    assert record.fit_seconds > 0.3  # shorter runs would measure the start-up only
    if threads == 1 or peer.name in TAKES_ONE:
        assert used < 1.2
    elif os.cpu_count() > 1:
        assert used > 1.2
