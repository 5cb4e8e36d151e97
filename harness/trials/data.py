"""The rows of a trial as its learner sees them: opened, split and represented.

A representation turns texts or numbers into the input of a learner. Its fitted parts, such as a vocabulary, come from
the training rows only. A cache in the data home keeps represented splits for the trials of all learners. The name of a
folder has the dataset and a digest of everything that determines its content. Trials map the arrays into memory
copy-on-write, so a learner that writes to them changes only its own copy. `harness.files.home.make_room` keeps the
cache within its size limit.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.data.arrays import StoredRows, open_rows
from harness.data.load import checked_rows
from harness.data.split import SealedSplit, draw_split, read_sealed
from harness.errors import ContractError, DataError
from harness.files.atomic import publish_folder
from harness.files.home import not_writable, work_folder
from harness.host.contract import Dataset, Labels, Taxonomy
from harness.sdk.texts import Texts
from harness.syntax.split import Split
from harness.trials.clock import Clock
from harness.trials.trial import RepresentationPlan, RepresentJob, Trial, build_estimator

BLOCK_ROWS = 50_000


def run_represent_job(job: RepresentJob, send: Callable[[str], None]) -> tuple[str, None]:
    """Represent the training and test rows of a split and store both.

    Returns
    -------
    str, None
        The error, or an empty text. Callers may ignore it: each trial computes the representation again and fails with
        the same error.
    """
    send("representing")
    try:
        if open_represented(job.folder) is None:
            rows, split = open_rows(Path(job.data_folder)), read_sealed(job.split_file)
            if not _keep_in_blocks(job, rows, split):
                keep_represented(represent_split(job.representing, rows, split), job.folder)
    except Exception as error:  # a representation is a plugin's code, and may fail in any way
        return f"{type(error).__name__}: {error}", None
    return "", None


def _keep_in_blocks(job: RepresentJob, data: StoredRows, split: SealedSplit) -> bool:
    """Represent and store rows in blocks, and return whether that was possible.

    Small data is not divided into blocks, and neither are texts. The transformer must have `partial_fit`.
    """
    plan = job.representing
    if plan.takes_text or plan.blueprint is None or data.X is None or not is_large(data.X.nnz):
        return False
    transformer = build_estimator(plan.blueprint)
    if not hasattr(transformer, "partial_fit"):
        return False
    fitted = FittedRepresentation(transformer, plan.takes_text)
    clock = Clock()
    for rows, block in _blocks(data, split.train):
        with clock.running():
            transformer.partial_fit(rows, split.y[block])

    def seen(part: np.ndarray) -> Iterator[csr_array]:
        for rows, _ in _blocks(data, part):
            with clock.running():
                block = fitted.transform(rows)
            yield block

    keep_blocks({"train": seen(split.train), "test": seen(split.test)}, clock, job.folder)
    return True


def _blocks(data: StoredRows, part: np.ndarray) -> Iterator[tuple[Any, slice]]:
    """Yield the rows of a part, `BLOCK_ROWS` at a time, each block with its slice of the part."""
    for start in range(0, len(part), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        yield rows_for(data, takes_text=False)[part[block]], block


REPRESENT_TARGET = f"{run_represent_job.__module__}:{run_represent_job.__name__}"


def represent_split(plan: RepresentationPlan, data: StoredRows, split: SealedSplit) -> Represented:
    """Fit a representation on the training rows of a split, and return the training and test rows in it."""
    rows = rows_for(data, plan.takes_text)
    return represent(plan, rows[split.train], split.y, rows[split.test])


def rows_for(data: StoredRows | Dataset, takes_text: bool) -> Any:
    """Return the rows that a representation takes: the texts of a dataset, or its matrix of numbers."""
    rows = data.texts if takes_text else data.X
    assert rows is not None  # planning rejects a dataset that lacks them
    return rows


def represent(plan: RepresentationPlan, train: Any, y: Labels, test: Any) -> Represented:
    """Fit a representation on `train` with labels `y`; return `train` and `test` in it, and the time it took.

    Parameters
    ----------
    plan : RepresentationPlan
        The representation.
    train, test : object
        Rows that the representation takes: texts, or a matrix of numbers.
    y : Labels
        Labels of the training rows.
    """
    clock = Clock()
    fitted, seen = fit_representation(plan, train, y, clock=clock)
    with clock.running() if fitted.transformer is not None else nullcontext():
        applied = fitted.transform(test)
    return Represented(seen, applied, clock.wall, clock.cpu)


@dataclass(frozen=True)
class FittedRepresentation:
    """A representation that was fitted on training rows.

    Attributes
    ----------
    transformer : object or None
        The fitted transformer; None for a learner that takes the rows unchanged.
    takes_text : bool
        True if it takes texts, False if it takes rows of numbers.
    wants_dense : bool
        True if the learner takes dense arrays.
    """

    transformer: Any
    takes_text: bool
    wants_dense: bool = False

    def transform(self, rows: Any) -> Any:
        """Return rows of the dataset in the form that the learner takes.

        Parameters
        ----------
        rows : object
            Texts, or a matrix of numbers, as `takes_text` says.
        """
        if self.transformer is None:
            return as_text_array(rows) if self.takes_text else rows
        return self._shaped(self.transformer.transform(rows))

    def fit_transform(self, rows: Any, y: Labels) -> Any:
        """Fit the transformer on these rows, and return them in the form that the learner takes.

        Parameters
        ----------
        rows : object
            Texts, or a matrix of numbers, as `takes_text` says.
        y : Labels
            Their labels, which supervised transformers use.
        """
        if self.transformer is None:
            return self.transform(rows)
        if hasattr(self.transformer, "fit_transform"):
            return self._shaped(self.transformer.fit_transform(rows, y))
        return self._shaped(self.transformer.fit(rows, y).transform(rows))

    def _shaped(self, rows: Any) -> Any:
        checked = checked_representation(rows)
        return checked.toarray() if self.wants_dense else checked


def fit_representation(
    plan: RepresentationPlan, rows: Any, y: Labels, *, wants_dense: bool = False, clock: Clock | None = None
) -> tuple[FittedRepresentation, Any]:
    """Fit a representation on training rows.

    Parameters
    ----------
    plan : RepresentationPlan
        Names the transformer; its `blueprint` is None for a learner that takes the rows unchanged.
    rows, y : object and Labels
        Training rows of the dataset, and their labels.
    wants_dense : bool
        True if the learner takes dense arrays.
    clock : Clock, optional
        Times the transformer, without importing and building it.

    Returns
    -------
    FittedRepresentation, rows
        The fitted representation, and the training rows as the learner sees them.
    """
    if plan.blueprint is None:
        untouched = FittedRepresentation(None, plan.takes_text)
        return untouched, untouched.transform(rows)
    unfitted = FittedRepresentation(build_estimator(plan.blueprint), plan.takes_text, wants_dense)
    with (clock or Clock()).running():
        return unfitted, unfitted.fit_transform(rows, y)


def as_text_array(texts: Texts) -> Any:
    """Return texts as an object array of strings, one for each row."""
    # The None forces a one-dimensional array; it is cut off again.
    return np.array([*texts, None], dtype=object)[:-1]


def checked_representation(rows: Any) -> csr_array:
    """Return the output of a representation as a sparse matrix of float32.

    Parameters
    ----------
    rows : object
        The result of the transformer.

    Raises
    ------
    ContractError
        If the result is not a matrix of finite numbers.
    """
    try:
        return checked_rows(rows)
    except (DataError, ValueError, TypeError) as error:
        raise ContractError(f"the representation returned rows that no learner can take: {error}") from error


@dataclass(frozen=True)
class TrainingPart:
    """Training rows in the form that the learner takes, and their labels."""

    X: Any
    """A sparse matrix, a dense array, or an array of texts, as the learner requires."""
    y: Labels


@dataclass(frozen=True)
class Parts:
    """The training and test rows of a trial in the form that the learner takes, without the labels of test rows."""

    train: TrainingPart
    X_test: Any
    n_classes: int
    taxonomy: Taxonomy | None
    represent_seconds: float = 0.0
    represent_cpu_seconds: float = 0.0

    def checksums(self) -> dict[str, int]:
        """Return a checksum of each array that the learner receives, keyed by its name in messages."""
        given = {"the training X": self.train.X, "y": self.train.y, "the test X": self.X_test}
        return {name: checksum(value) for name, value in given.items()}

    def check_unchanged(self, before: dict[str, int]) -> None:
        """Raise ContractError if the learner has changed an array since the checksums in `before`."""
        for name, now in self.checksums().items():
            if now != before[name]:
                raise ContractError(f"the learner changed {name} that it was given; it must work on a copy")


@dataclass(frozen=True)
class ValidationParts(Parts):
    """The training rows of a trial, split again for tuning or calibration. The labels of both parts are known."""

    y_test: Labels = None


def load_parts(trial: Trial, split: SealedSplit) -> Parts:
    """Open the rows of a trial in its representation, which is computed unless a shared copy is stored.

    Parameters
    ----------
    trial : Trial
        The trial.
    split : SealedSplit
        Its split, without the labels of test rows.
    """
    rows = open_rows(Path(trial.data_folder))
    stored = open_represented(Path(trial.represented_folder)) if trial.represented_folder else None
    return _prepared(trial, rows, split, stored or represent_split(trial.representing, rows, split))


def load_validation_parts(trial: Trial, sealed: SealedSplit, split: Split) -> ValidationParts:
    """Split the training rows of a trial again, by `split`; the test rows of the trial are not used.

    Parameters
    ----------
    trial : Trial
        The trial.
    sealed : SealedSplit
        Its split, without the labels of test rows.
    split : Split
        The kind of split of the training rows.
    """
    rows = open_rows(Path(trial.data_folder))
    fitted, held_out = draw_split(split, len(sealed.train), trial.seed, {})
    inner = SealedSplit(sealed.train[fitted], sealed.train[held_out], sealed.y[fitted])
    parts = _prepared(trial, rows, inner, represent_split(trial.representing, rows, inner))
    return ValidationParts(**vars(parts), y_test=sealed.y[held_out])


def _prepared(trial: Trial, data: StoredRows, split: SealedSplit, seen: Represented) -> Parts:
    X_train, X_test = seen.train, seen.test
    if trial.wants_dense and trial.representing.blueprint is not None:
        X_train, X_test = X_train.toarray(), X_test.toarray()
    return Parts(TrainingPart(X_train, split.y), X_test, data.n_classes, data.taxonomy, seen.seconds, seen.cpu_seconds)


def checksum(value: Any) -> int:
    """Return a checksum of an array or sparse matrix, which shows whether the learner has changed it."""
    if issparse(value):
        value = csr_array(value)
        return zlib.crc32(value.indptr, zlib.crc32(value.indices, zlib.crc32(value.data)))
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return zlib.crc32("\0".join(value).encode("utf-8", "surrogatepass"))
    return zlib.crc32(np.ascontiguousarray(value).data)


LARGE_VARIABLE = "HARNESS_LARGE_BYTES"
LARGE_BYTES = 10**9
"""Size of a matrix in bytes above which a representation is computed block by block if possible."""
HEAD_BYTES = 128
"""Size of the header of a .npy file that is written block by block."""
HEADER = "header.json"
_PARTS, _PIECES = ("train", "test"), ("indptr", "indices", "data")


@dataclass(frozen=True)
class Represented:
    """Training and test rows of a trial after representation, and the wall and CPU time to compute them."""

    train: Any
    test: Any
    seconds: float = 0.0
    cpu_seconds: float = 0.0


class Spent(Protocol):
    """Wall and CPU time of a computation."""

    wall: float
    cpu: float


def keep_represented(parts: Represented, folder: Path) -> None:
    """Store the training and test rows in a folder of the cache.

    They are written to a temporary folder, which is then renamed: other processes never see a partial folder.

    Parameters
    ----------
    parts : Represented
        The rows, with the time that it took to compute them.
    folder : Path
        The folder of the cache; if it exists, it is kept.

    Raises
    ------
    DataError
        If the data home cannot be written.
    """
    header = {"seconds": parts.seconds, "cpu_seconds": parts.cpu_seconds, "checksum": _checksum(parts)}
    with work_folder(folder.parent, folder.name) as work:
        made = work / folder.name
        try:
            made.mkdir()
            for name, array in _arrays(parts):
                np.save(made / f"{name}.npy", array)
            header |= {name: getattr(parts, name).shape for name in _PARTS}
            (made / HEADER).write_text(json.dumps(header))
            publish_folder(made, folder, read_only=True)  # another run may have published the same before
        except OSError as error:
            raise not_writable(error) from error


def keep_blocks(blocks: Mapping[str, Iterable[csr_array]], clock: Spent, folder: Path) -> None:
    """Store the training and test rows block by block, with one block in memory at a time.

    Parameters
    ----------
    blocks : mapping of str to iterable of csr_array
        Blocks of the parts "train" and "test", in this order; each is computed when it is iterated.
    clock : Spent
        Time spent on computing blocks; read after the last one.
    folder : Path
        Folder of the cache.
    """
    with work_folder(folder.parent, folder.name) as work:
        made = work / folder.name
        try:
            made.mkdir()
            shapes = {part: _write_blocks(made, part, rows) for part, rows in blocks.items()}
            train, test = (_matrix(made, part, shapes[part]) for part in _PARTS)
            parts = Represented(train, test, clock.wall, clock.cpu)
            header = {
                "seconds": parts.seconds,
                "cpu_seconds": parts.cpu_seconds,
                "checksum": _checksum(parts),
                **shapes,
            }
            (made / HEADER).write_text(json.dumps(header))
            publish_folder(made, folder, read_only=True)  # another run may have published the same before
        except OSError as error:
            raise not_writable(error) from error


def _write_blocks(folder: Path, part: str, blocks: Iterable[csr_array]) -> tuple[int, int]:
    """Write the arrays of a part and return its shape."""
    ends = [np.zeros(1, np.int64)]
    width = 0
    names = [folder / f"{part}_{piece}.npy" for piece in ("indices", "data")]
    with _growing(names[0], np.int32) as add_indices, _growing(names[1], np.float32) as add_data:
        for block in blocks:
            add_indices(block.indices)
            add_data(block.data)
            ends.append(ends[-1][-1] + block.indptr[1:].astype(np.int64))
            width = block.shape[1]
    indptr = np.concatenate(ends)
    narrow = np.int32 if indptr[-1] < 2**31 else np.int64
    np.save(folder / f"{part}_indptr.npy", indptr.astype(narrow))
    return len(indptr) - 1, width


@contextmanager
def _growing(path: Path, kind: type[np.generic]) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Open a .npy file and yield a function that appends values to it.

    The header contains the number of values, so it is written last, into the space reserved at the start.
    """
    count = 0
    with path.open("wb") as file:
        file.write(bytes(HEAD_BYTES))

        def add(values: NDArray[Any]) -> None:
            nonlocal count
            count += values.size
            file.write(np.ascontiguousarray(values, kind).data)

        yield add
        description = f"{{'descr': '{np.dtype(kind).str}', 'fortran_order': False, 'shape': ({count},), }}"
        start = np.lib.format.magic(1, 0)
        text = description.ljust(HEAD_BYTES - len(start) - 3) + "\n"
        file.seek(0)
        file.write(start + len(text).to_bytes(2, "little") + text.encode())


