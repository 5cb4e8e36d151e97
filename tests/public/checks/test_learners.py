"""Learner checks: a good learner passes all of them, and each check fails for exactly one kind of bad learner."""

import subprocess
import sys
import unittest
from dataclasses import replace

import pytest

from checking import answer_of, cases, failed
from harness import LearnerSpec
from internals import Check, CheckFailed, NotApplicable, learner_checks, scikit_learn_checks
from messages import assert_names, naming


def learner(name, *, module="checked_learners", **fields):
    return LearnerSpec(name="mine", load=f"{module}:{name}", supports=frozenset({"multilabel"}), **fields)


def hostile_learner(name):
    return learner(name, module="hostile_learners")


def test_a_good_learner_passes_every_check():
    assert failed(learner_checks(learner("Good"))) == set()
    for check in learner_checks(learner("Good")):
        check()  # and none is skipped


def test_a_minimal_learner_passes_every_check():
    assert failed(learner_checks(replace(learner("Minimal"), supports=frozenset()))) == set()


BAD_LEARNERS = {
    "names_its_parameters": [
        learner("Good", parameters={"C": 2.0, "random_state": None}),
        learner("Good", parameters={}),
    ],
    "has_get_params_and_set_params": [learner("IgnoresItsParameters"), learner("HasNoParameters")],
    "ranks_in_the_required_shape": [learner("CutsItsRanks")],
    "learns_an_easy_problem": [learner("NeverLearns")],
    "predicts_what_it_ranks_first": [learner("PredictsOtherwise")],
    "does_not_change_its_input": [learner("ChangesItsInput"), learner("ChangesItsInputInFit")],
    "is_reproducible": [learner("CountsItsFits")],
    "forgets_when_fitted_again": [learner("Remembers")],
    "ranks_only_training_classes": [learner("InventsClasses")],
    "takes_an_empty_row": [learner("NeedsAFeature")],
    "takes_several_labels_if_declared": [learner("TakesOneLabel")],
    "measures_its_index": [learner("OwesItsIndex"), learner("OwesItsBytes"), learner("TouchesNothingKnown")],
    "scores_what_it_ranks": [learner("ScoresBackwards")],
    "contributions_add_up": [
        learner("ContributesTooMuch"),
        learner("ContributesFeaturesOfOtherRows"),
        learner("ContributesOneRowForAllClasses"),
    ],
    "reports_each_pass": [learner("CountsFromZero"), learner("CallsNoAfterPass")],
    "takes_read_only_input": [hostile_learner("WritesWhatItGets")],
    "takes_labels_of_any_kind": [hostile_learner("NeedsPositions"), hostile_learner("CountsClasses")],
    "can_be_cloned": [hostile_learner("MakesNewParameters"), hostile_learner("IsBornFitted")],
    "learns_in_batches": [hostile_learner("KeepsOneBatch")],
    "continues_after_fit": [hostile_learner("StartsOverInASmallBatch")],
    "saves_and_loads": [
        hostile_learner("ComesBackOtherwise"),
        hostile_learner("LosesItsParameters"),
        hostile_learner("LosesItsIndex"),
        hostile_learner("LearnsOtherwiseOnceLoaded"),
    ],
    "refuses_a_damaged_file": [
        hostile_learner("TrustsAnyFile"),
        hostile_learner("TrustsAWholeFile"),
        hostile_learner("FailsOnDamage"),
    ],
}


IMPLIED = {
    "does_not_change_its_input": {"takes_read_only_input"},
    "learns_an_easy_problem": {"takes_labels_of_any_kind", "learns_in_batches", "continues_after_fit"},
    "predicts_what_it_ranks_first": {"takes_labels_of_any_kind"},
    "scores_what_it_ranks": {"contributions_add_up"},
}
"""Checks that depend on another check."""


@pytest.mark.parametrize(("check", "spec"), cases(BAD_LEARNERS))
def test_a_bad_learner_fails_exactly_its_check(check, spec):
    assert failed(learner_checks(spec)) == {check} | IMPLIED.get(check, set())


def test_a_learner_that_saves_nothing_fails_every_check_of_files():
    assert failed(learner_checks(hostile_learner("SavesNothing"))) == {"saves_and_loads", "refuses_a_damaged_file"}


def test_every_learner_check_has_a_bad_learner():
    assert {check.name for check in learner_checks(learner("Good"))} == set(BAD_LEARNERS)


