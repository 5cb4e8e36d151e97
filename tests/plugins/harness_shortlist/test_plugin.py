"""The registered spec, and how the host treats the default inner learner."""

from harness_shortlist.plugin import harness_learners
from internals import LearnerRef, discover, resolve_learner
from plugin_specs import assert_specs_match


def test_registered_specs_match_the_learners():
    assert_specs_match(harness_learners(), {"shortlist": "flat"})


def chain(params, wrapped=None):
    """Return the names of the learner and of its inner learners, whose code a trial's key covers."""
    resolved = resolve_learner(LearnerRef("shortlist", "shortlist", params, wrapped), discover((), ()))
    return [one.entry.spec.name for one in resolved.chain_with(resolved.ref.params)]


def test_the_default_proposer_is_an_inner_learner_like_any_other():
    assert chain({}) == chain({}, "ff") == chain({"C": 3.0}) == ["shortlist", "ff"]
    assert chain({}, "pa") == chain({"learner": "pa"}) == ["shortlist", "pa"]