def is_large(nonzeros: int | None) -> bool:
    """Return whether a matrix with this number of values is too large to hold in memory at once; False for None."""
    limit = int(os.environ.get(LARGE_VARIABLE) or LARGE_BYTES)
    return nonzeros is not None and 8 * nonzeros > limit


def open_represented(folder: Path) -> Represented | None:
    """Return the memory-mapped rows of a cached folder; None if files are missing or the checksum is wrong.

    This also marks the folder as recently used.

    Parameters
    ----------
    folder : Path
        The folder of the cache.
    """
    try:
        header = json.loads((folder / HEADER).read_text())
        train, test = (_matrix(folder, part, tuple(header[part])) for part in _PARTS)
        parts = Represented(train, test, header["seconds"], header["cpu_seconds"])
        is_valid = _checksum(parts) == header["checksum"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not is_valid:
        return None
    with suppress(OSError):
        os.utime(folder)
    return parts


def _arrays(parts: Represented) -> Iterator[tuple[str, Any]]:
    for part in _PARTS:
        for piece in _PIECES:
            yield f"{part}_{piece}", getattr(getattr(parts, part), piece)


def _checksum(parts: Represented) -> int:
    checksum = 0
    for _, array in _arrays(parts):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def _matrix(folder: Path, part: str, shape: tuple[int, int]) -> csr_array:
    arrays = [np.load(folder / f"{part}_{piece}.npy", mmap_mode="c").view(np.ndarray) for piece in _PIECES]
    indptr, indices, data = arrays
    return csr_array((data, indices, indptr), shape=shape, copy=False)
