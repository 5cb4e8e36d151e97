"""A record <-> one JSON line with a checksum, checked field by field when it is read; older formats are read too."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.errors import HarnessError
from harness.params import Params
from harness.record import FORMAT, Measured, Record
from harness.split import parse_split

TIMES_OF_RANKING = {"predict": "rank", "predict_one": "rank_one", "predict_one_p99": "rank_one_p99"}
"""What scores of the first two formats were called, and what they were."""


LARGEST_NUMBER = 1e18
GIVEN = ("tuned", "tuning")
"""Parameters: these the user may have asked for, an infinite one too."""
MOST_TEXT, MOST_WARNINGS = 1 << 16, 20


class BadLine(ValueError):
    """A line that is not a whole and unchanged record."""


class NewerLine(ValueError):
    """A record that a newer harness wrote: whole, and not for this one to judge."""


_RECORD = TypeAdapter(Record)
_MEASURED = TypeAdapter(Measured)


def as_plain(record: Record) -> dict[str, Any]:
    """The record in values that JSON can hold."""
    # Not in pydantic's mode for JSON: that makes None of an infinite parameter.
    plain: dict[str, Any] = _RECORD.dump_python(record)
    return plain | {"split": str(record.split)}


def measured_from_plain(plain: object) -> Measured:
    """What a trial's process found out, at the host's end.

    ValueError says what is wrong with it, since any code may have run in that process.
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
    """ValueError for a number that nothing can be reckoned with; `place` is where it stands."""
    if isinstance(value, dict):
        for name, inside in value.items():
            _check_numbers(inside, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple):
        for inside in value:
            _check_numbers(inside, place)
    elif isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER and not place.startswith(GIVEN):
        raise ValueError(f"{place}: expected a number that is finite, and below {LARGEST_NUMBER:g}")


def _cut(measured: Measured) -> Measured:
    """The same with its texts cut to what anybody would read."""
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
    """The record as one JSON line; its checksum comes last."""
    text = json.dumps(as_plain(record), separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def from_line(line: str) -> Record:
    """The record in a line; BadLine says what is wrong with it, NewerLine that it is beyond this harness."""
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
        if isinstance(content.get("split"), str):  # text in a file
            content["split"] = asdict(parse_split(content["split"]))
        return _RECORD.validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        raise BadLine(f"fields are missing or wrong: {_first_problem(error)}") from None
    except (HarnessError, KeyError, TypeError, AttributeError) as error:
        raise BadLine(f"fields are missing or wrong: {error}") from None


# -- records of the first format -------------------------------------------------------------------------------------


def _from_first_format(content: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had no families, and called the number of a curve's point `pass`."""
    curve = [{"passes": point["pass"], "scores": point["scores"]} for point in content.get("curve", ())]
    return content | {
        "family": _family_in(content["label"], content["params"]),
        "dataset_family": _family_in(content["dataset"], content["dataset_params"]),
        "curve": curve,
        "format": FORMAT,
    }


def _from_second_format(content: dict[str, Any]) -> dict[str, Any]:
    """Format 2 had one clock for answers, that of the ranking, and called its times those of predictions."""
    curve = [point | {"scores": _renamed(point["scores"])} for point in content.get("curve", ())]
    return content | {"scores": _renamed(content["scores"]), "curve": curve, "format": FORMAT}


def _renamed(scores: dict[str, Any]) -> dict[str, Any]:
    return {TIMES_OF_RANKING.get(name, name): value for name, value in scores.items()}


def _family_in(label: str, params: Params) -> str:
    """A label less the values of a grid behind it, which are those of parameters."""
    head, bracket, inside = label.rstrip(")").partition("(")
    if not bracket:
        return label
    names = [part.partition("=")[0] for part in inside.split(", ")]
    return head if all(name in params for name in names) else label
