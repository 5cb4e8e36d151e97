"""Published numbers: parsed as printed, shown next to ours, and errors in a file named by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import MetricSpec
from harness.errors import HarnessError
from internals import Published, against_grid, group_records, parse_published, read_published

METRICS = {
    "r1": MetricSpec(name="r1", compute="a:b", title="R1"),
    "index": MetricSpec(name="index", compute="a:b", title="index size", symbol="|I|", direction="lower", unit="count"),
    "train": MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds", timed=True),
}
HEADING = "dataset,learner,metric,value,interval,source"


@pytest.mark.parametrize(
    ("text", "unit", "value", "at_least"),
    [
        ("0.912", "share", 0.912, False),
        ("6.36%", "share", 0.0636, False),
        ("87k", "count", 87e3, False),
        ("1.6M", "count", 1.6e6, False),
        ("74k+", "count", 74e3, True),
        ("5", "count", 5.0, False),
        ("1.6s", "seconds", 1.6, False),
        ("31m", "seconds", 1860.0, False),
        ("11m2.43s", "seconds", 662.43, False),
        ("12h+", "seconds", 43200.0, True),
        ("0.14ms", "seconds", 0.14e-3, False),
        ("3 us", "seconds", 3e-6, False),
        ("3 µs", "seconds", 3e-6, False),
        ("2min", "seconds", 120.0, False),
        ("1.5G", "count", 1.5e9, False),
        ("7B", "bytes", 7.0, False),
        ("7", "bytes", 7.0, False),
        ("2 kB", "bytes", 2e3, False),
        ("2 MB", "bytes", 2e6, False),
        ("2 GB", "bytes", 2e9, False),
    ],
)
def test_numbers_are_parsed_as_the_papers_print_them(text, unit, value, at_least):
    found, bound = parse_published(text, unit)
    assert found == pytest.approx(value)
    assert bound is at_least


@pytest.mark.parametrize(
    ("text", "unit"),
    [("", "share"), ("none", "share"), ("-7.5%", "share"), ("87k", "share"), ("1.6m", "count"), ("6.5M-6.7M", "count"),
     ("1 2", "seconds"), ("31x", "seconds")],
)  # fmt: skip
def test_a_value_that_does_not_fit_its_unit_is_rejected(text, unit):
    with pytest.raises(ValueError, match=r"is not a number|unknown unit"):
        parse_published(text, unit)


@given(st.floats(0.001, 1e6, allow_nan=False).map(lambda x: round(x, 3)))
def test_a_plain_number_is_unchanged_in_every_unit(value):
    for unit in ("share", "count", "seconds", "bytes"):
        assert parse_published(f"{value:f}", unit) == (pytest.approx(value), False)


def write(tmp_path, *lines):
    path = tmp_path / "published.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_is_read_line_by_line(tmp_path):
    path = write(tmp_path, HEADING, 'digits,pa,r1,0.9,0.05,"Table 1, row 2"', "digits,pa,index,87k,,Table 1")
    first, second = read_published(path)
    assert first == Published("digits", "pa", "r1", "0.9", "0.05", "Table 1, row 2")
    assert (second.value, second.interval) == ("87k", "")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["dataset,learner,metric,value,interval", "a,b,c,1,"], "the heading lacks source"),
        ([HEADING + ",colour", "a,b,c,1,,s,red"], "the heading has 'colour'"),
        ([HEADING, "a,b,c,1,"], "line 2: expected 6 fields"),
        ([HEADING, "a,b,c,1,,s,more"], "line 2: expected 6 fields"),
        ([HEADING, "a,b,c,1,,s", "a,b,c,1,,"], "line 3: source is empty"),
    ],
)
def test_an_invalid_file_raises_an_error_with_its_line(tmp_path, lines, words):
    path = write(tmp_path, *lines)
    with pytest.raises(HarnessError) as raised:
        read_published(path)
    assert str(path) in str(raised.value)
    assert words in str(raised.value)


def test_a_missing_file_raises_an_error_that_names_it(tmp_path):
    with pytest.raises(HarnessError, match="cannot be read"):
        read_published(tmp_path / "absent.csv")


@pytest.fixture
def lines(make_record):
    values = [0.90, 0.92, 0.94]
    return group_records(
        [make_record("pa", seed, r1=value, index=80_000, train=2.0) for seed, value in enumerate(values)]
    )


def against(lines, *numbers, reasons=None):
    return against_grid([Published(*number) for number in numbers], lines, METRICS, "title", reasons)


def test_published_value_ours_difference_and_interval_are_in_one_row(lines):
    grid = against(
        lines,
        ("digits", "pa", "r1", "0.93", "0.02", "Table 1"),
        ("digits", "pa", "r1", "95%", "1%", "Table 2"),
        ("digits", "pa", "index", "87k", "", "Table 1"),
    )
    assert grid.rows == (
        ("digits", "pa", "R1", "0.930 ± 0.020", "0.920 ± 0.020", "-1.0 points", "yes", "Table 1"),
        ("digits", "pa", "R1", "0.950 ± 0.010", "0.920 ± 0.020", "-3.0 points", "no", "Table 2"),
        ("digits", "pa", "|I|", "87.0k", "80.0 ± 0.0k", "-7.00k", "-", "Table 1"),
    )
    assert grid.values[0]["difference"] == pytest.approx(-0.01)
    assert grid.values[0]["within"] is True
    assert "other machines" not in " ".join(grid.footnotes)
    assert "|I|: index size." in grid.footnotes


def test_a_row_that_was_not_run_shows_the_reason(lines):
    numbers = ("rcv1", "pa", "r1", "0.847", "", "Table 1")
    assert against(lines, numbers).rows[0][4:7] == ("not run", "-", "-")
    message = against(lines, numbers, reasons={"rcv1": "data not available"})
    assert message.rows[0][4] == "data not available"
    assert message.values[0]["ours"] is None


def test_a_lower_bound_has_no_difference_and_times_have_a_warning(lines):
    grid = against(lines, ("digits", "pa", "train", "1h+", "", "Table 1"))
    assert grid.rows[0][3:7] == ("1.00 h+", "2.00 ± 0.00 s", "-", "-")
    assert "other machines" in grid.footnotes[-1]


def test_a_representation_selects_its_own_trials(make_record):
    records = [make_record("pa", 0, r1=0.5), make_record("pa", 0, r1=0.7, representation="tfidf")]
    grid = against(
        group_records(records),
        ("digits", "pa", "r1", "0.7", "", "T", "tfidf"),
        ("digits", "pa", "r1", "0.7", "", "T"),
    )
    assert grid.rows[0][4] == "0.700"
    assert grid.rows[1][4] == "2 configurations: give each its label"


def test_a_published_dataset_may_match_a_grid_of_draws(make_record):
    draws = [
        make_record("pa", 0, r1=r1, dataset=f"made(seed={n})", fingerprint=f"{n}") for n, r1 in enumerate((0.5, 0.7))
    ]
    grid = against(group_records(draws), ("made", "pa", "r1", "0.7", "", "T"))
    assert grid.rows[0][4] == "0.600 ± 0.141"
    assert grid.values[0]["n"] == 2


def test_a_dataset_matches_a_grid_by_family_and_not_by_name_prefix(make_record):
    named = make_record("pa", 0, r1=0.5, dataset="made(by hand)", dataset_family="made(by hand)")
    assert against(group_records([named]), ("made", "pa", "r1", "0.7", "", "T")).rows[0][4] == "not run"
    drawn = make_record("pa", 0, r1=0.5, dataset="first draw", dataset_family="made")
    assert against(group_records([drawn]), ("made", "pa", "r1", "0.7", "", "T")).rows[0][4] == "0.500"


def test_a_published_learner_matches_by_label_and_else_by_family(make_record):
    one = make_record("ooz(d=100)", 0, r1=0.5, params={"d": 100})
    published_row = ("digits", "ooz", "r1", "0.7", "", "T")
    assert against(group_records([one]), published_row).rows[0][4] == "0.500"
    other = make_record("ooz(d=500)", 0, r1=0.6, params={"d": 500})
    assert against(group_records([one, other]), published_row).rows[0][4] == "2 configurations: give each its label"
    labelled = make_record("ooz", 0, r1=0.7, params={})
    assert against(group_records([one, labelled, other]), published_row).rows[0][4] == "0.700"


def test_two_configurations_under_one_label_are_not_averaged(make_record):
    records = [make_record("pa", 0, r1=r1, params={"C": C}) for C, r1 in ((1, 0.917), (100, 0.2))]
    grid = against(group_records(records), ("digits", "pa", "r1", "0.9", "", "T"))
    assert grid.rows[0][4] == "2 configurations: give each its label"
    assert grid.values[0]["ours"] is None


def test_a_metric_without_a_value_is_marked(make_record):
    grid = against(group_records([make_record("pa", 0, r1=None)]), ("digits", "pa", "r1", "0.9", "", "T"))
    assert grid.rows[0][4] == "no value"


def test_the_bounds_of_the_published_interval_are_inside(make_record):
    grid = against(group_records([make_record("pa", 0, r1=0.5)]), ("digits", "pa", "r1", "0.75", "0.25", "T"))
    assert grid.rows[0][6] == "yes"


def test_rows_that_were_not_run_can_be_hidden(lines):
    numbers = [Published(dataset, "pa", "r1", "0.9", "", "T") for dataset in ("rcv1", "digits")]
    grid = against_grid(numbers, lines, METRICS, "title", run_only=True)
    assert [row[0] for row in grid.rows] == ["digits"]


def test_a_value_that_is_no_number_raises_an_error_with_its_cell(lines):
    with pytest.raises(HarnessError, match="published r1 of pa on digits: 'many' is not a number of share"):
        against(lines, ("digits", "pa", "r1", "many", "", "Table 1"))


def test_a_recalled_number_is_marked_and_explained_in_a_footnote(tmp_path, lines):
    path = write(tmp_path, f"{HEADING},recalled", "digits,pa,r1,0.9,,table 1,yes", "digits,pa,r1,0.8,,table 1,")
    recalled, printed = read_published(path)
    grid = against_grid([recalled, printed], lines, METRICS, "title", None)
    assert [row[3] for row in grid.rows] == ["0.900 (recalled)", "0.800"]
    assert "Recalled: not found in the text" in "\n".join(grid.footnotes)
    assert "Recalled" not in "\n".join(against_grid([printed], lines, METRICS, "title", None).footnotes)


def test_only_yes_marks_a_number_as_recalled(tmp_path):
    path = write(tmp_path, f"{HEADING},recalled", "digits,pa,r1,0.9,,table 1,maybe")
    with pytest.raises(HarnessError, match="line 2: recalled is 'maybe', expected yes or nothing"):
        read_published(path)
