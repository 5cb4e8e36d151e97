"""What was asked for, written down as a file that `harness run` takes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from harness.expression import write_value


def to_toml(raw: Mapping[str, Any]) -> str:
    """The experiment as TOML; what TOML cannot say stands in comments, as the flags that say it."""
    content, comments = dict(raw), ["# What was asked for: `harness run` takes this file."]
    if "set" in raw:
        content["set"] = _parted(raw["set"], "--set", comments)
    if "params" in raw.get("tune", {}):
        params = _parted(raw["tune"]["params"], "--tune", comments)
        others = {key: value for key, value in raw["tune"].items() if key != "params"}
        content["tune"] = {**others, "params": params} if params else others
    for key, value in list(content.items()):
        if value == {}:
            del content[key]
        elif _written(value) is None:
            comments.append(f"# It also had {key} = {value!r}, which only Python can say.")
            del content[key]
    return "\n".join(comments) + "\n" + tomli_w.dumps(content)


def _parted(table: Mapping[str, Mapping[str, Any]], flag: str, comments: list[str]) -> dict[str, dict[str, Any]]:
    """By learner or data set, the values that come back from TOML as they are; the others become comments."""
    fitting: dict[str, dict[str, Any]] = {}
    for target, values in table.items():
        for name, value in values.items():
            if _fits_toml(value):
                fitting.setdefault(target, {})[name] = value
            else:
                comments.append(f"# It also needs {flag} {target}.{name}={write_value(value)}")
    return fitting


def _fits_toml(value: Any) -> bool:
    """Whether a value comes back from TOML as it was: TOML has no none, and makes a list, a grid, of a tuple."""
    text = _written(value)
    return text is not None and repr(tomllib.loads(text)["value"]) == repr(value)


def _written(value: Any) -> str | None:
    """A value as TOML; None where it cannot be."""
    try:
        return tomli_w.dumps({"value": value})
    except Exception:  # whatever the writer says of what it cannot write
        return None
