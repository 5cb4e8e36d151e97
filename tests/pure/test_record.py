"""Records round-trip through a line, and a truncated or modified line is rejected."""

import json
import zlib
from dataclasses import dataclass, fields, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from internals import (
    FORMAT,
    STATUSES,
    BadLine,
    Candidate,
    Circumstances,
    CurvePoint,
    Measured,
    NewerLine,
    Record,
    Split,
    TrialNames,
    as_plain,
    field_names,
    from_line,
    make_record,
    parse_split,
    to_line,
)
from messages import assert_names, naming

numbers = st.floats(allow_nan=False)
plain = st.none() | st.booleans() | st.integers() | numbers | st.text()
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
tables = st.dictionaries(st.text(max_size=8), values, max_size=3)
counts = st.none() | st.integers(0, 2**60)
seconds = st.none() | st.floats(0, allow_infinity=False)

scores = st.dictionaries(st.text(), st.none() | numbers)
splits = st.one_of(
    st.builds(Split, st.sampled_from(["holdout", "stratified"]), share=st.floats(0.001, 0.999)),
    st.builds(Split, st.sampled_from(["kfold", "stratified-kfold"]), folds=st.integers(2, 99)),
    st.builds(Split, st.just("given"), name=st.text(st.characters(codec="ascii"), max_size=8)),
)

records = st.builds(
    Record,
    key=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=200),
    status=st.sampled_from(STATUSES),
    label=st.text(),
    family=st.text(),
    learner=st.text(),
    learner_kind=st.sampled_from(["flat", "tree", "other"]),
    learner_distribution=st.text(),
    learner_version=st.text(),
    params=tables,
    dataset=st.text(),
    dataset_family=st.text(),
    dataset_params=tables,
    fingerprint=st.text(),
    representation=st.text(),
    split=splits,
    number=st.integers(0),
    seed=st.integers(0),
    depth=st.integers(1),
    scores=scores,
    curve=st.lists(st.builds(CurvePoint, st.integers(1), scores), max_size=2).map(tuple),
    tuning=st.lists(st.builds(Candidate, params=tables, score=st.none() | numbers), max_size=2).map(tuple),
    tuned=tables,
    n_train=counts,
    index_source=st.none() | st.text(),
    bytes_source=st.none() | st.text(),
    fit_seconds=seconds,
    peak_bytes=counts,
    threads=st.integers(1),
    threads_in_force=st.dictionaries(st.text(), st.integers()),
    versions=st.dictionaries(st.text(), st.text()),
    commit=st.none() | st.text(),
    message=st.text(),
    traceback=st.text(),
    output=st.text(),
)

SMALL = Record(
    key="k1",
    status="ok",
    label='a "b" ±, c',
    family="a",
    learner="pa",
    learner_kind="flat",
    learner_distribution="manyclass-harness",
    learner_version="0.1.0",
    params={"C": 0.1, "text": ',"crc32":"00000000"}'},
    dataset="digits",
    dataset_family="digits",
    dataset_params={},
    fingerprint="f",
    representation="tf",
    split=parse_split("holdout:0.1"),
    number=0,
    seed=7,
    depth=10,
    scores={"r1": 0.5, "index": None},
    message="line\nbreak",
)


@settings(max_examples=50)
@given(records)
def test_a_record_round_trips(record):
    line = to_line(record)
    assert from_line(line) == record
    assert from_line(line.rstrip("\n")) == record


@settings(max_examples=25)
@given(records)
def test_a_line_is_one_line_of_plain_text(record):
    line = to_line(record)
    assert line.endswith("}\n")
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line)["status"] == record.status


def test_a_nan_value_round_trips():
    line = to_line(replace(SMALL, scores={"x": float("nan"), "y": float("inf")}))
    scores = from_line(line).scores
    assert scores["y"] == float("inf")
    assert scores["x"] != scores["x"]


def test_every_truncated_line_is_rejected():
    line = to_line(SMALL).rstrip("\n")
    for length in range(len(line)):
        with pytest.raises(BadLine):
            from_line(line[:length])


def unharmed(line):
    """Return whether a modified line is rejected or still means the same."""
    try:
        return from_line(line) == SMALL
    except BadLine:
        return True


def test_every_single_changed_character_is_detected_or_harmless():
    line = to_line(SMALL)
    for position, old in enumerate(line):
        for new in '0a"\\{}[],: \né\ud800\x00':
            if new != old:
                assert unharmed(line[:position] + new + line[position + 1 :]), (position, new)


@given(st.integers(0, len(to_line(SMALL)) - 1), st.characters())
@example(40, "\udfff")
def test_any_other_character_is_detected_or_harmless(position, new):
    line = to_line(SMALL)
    assert unharmed(line[:position] + new + line[position + 1 :])


@given(st.integers(0, len(to_line(SMALL)) - 2), st.integers(1, 12))
def test_a_deleted_range_is_detected_or_harmless(position, length):
    line = to_line(SMALL)
    assert unharmed(line[:position] + line[position + length :])


@pytest.mark.parametrize("line", ["", " ", "null", "[]", "{}", '"text"', "3", '{"crc32":"00000000"}', "\x00" * 9])
def test_a_line_that_is_no_record_is_rejected(line):
    with pytest.raises(BadLine):
        from_line(line)