def test_a_learner_gets_the_data_in_the_form_it_needs():
    assert failed(learner_checks(learner("OnlyDense", needs=frozenset({"dense"})))) == set()
    assert failed(learner_checks(learner("WantsTree", needs=frozenset({"taxonomy"})))) == set()


def test_a_learner_that_needs_texts_is_checked_with_texts():
    texts = {"supports": frozenset(), "needs": frozenset({"text"})}
    assert failed(learner_checks(replace(learner("ReadsTexts"), **texts))) == set()
    rude_one = learner_checks(replace(learner("WritesOverTexts"), **texts))
    assert failed(rude_one) == {"does_not_change_its_input", "takes_read_only_input"}


def test_a_check_that_does_not_apply_raises_the_skip_of_test_runners():
    plain = replace(learner("Good"), supports=frozenset())
    (check,) = [check for check in learner_checks(plain) if check.name == "takes_several_labels_if_declared"]
    assert str(check) == check.name
    with pytest.raises(NotApplicable, match=naming("label", "row")) as error:
        check()
    assert isinstance(error.value, unittest.SkipTest)


CONFORMANCE = """
import pytest
from harness import LearnerSpec
from harness.checks import learner_checks

SPEC = LearnerSpec(name="bayes", load="sklearn.naive_bayes:MultinomialNB")

@pytest.mark.parametrize("check", learner_checks(SPEC), ids=str)
def test_conformance(check):
    check()
"""


def test_pytest_reports_it_as_skipped_with_its_reason(tmp_path):
    (tmp_path / "test_bayes.py").write_text(CONFORMANCE)
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "test_bayes.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "15 passed, 7 skipped" in ended.stdout
    for reason in ("takes one label a row", "fit takes no after_pass", "has no save and load"):
        assert reason in ended.stdout


def test_a_learner_is_checked_with_its_parameters():
    wrong_way_round = {"learns_an_easy_problem", "learns_in_batches", "continues_after_fit"}
    assert failed(learner_checks(learner("Good"), C=-1.0)) == {*wrong_way_round, "takes_labels_of_any_kind"}


def test_a_wrapper_gets_an_inner_learner():
    spec = replace(learner("Around", wraps="inner"), supports=frozenset())
    assert failed(learner_checks(spec)) == set()


def test_scikit_learns_checks_are_listed_by_name():
    checks = scikit_learn_checks(LearnerSpec(name="bayes", load="sklearn.naive_bayes:MultinomialNB"))
    names = [check.name for check in checks]
    assert "estimators_unfitted" in names
    assert len(set(names)) == len(names) > 40
    assert failed(checks) == set()


def test_a_failure_states_the_next_step():
    (check,) = [c for c in learner_checks(learner("ChangesItsInput")) if c.name == "does_not_change_its_input"]
    with pytest.raises(CheckFailed, match=naming("ranking", "X", "copy")):
        check()
    assert isinstance(check, Check)


def test_a_check_run_as_a_job_returns_its_reason():
    assert answer_of("learner", learner("Good"), "learns_an_easy_problem") == {}
    assert "accuracy" in answer_of("learner", learner("NeverLearns"), "learns_an_easy_problem")["failed"]
    assert answer_of("learner", learner("Missing"), "reports_each_pass")["failed"].startswith("AttributeError")


def test_a_learner_declared_nondeterministic_is_not_checked_for_determinism():
    spec = learner("CountsItsFits", deterministic=False)
    assert failed(learner_checks(spec)) == set()
    assert answer_of("learner", spec, "is_reproducible") == {"skipped": "declared as not deterministic"}


def test_a_second_fit_that_keeps_state_is_distinguished_from_randomness():
    assert "forgets_when_fitted_again" not in failed(learner_checks(learner("DrawsWithoutASeed", deterministic=False)))
    drawn = learner("RemembersAndDraws", deterministic=False)
    assert answer_of("learner", drawn, "forgets_when_fitted_again") == {
        "failed": "a second fit depends on the first: reset all state in fit"
    }


def test_a_wrapper_is_checked_with_its_inner_learner():
    from internals import Blueprint

    spec = LearnerSpec(name="c", load="harness_committee.committee:Committee", wraps="learner")
    checks = learner_checks(spec, learner=Blueprint("checked_learners:NeverLearns", {}), members=2)
    assert_names(failed([check for check in checks if "easy" in check.name]), "learns_an_easy_problem")
