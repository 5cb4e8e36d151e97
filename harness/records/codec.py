"""Convert records to JSON lines with checksums, and back.

Lines are validated field by field. Lines in older formats are converted to the present one.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.errors import HarnessError
from harness.records.record import FORMAT, Measured, Record
from harness.syntax.expression import Params
from harness.syntax.split import parse_split

TIMES_OF_RANKING = {"predict": "rank", "predict_one": "rank_one", "predict_one_p99": "rank_one_p99"}
"""Present names of scores, by their names in formats 1 and 2."""


LARGEST_NUMBER = 1e18
GIVEN = ("tuned", "tuning")
"""Fields with parameters of the user, which may be infinite."""
MOST_TEXT, MOST_WARNINGS = 1 << 16, 20


class BadLine(ValueError):
    """A line is incomplete, was changed, or is no record."""


class NewerLine(ValueError):
    """A line is a complete record in the format of a newer release."""


_RECORD = TypeAdapter(Record)
_MEASURED = TypeAdapter(Measured)


def as_plain(record: Record) -> dict[str, Any]:
    """Return a record as JSON values; the split is a text."""
    # The JSON mode of pydantic would convert an infinite parameter to None.
    plain: dict[str, Any] = _RECORD.dump_python(record)
    return plain | {"split": str(record.split)}


def measured_from_plain(plain: object) -> Measured:
    """Return the measurements that a trial's process sent, with long texts cut.

    The values are not trusted, because the learner's code runs in that process.

    Parameters
    ----------
    plain : object
        Fields of `Measured` by name, as read from JSON.

    Raises
    ------
    ValueError
        If a field is missing or has a wrong type, or if a number is infinite or too large.
    """
    try:
        measured = _MEASURED.validate_json(json.dumps(plain), strict=True)
        _check_numbers(asdict(measured), "")
        return _cut(measured)
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def _check_numbers(value: object, place: str) -> None:
    """Raise ValueError for numbers that are infinite or too large; `place` names the field."""
    if isinstance(value, dict):
        for name, inside in value.items():
            _check_numbers(inside, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple):
        for inside in value:
            _check_numbers(inside, place)
    elif isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER and not place.startswith(GIVEN):
        raise ValueError(f"{place}: expected a number that is finite, and below {LARGEST_NUMBER:g}")


def _cut(measured: Measured) -> Measured:
    """Return the measurements with long texts cut."""
    return replace(
        measured,
        message=measured.message[:MOST_TEXT],
        traceback=measured.traceback[-MOST_TEXT:],
        output=measured.output[-MOST_TEXT:],
        warnings=tuple(text[:MOST_TEXT] for text in measured.warnings[:MOST_WARNINGS]),
    )


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def to_line(record: Record) -> str:
    """Return a record as one JSON line. Its last key is the checksum of the text before."""
    text = json.dumps(as_plain(record), separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def from_line(line: str) -> Record:
    """Return the record in a line.

    Parameters
    ----------
    line : str
        A line of `records.jsonl`.

    Raises
    ------
    BadLine
        If the line is incomplete, was changed, or has invalid fields. The message names the problem.
    NewerLine
        If a newer release wrote the record.
    """
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine("not whole") from None
    if not isinstance(content, dict) or "crc32" not in content:
        raise BadLine("no record")
    body = line.rstrip("\n").rpartition(',"crc32":')[0] + "}"
    if f"{zlib.crc32(body.encode(errors='replace')):08x}" != content.pop("crc32"):
        raise BadLine("changed since it was written (checksum)")
    written_in = content.get("format", 0)
    if not isinstance(written_in, int):
        raise BadLine(f"its format is no number: {written_in!r}")
    if written_in > FORMAT:
        raise NewerLine(f"a record of format {written_in}, and this harness knows formats up to {FORMAT}")
    try:
        if written_in == 1:
            content = _from_first_format(content)
        if written_in <= 2:
            content = _from_second_format(content)
        if isinstance(content.get("split"), str):  # files have the split as a text
            content["split"] = asdict(parse_split(content["split"]))
        return _RECORD.validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        raise BadLine(f"fields are missing or wrong: {_first_problem(error)}") from None
    except (HarnessError, KeyError, TypeError, AttributeError) as error:
        raise BadLine(f"fields are missing or wrong: {error}") from None


# -- lines in older formats ------------------------------------------------------------------------------------------


def _from_first_format(content: dict[str, Any]) -> dict[str, Any]:
    """Convert format 1, which had no families, and `pass` instead of `passes` in the points of curves."""
    curve = [{"passes": point["pass"], "scores": point["scores"]} for point in content.get("curve", ())]
    return content | {
        "family": _family_in(content["label"], content["params"]),
        "dataset_family": _family_in(content["dataset"], content["dataset_params"]),
        "curve": curve,
        "format": FORMAT,
    }


def _from_second_format(content: dict[str, Any]) -> dict[str, Any]:
    """Convert format 2, which timed the ranking only and named these times after `predict`."""
    curve = [point | {"scores": _renamed(point["scores"])} for point in content.get("curve", ())]
    return content | {"scores": _renamed(content["scores"]), "curve": curve, "format": FORMAT}


def _renamed(scores: dict[str, Any]) -> dict[str, Any]:
    return {TIMES_OF_RANKING.get(name, name): value for name, value in scores.items()}


def _family_in(label: str, params: Params) -> str:
    """Return a label without the values of a grid, if the text in its brackets names parameters.

    Examples
    --------
    >>> _family_in("pa(C=0.1)", {"C": 0.1}), _family_in("bag(pa)", {"base": "pa"})
    ('pa', 'bag(pa)')
    """
    head, bracket, inside = label.rstrip(")").partition("(")
    if not bracket:
        return label
    names = [part.partition("=")[0] for part in inside.split(", ")]
    return head if all(name in params for name in names) else label
