"""What the plugin says of its learner, and what the host makes of the learner inside that it names by default."""

from announced import assert_announced
from harness.experiment.learner_ref import LearnerRef
from harness.experiment.resolve import resolve_learner
from harness.host import discover
from harness_shortlist.plugin import harness_learners


def test_learners_are_as_announced():
    assert_announced(harness_learners(), {"shortlist": "flat"})


def chain(params, wrapped=None):
    """The names of the learner and of those inside it: what a trial's key covers the code of."""
    resolved = resolve_learner(LearnerRef("shortlist", "shortlist", params, wrapped), discover((), ()))
    return [one.entry.spec.name for one in resolved.chain_with(resolved.ref.params)]


def test_the_proposer_by_default_is_a_learner_inside_like_any_other():
    assert chain({}) == chain({}, "ff") == chain({"C": 3.0}) == ["shortlist", "ff"]
    assert chain({}, "pa") == chain({"learner": "pa"}) == ["shortlist", "pa"]
