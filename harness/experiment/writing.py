"""What was asked for, written down as a file that `harness run` takes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from harness.expression import write_value


def to_toml(raw: Mapping[str, Any]) -> str:
    """The experiment as TOML; what TOML cannot say stands in comments, as the flags that say it."""
    text = "# What was asked for: `harness run` takes this file.\n"
    settings: dict[str, dict[str, Any]] = {}
    for target, values in raw.get("set", {}).items():
        for name, value in values.items():
            if _fits_toml(value):
                settings.setdefault(target, {})[name] = value
            else:
                text += f"# It also needs --set {target}.{name}={write_value(value)}\n"
    content = {key: value for key, value in raw.items() if key != "set"}
    if settings:
        content["set"] = settings
    return text + tomli_w.dumps(content)


def _fits_toml(value: Any) -> bool:
    """Whether a value comes back from TOML as it was: TOML has no none, and makes a list, a grid, of a tuple."""
    try:
        read_back = tomllib.loads(tomli_w.dumps({"value": value}))["value"]
    except Exception:  # whatever the writer says of what it cannot write
        return False
    return repr(read_back) == repr(value)
