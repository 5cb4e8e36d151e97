"""Whose line it was: the place in the author's own files where a check went wrong, among all that the host adds."""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path

LONGEST_TRACEBACK = 20_000


def own_line(error: BaseException, target: str) -> str:
    """The deepest line of the author's code that an error came through, in words; empty where it came through none.

    The author's code is the package, or the module, that "module:name" is in.
    """
    home = _home_of(target)
    cause: BaseException | None = error
    while cause is not None and home is not None:
        for frame in reversed(traceback.extract_tb(cause.__traceback__)):
            path = Path(frame.filename)
            if path == home or home in path.parents:
                return f"{path.name}, line {frame.lineno}, in {frame.name}: {frame.line}"
        cause = cause.__cause__
    return ""


def _home_of(target: str) -> Path | None:
    """The folder of the outermost package that holds the target, or the file of a module that is in none."""
    top = importlib.import_module(target.partition(":")[0].partition(".")[0])
    file = getattr(top, "__file__", None)
    if file is None:  # a package without a file of its own
        return next(map(Path, getattr(top, "__path__", ())), None)
    path = Path(file)
    return path.parent if path.name == "__init__.py" else path


def whole_traceback(error: BaseException) -> str:
    """The traceback as Python prints it; of one without end, the end."""
    return "".join(traceback.format_exception(error))[-LONGEST_TRACEBACK:]