def signed(content):
    text = json.dumps(content, separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def content_of(record):
    content = json.loads(to_line(record))
    del content["crc32"]
    return content


@pytest.mark.parametrize("name", [f.name for f in fields(Record)])
def test_a_missing_field_is_rejected_or_has_its_default(name):
    content = content_of(SMALL)
    del content[name]
    try:
        record = from_line(signed(content))
    except BadLine as error:
        reason = str(error)
    else:
        assert record == replace(SMALL, **{name: getattr(record, name)})
        return
    assert_names(reason, f"{name}")


@pytest.mark.parametrize(
    ("name", "value", "printed"),
    [
        ("status", "fine", "status: Input should be 'ok', 'error', 'timeout', 'memory' or 'crash'"),
        ("split", "thirds", "split 'thirds' is unknown: expected 'holdout:SHARE'"),
        ("curve", [{"passes": 1}], "curve.0.scores: Field required"),
        ("params", 3, "params: "),
        ("learner_kind", "__proto__", "learner_kind: Input should be 'flat', 'tree', 'both' or 'other'"),
        ("key", "../../passwords", "key: Input should be usable as the name of a file"),
        ("key", "a\0", "key: Input should be usable as the name of a file"),
        ("key", "k" * 201, "key: Input should be usable as the name of a file"),
        ("key", "", "key: Input should be usable as the name of a file"),
    ],
)
def test_an_impossible_value_is_rejected_and_named(name, value, printed):
    with pytest.raises(BadLine) as raised:
        from_line(signed(content_of(SMALL) | {name: value}))
    assert_names(str(raised.value), f"{printed}")


def test_a_field_of_a_later_release_is_ignored():
    assert from_line(signed(content_of(SMALL) | {"brand_new": 1})) == SMALL


def test_a_newer_format_is_rejected_and_named():
    with pytest.raises(NewerLine, match=naming(f"{FORMAT + 1}", f"{FORMAT}")):
        from_line(signed(content_of(SMALL) | {"format": FORMAT + 1}))


# -- what a record is made of ----------------------------------------------------------------------------------------


def part_of(kind, record):
    return kind(**{name: getattr(record, name) for name in field_names(kind)})


@given(records)
def test_names_measurements_and_circumstances_make_a_record(record):
    parts = [part_of(kind, record) for kind in (TrialNames, Measured, Circumstances)]
    assert make_record(*parts) == record


def test_extra_fields_of_a_planned_trial_are_not_recorded():
    @dataclass(frozen=True, kw_only=True)
    class Planned(TrialNames):
        blueprint: str

    planned = Planned(blueprint="a:b", **vars(part_of(TrialNames, SMALL)))
    made = make_record(planned, part_of(Measured, SMALL), part_of(Circumstances, SMALL))
    assert made == SMALL
    assert not hasattr(made, "blueprint")


def test_a_record_as_plain_values_equals_its_json():
    record = replace(SMALL, curve=(CurvePoint(1, {"r1": 0.5}),), tuning=(Candidate(params={"C": 1}, score=0.4),))
    held = as_plain(record)
    assert held["split"] == "holdout:0.1"
    assert list(held["curve"]) == [{"passes": 1, "scores": {"r1": 0.5}}]
    assert json.loads(json.dumps(held)).keys() == held.keys() == set(field_names(Record))


def test_an_infinite_parameter_stays_infinite():
    assert from_line(to_line(replace(SMALL, params={"C": float("inf")}))).params == {"C": float("inf")}


# -- records of the first format -------------------------------------------------------------------------------------


def first_format(**changes):
    """Return a line as the first release wrote it: without families, and with `pass` in its curves."""
    content = content_of(SMALL) | {"format": 1} | changes
    del content["family"], content["dataset_family"]
    return signed(content)


def test_a_line_of_the_first_format_is_read_with_curve_and_tuning():
    line = first_format(
        label="pa",
        curve=[{"pass": 1, "scores": {"r1": 0.25}}, {"pass": 2, "scores": {"r1": None}}],
        tuning=[{"params": {"C": 1}, "score": 0.5, "fit_seconds": 0.1}, {"params": {"C": 2}, "trouble": "broke"}],
        tuned={"C": 1},
    )
    record = from_line(line)
    assert (record.family, record.dataset_family, record.split) == ("pa", "digits", parse_split("holdout:0.1"))
    assert record.curve == (CurvePoint(1, {"r1": 0.25}), CurvePoint(2, {"r1": None}))
    assert record.tuning == (
        Candidate(params={"C": 1}, score=0.5, fit_seconds=0.1),
        Candidate(params={"C": 2}, trouble="broke"),
    )
    assert record.format == FORMAT
    assert from_line(to_line(record)) == record


@pytest.mark.parametrize(
    ("label", "params", "family"),
    [
        ("pa", {"C": 1}, "pa"),
        ("pa(C=1)", {"C": 1, "random_state": 0}, "pa"),
        ("pa(C=1, passes=5)", {"C": 1, "passes": 5}, "pa"),
        ("sparsified pa(share=0.7)", {"learner": "pa", "share": 0.7}, "sparsified pa"),
        ("my pa (small)", {"C": 1}, "my pa (small)"),
        ("committee(pa, size=3)", {"size": 3}, "committee(pa, size=3)"),
    ],
)
def test_the_family_of_the_first_format_is_the_label_without_grid_values(label, params, family):
    as_learner = from_line(first_format(label=label, params=params))
    assert as_learner.family == family
    as_dataset = from_line(first_format(dataset=label, dataset_params=params))
    assert as_dataset.dataset_family == family


def test_a_line_of_the_first_format_is_validated_too():
    with pytest.raises(BadLine, match=naming("missing")):
        from_line(first_format(curve=[{"scores": {}}]))
    with pytest.raises(BadLine, match=naming("missing")):
        from_line(first_format(params=None))
