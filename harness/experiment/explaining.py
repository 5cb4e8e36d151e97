"""What is wrong with an experiment, in our words: file, table and key, what was expected, what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel

from harness.experiment.budget_table import BudgetTable
from harness.experiment.schema import (
    LINE_PATTERN,
    NAME_PATTERN,
    DatasetTable,
    Experiment,
    FigureTable,
    LearnerTable,
    TuneTable,
)
from harness.suggestions import nearest
from harness.wording import in_a_line

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MOST_SHOWN = 300
"""Letters of a wrong value."""
_EXPECTED = {
    "missing": "missing: the table must have this key",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "dict_type": "expected a table",
    "model_type": "expected a table",
    "model_attributes_type": "expected a table",
    "string_type": "expected a text",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected {le:,} or less",
    "greater_than": "expected more than {gt:g}",
    "less_than": "expected less than {lt}",
    "too_short": "expected one or more, found none",
}
"""Our words for what pydantic finds wrong, by its own names of errors."""
_PATTERNS = {
    NAME_PATTERN: "expected letters, digits, '.', '_' and '-' only, as it names files",
    LINE_PATTERN: "expected a text of one line, with something in it",
}
_TABLES: Mapping[str, type[BaseModel]] = {
    "budget": BudgetTable,
    "learners": LearnerTable,
    "datasets": DatasetTable,
    "tune": TuneTable,
    "figures": FigureTable,
}


def explain(source: str, problem: ErrorDetails) -> str:
    """One line for one thing that pydantic found wrong."""
    where = _place(problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{source}: unknown key {where}: {_allowed_keys(problem['loc'])}"
    message = _message(problem)
    if problem["type"] in ("missing", "value_error"):  # these say themselves what was found
        return f"{source}: {where}: {message}"
    return f"{source}: {where}: {message} (got {in_a_line(repr(problem['input']), MOST_SHOWN)})"


def _place(parts: tuple[int | str, ...]) -> str:
    """Where a key stands: learners[0].params."""
    where = ""
    for part in parts:
        if isinstance(part, int):
            where += f"[{part}]"
        else:
            where += f".{part}" if where else part
    return where


def _allowed_keys(parts: tuple[int | str, ...]) -> str:
    table: type[BaseModel] = Experiment
    if len(parts) > 1:
        table = _TABLES.get(str(parts[0]), Experiment)
    allowed = [field.alias or name for name, field in table.model_fields.items()]
    near = nearest(str(parts[-1]), allowed, most=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}allowed here: {', '.join(allowed)}"


def _message(problem: ErrorDetails) -> str:
    context = problem.get("ctx", {})
    if problem["type"] == "string_pattern_mismatch":
        return _PATTERNS[context["pattern"]]
    if problem["type"] in _EXPECTED:
        return _EXPECTED[problem["type"]].format(**context)
    if problem["type"] == "value_error":  # pydantic keeps the error that one of our own readers raised
        return str(context["error"])
    return problem["msg"]
