"""Confidence after tuning is calibrated on the chosen representation."""

import harness
from small_titles import titles


def test_confidence_is_calibrated_on_the_representation_that_tuning_chose(tmp_path):
    options = {"trials": 1, "metrics": ["r1", "ece"], "progress": False}
    among = {"representation": ["hashed(bits=2)", "words"]}
    tuned = harness.run("pa", titles(), tune=among, out=tmp_path / "tuned", **options)
    (record,) = tuned.records
    chosen = record.tuned["representation"]
    assert chosen == "words"
    plain = harness.run("pa", titles(), representation=chosen, out=tmp_path / "plain", **options)
    assert record.scores["ece"] == plain.records[0].scores["ece"]
