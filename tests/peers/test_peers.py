"""Other tools for real, each in its environment, where that is built: `tox -e peers` builds them all."""

import os

import pytest

from harness.api.checking import find_checked, run_checks
from harness.api.front import run
from harness.api.session import Session
from harness.environments.environment import environment_for
from harness_peers.plugin import harness_learners

HOME = os.environ.get("HARNESS_PEERS_HOME", "")
"""A data home in which the environments have been built, for all these tests."""
PEERS = [spec for spec in harness_learners() if spec.environment]
RANKS = {"liblinear-l2", "liblinear-cs", "omikuji-parabel", "omikuji-bonsai", "pecos-xr-linear", "pecos-ovr", "vw-oaa"}
LEAST_R1 = {"vw-log-multi": 0.3, "vw-recall-tree": 0.3}
"""Online trees of one pass; all others are above 0.9 on these digits."""


@pytest.fixture(params=PEERS, ids=lambda spec: spec.name)
def peer(request, monkeypatch):
    """A learner whose environment is built."""
    if not HOME:
        pytest.skip("HARNESS_PEERS_HOME names no data home with environments: `tox -e peers` builds them")
    monkeypatch.setenv("HARNESS_DATA_HOME", HOME)
    if environment_for(request.param.environment).find() is None:
        pytest.skip(f"the environment of {request.param.name} is not built in {HOME}")
    return request.param


def test_a_peer_keeps_the_contract(peer):
    session = Session()
    ends = list(run_checks(find_checked(peer.name, session.catalog), session, 120.0))
    failed = [(result.name, result.end.reason) for result in ends if result.end.status == "failed"]
    assert ends
    assert failed == []


@pytest.fixture
def record(peer, tmp_path):
    results = run(peer.name, "digits", trials=1, out=tmp_path / "out", build=False, progress=False)
    (record,) = results.records
    assert record.status == "ok", record.message
    return record


def test_a_peer_learns_ranks_and_is_measured(peer, record):
    assert record.scores["r1"] > LEAST_R1.get(peer.name, 0.9)
    assert (record.scores["r5"] is not None) == (peer.name in RANKS)
    assert record.index_bytes > 0
    assert record.stage_seconds > 0
    asked = peer.environment[0].partition(">")[0]
    assert asked in record.versions
    assert record.fit_cpu_seconds < 1.5 * record.fit_seconds + 0.2  # one thread
