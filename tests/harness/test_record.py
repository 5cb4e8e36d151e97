"""Records: what goes into a line comes out of it, and a line that was torn or changed is never believed."""

import json
import zlib
from dataclasses import fields, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.record import FORMAT, STATUSES, BadLine, Record, from_line, to_line

numbers = st.floats(allow_nan=False)
plain = st.none() | st.booleans() | st.integers() | numbers | st.text()
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
tables = st.dictionaries(st.text(max_size=8), values, max_size=3)
counts = st.none() | st.integers(0, 2**60)
seconds = st.none() | st.floats(0, allow_infinity=False)

records = st.builds(
    Record,
    key=st.text(),
    status=st.sampled_from(STATUSES),
    label=st.text(),
    learner=st.text(),
    learner_kind=st.sampled_from(["flat", "tree", "other"]),
    learner_distribution=st.text(),
    learner_version=st.text(),
    params=tables,
    dataset=st.text(),
    dataset_params=tables,
    fingerprint=st.text(),
    representation=st.text(),
    split=st.text(),
    number=st.integers(0),
    seed=st.integers(0),
    depth=st.integers(1),
    scores=st.dictionaries(st.text(), st.none() | numbers),
    n_train=counts,
    index_source=st.none() | st.text(),
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
    learner="pa",
    learner_kind="flat",
    learner_distribution="manyclass-harness",
    learner_version="0.1.0",
    params={"C": 0.1, "text": ',"crc32":"00000000"}'},
    dataset="digits",
    dataset_params={},
    fingerprint="f",
    representation="tf",
    split="holdout:0.1",
    number=0,
    seed=7,
    depth=10,
    scores={"r1": 0.5, "index": None},
    message="line\nbreak",
)


@settings(max_examples=50)
@given(records)
def test_a_record_comes_back_as_it_went_in(record):
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


def test_a_value_that_is_no_number_survives_too():
    line = to_line(replace(SMALL, scores={"x": float("nan"), "y": float("inf")}))
    scores = from_line(line).scores
    assert scores["y"] == float("inf")
    assert scores["x"] != scores["x"]


def test_every_torn_line_is_refused():
    line = to_line(SMALL).rstrip("\n")
    for length in range(len(line)):
        with pytest.raises(BadLine):
            from_line(line[:length])


def unharmed(line):
    """Whether a changed line is refused, or else still says the same."""
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
def test_a_lost_stretch_is_detected_or_harmless(position, length):
    line = to_line(SMALL)
    assert unharmed(line[:position] + line[position + length :])


@pytest.mark.parametrize("line", ["", " ", "null", "[]", "{}", '"text"', "3", '{"crc32":"00000000"}', "\x00" * 9])
def test_what_is_no_record_is_refused(line):
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
def test_a_line_without_a_field_is_refused_or_takes_its_default(name):
    content = content_of(SMALL)
    del content[name]
    try:
        record = from_line(signed(content))
    except BadLine as error:
        reason = str(error)
    else:
        assert record == replace(SMALL, **{name: getattr(record, name)})
        return
    assert reason == "fields are missing"


def test_a_status_that_nobody_knows_is_refused():
    with pytest.raises(BadLine, match="fields are missing"):
        from_line(signed(content_of(SMALL) | {"status": "fine"}))


def test_a_field_of_a_later_release_is_passed_over():
    assert from_line(signed(content_of(SMALL) | {"brand_new": 1})) == SMALL


def test_a_newer_format_is_refused_and_named():
    with pytest.raises(BadLine, match=f"written by a newer harness \\(format {FORMAT + 1}\\)"):
        from_line(signed(content_of(SMALL) | {"format": FORMAT + 1}))
