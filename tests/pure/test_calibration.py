"""Calibrated confidence matches the accuracy on rows that the calibrator has not seen."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from internals import (
    Constant,
    calibrate,
    calibrator_from_plain,
    calibrator_to_plain,
    fit_isotonic,
    fit_logistic,
    reliability_of,
)


def draw(seed, rows, curve):
    """Draw scores and hits; the curve gives the probability of a hit from first score and gap."""
    rng = np.random.default_rng(seed)
    first = rng.gamma(2.0, size=rows)
    gap = first * rng.random(rows)
    return np.column_stack([first, first - gap]), rng.random(rows) < curve(first, gap), curve(first, gap)


def sigmoid(first, gap):
    return 1 / (1 + np.exp(2 - 3 * gap - first))


def step(first, gap):
    return np.where(gap < 0.4, 0.2, 0.97)


def test_smooth_curves_choose_logistic_and_steps_choose_isotonic_regression():
    assert calibrate(*draw(0, 2000, sigmoid)[:2]).calibrator.kind == "logistic"
    assert calibrate(*draw(0, 2000, step)[:2]).calibrator.kind == "isotonic"


@pytest.mark.parametrize("curve", [sigmoid, step])
def test_the_accuracy_on_new_rows_matches_the_confidence(curve):
    fitted = calibrate(*draw(1, 4000, curve)[:2])
    scores, right, truth = draw(2, 20000, curve)
    confidence = fitted.calibrator.confidence(scores)
    assert np.abs(confidence - truth).mean() < 0.03
    assert reliability_of(confidence, right).expected_calibration_error < 0.03
    assert fitted.reliability.expected_calibration_error < 0.04
    sure = confidence >= 0.9
    assert sure.sum() > 1000
    assert right[sure].mean() > 0.9


def test_reliability_is_measured_on_rows_outside_the_calibrators_fit():
    scores, _, _ = draw(3, 300, sigmoid)
    chance = np.random.default_rng(4).random(300) < 0.5  # scores are random: the fit looks better on its own rows
    fitted = calibrate(scores, chance)
    flattering = reliability_of(fit_isotonic(scores, chance).confidence(scores), chance)
    assert flattering.brier < 0.25 <= fitted.tried["isotonic"]


def test_without_scores_the_confidence_is_the_accuracy():
    right = np.arange(200) % 4 > 0
    fitted = calibrate(None, right)
    assert fitted.calibrator == Constant(151 / 202)
    assert fitted.calibrator.confidence(np.ones((3, 2))).tolist() == [151 / 202] * 3
    assert fitted.reliability.rows == 200


@pytest.mark.parametrize("right", [np.zeros(0, bool), np.ones(100, bool), np.zeros(100, bool), np.arange(9) % 2 > 0])
def test_uninformative_scores_give_a_constant_confidence(right):
    scores = np.random.default_rng(0).random((len(right), 2))
    fitted = calibrate(scores, right)
    assert fitted.calibrator.kind == "constant"
    assert 0 < fitted.calibrator.confidence(np.zeros((1, 2)))[0] < 1


def test_a_first_score_that_never_varies_leaves_the_gap_to_decide():
    scores, right, _ = draw(5, 400, sigmoid)
    constant = np.column_stack([np.ones(400), 1 - scores[:, 0] + scores[:, 1]])
    fitted = fit_logistic(constant, right)
    assert fitted.scales[0] == 1.0
    near, far = fitted.confidence(np.array([[1.0, 1.0], [1.0, -3.0]]))
    assert near < far


@given(seed=st.integers(0, 1000), fit=st.sampled_from([fit_isotonic, fit_logistic]))
def test_a_calibrator_is_restored_from_json_and_returns_shares(seed, fit):
    scores, right, _ = draw(seed, 60, sigmoid)
    calibrator = fit(scores, right)
    again = calibrator_from_plain(json.loads(json.dumps(calibrator_to_plain(calibrator))))
    assert again == calibrator
    far = np.array([[0.0, 0.0], [1e30, 0.0], [-1e30, -2e30], *scores])
    confidence = again.confidence(far)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert np.isfinite(confidence).all()


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_the_calibration_error_is_the_weighted_mean_over_bins(rows):
    confidence, right = np.array([c for c, _ in rows]), np.array([r for _, r in rows])
    found = reliability_of(confidence, right, bins=4)
    expected = 0.0
    for low in (0, 0.25, 0.5, 0.75):
        inside = [(c, r) for c, r in rows if low <= c < low + 0.25 or (low == 0.75 and c == 1)]
        expected += abs(sum(c for c, _ in inside) - sum(r for _, r in inside)) / len(rows)
    assert found.expected_calibration_error == pytest.approx(expected)
    assert sum(one.rows for one in found.bins) == len(rows)


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"kind": "magic"},
        {"kind": "constant"},
        {"kind": "constant", "share": 7.0},
        {"kind": "constant", "share": True},
        {"kind": "isotonic", "gaps": []},
        {"kind": "logistic", "scales": [10**30, 1.0], "weights": [1.0, 1.0], "intercept": 0.0},
        {"kind": "logistic", "scales": [1.0, 1.0], "weights": [1.0, True], "intercept": 0.0},
    ],
)
def test_invalid_calibration_json_is_rejected(plain):
    with pytest.raises(ValueError, match="no calibration"):
        calibrator_from_plain(plain)
