"""Where jobs run: the protocol of executors, the one on this machine, and the one place that chooses among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.executors.base import Executor, Workplace
from harness.executors.local import LocalExecutor

TRIALS = ("harness.trials.running", "sklearn.base")
"""What every trial imports: the machinery, and what learners are made of."""
LOADERS = ("harness.data.arrays",)
"""What reading a data set imports."""


def start_executor(common: Iterable[str], threads: int = 1) -> Executor:
    """An executor that gets ready while the host goes on: it imports the `common` modules, which must be harmless."""
    executor = LocalExecutor(common=common, threads=threads)
    executor.start()
    return executor


@contextmanager
def loading_executor(folders: Iterable[Path] = (), on_slow: Callable[[], None] | None = None) -> Iterator[Executor]:
    """An executor for loaders of data sets, with the plugins' folders on its path; closed at the end."""
    executor = start_executor(LOADERS)
    try:
        executor.prepare(Workplace(path=paths_of(folders)), on_slow)
        yield executor
    finally:
        executor.close()


def paths_of(folders: Iterable[Path]) -> tuple[str, ...]:
    """Folders of plugins as a process that runs elsewhere finds them."""
    return tuple(str(folder.resolve()) for folder in folders)
