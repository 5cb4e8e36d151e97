"""The plugins that are at hand for one call: found once, and found again by the processes that run their code."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from harness.catalog import Catalog
from harness.host import discover


@dataclass(frozen=True)
class Session:
    """Which plugins count: all that are installed, those in some folders, less those left out."""

    folders: tuple[Path, ...] = ()
    disabled: tuple[str, ...] = ()

    @cached_property
    def catalog(self) -> Catalog:
        """All that they bring, by name."""
        return discover(self.folders, self.disabled)


def find_modules_of(session: Session) -> None:
    """Have this process find the modules in plugin folders, as the processes of trials do."""
    for folder in session.folders:
        place = str(folder.resolve())
        if place not in sys.path:
            sys.path.append(place)


def make_session(plugins_dirs: Iterable[str | PathLike[str]] = (), disabled: Iterable[str] = ()) -> Session:
    """A session from what a user gives, one folder or several."""
    given = [plugins_dirs] if isinstance(plugins_dirs, str | PathLike) else plugins_dirs
    return Session(tuple(Path(folder) for folder in given), tuple(disabled))
