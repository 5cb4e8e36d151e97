"""What a learner with `save` and `load` must do: come back the same, and refuse a file that was damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from harness.checks.check import CheckFailed, NotApplicable, require
from harness.checks.subject import N_CLASSES, Subject, own_parameters, ranks_by

CUTS, FLIPS = 6, 24
"""Ways in which a file is damaged: cut off at so many places, and so many bytes changed, one at a time."""


@contextmanager
def _saved(subject: Subject) -> Iterator[tuple[Any, Path]]:
    """The learner, fitted, and the file that it wrote."""
    kind = subject.kind()
    if not (callable(getattr(kind, "save", None)) and callable(getattr(kind, "load", None))):
        raise NotApplicable("has no save and load")
    learner = subject.fitted(subject.problem())
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        learner.save(file)
        require(file.is_file(), "save(path) wrote no file of that name")
        yield learner, file


def check_saves_and_loads(subject: Subject) -> None:
    with _saved(subject) as (learner, file):
        loaded = subject.kind().load(file)
    problem = subject.problem(seed=1)
    before, after = own_parameters(learner), own_parameters(loaded)
    require(repr(before) == repr(after), f"comes back with other parameters: {before} -> {after}")
    _require_alike(learner, loaded, problem.X, "a saved learner comes back with other ranks")
    if hasattr(learner, "index_size_"):
        sizes = learner.index_size_, loaded.index_size_
        require(sizes[0] == sizes[1], f"index_size_ comes back as {sizes[1]}, was {sizes[0]}")
    if hasattr(learner, "partial_fit") and subject.spec.deterministic:
        for one in (learner, loaded):
            one.partial_fit(problem.X, problem.y)
        _require_alike(learner, loaded, problem.X, "a saved learner learns otherwise from its next batch")


def _require_alike(learner: Any, loaded: Any, X: Any, message: str) -> None:
    same_ranks = np.array_equal(ranks_by(learner, X, N_CLASSES), ranks_by(loaded, X, N_CLASSES))
    require(same_ranks and np.array_equal(learner.predict(X), loaded.predict(X)), message)


def check_refuses_a_damaged_file(subject: Subject) -> None:
    random = np.random.default_rng(0)
    X = subject.problem().X
    with _saved(subject) as (_, file):
        whole, expected = file.read_bytes(), ranks_by(subject.kind().load(file), X)
        for cut in (0, *random.integers(1, len(whole), CUTS)):
            file.write_bytes(whole[:cut])
            loaded = _load(subject, file, f"cut off after {cut:,} of {len(whole):,} bytes")
            require(loaded is None, f"loads a file that was cut off after {cut:,} of {len(whole):,} bytes")
        for place in random.integers(0, len(whole), FLIPS):
            damaged = bytearray(whole)
            damaged[place] ^= 0xFF
            file.write_bytes(damaged)
            loaded = _load(subject, file, f"whose byte {place:,} was changed")
            harmless = loaded is None or np.array_equal(ranks_by(loaded, X), expected)  # it may have been a date
            require(harmless, f"loads a file whose byte {place:,} was changed, and ranks otherwise")


def _load(subject: Subject, file: Path, damage: str) -> Any:
    """The learner, or None where the file was refused as it should be."""
    try:
        return subject.kind().load(file)
    except ValueError:
        return None
    except Exception as error:
        raise CheckFailed(f"a file {damage} raises {type(error).__name__}, expected ValueError: {error}") from error
