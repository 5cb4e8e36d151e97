"""Records as a data frame: one row per trial with plain values."""

from internals import LONG, records_frame


def test_every_trial_is_a_row_with_a_column_for_each_metric_and_parameter(make_record):
    records = [make_record("pa", 0, r1=0.5, params={"C": 1}), make_record("ff", 1, r1=0.6, r5=0.9, params={})]
    frame = records_frame(records)
    assert list(frame["label"]) == ["pa", "ff"]
    assert list(frame["r1"]) == [0.5, 0.6]
    assert frame["r5"].isna().to_list() == [True, False]
    assert frame["param_C"].isna().to_list() == [False, True]
    assert list(frame["split"]) == ["holdout:0.1", "holdout:0.1"]
    assert not set(LONG) & set(frame.columns)


def test_no_records_give_an_empty_frame():
    assert records_frame([]).empty
