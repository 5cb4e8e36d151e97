"""Sparse rows written as text: the svmlight / LIBSVM format and that of the Extreme Classification Repository (XMC).

A row is a line: labels separated by commas (or none), then `id:value` pairs in any order. Files are read in chunks of
lines, so the memory depends on the result and not on the text. Columns are the ids in the file; `drop_unused_columns`
removes those without values.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from harness.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK_BYTES = 4 * 2**20
LARGEST_ID = 2**32 - 1
_BOM = b"\xef\xbb\xbf"
_INT32 = 2**31 - 1


@dataclass(frozen=True)
class SparseText:
    """Rows and their labels. Column j of X holds the feature with the id j."""

    X: csr_array
    """float32, columns of a row in order; repeated ids are summed, zeros are dropped."""
    labels: tuple[tuple[str, ...], ...]
    """The labels of each row, in the order of the file."""
    n_labels: int | None = None
    """Number of labels in the first line of an XMC file."""


def read_svmlight(stream: IO[bytes], *, name: str) -> SparseText:
    """Read lines of the form `label[,label...] [qid:n] id:value ... [# comment]`.

    Blank lines, comments and query ids are ignored. A line may lack labels or features.

    Parameters
    ----------
    stream : IO of bytes
        The open file.
    name : str
        Name of the file in error messages.

    Returns
    -------
    SparseText
        Rows and labels.

    Raises
    ------
    DataError
        If a line is malformed. The message has its number.
    """
    gathered = _Gathered(name)
    for first_line, lines in _chunks(stream):
        numbered = []
        for number, line in enumerate(lines, first_line):
            said = line.partition(b"#")[0]
            if said and not said.isspace():
                numbered.append((number, said))
        gathered.take(numbered)
    return gathered.finish()


def read_xmc(stream: IO[bytes], *, name: str) -> SparseText:
    """Read a line `rows features labels`, then as many lines `label[,label...] id:value ...`, with ids from 0.

    A blank line is a row with neither labels nor features.

    Parameters
    ----------
    stream : IO of bytes
        The open file.
    name : str
        Name of the file in error messages.

    Returns
    -------
    SparseText
        Rows and labels, with the number of labels.

    Raises
    ------
    DataError
        If a line is malformed, or if the counts of the first line are wrong.
    """
    header = stream.readline().removeprefix(_BOM)
    counts = header.split()
    if len(counts) != 3 or not all(map(bytes.isdigit, counts)):
        raise DataError(
            f"{name}, line 1: expected three counts 'rows features labels' (XMC format), found {_shown(header)}"
        )
    rows, features, labels = map(int, counts)
    gathered = _Gathered(name, label_limit=labels)
    for first_line, lines in _chunks(stream, first_line=2):
        numbered = []
        for number, line in enumerate(lines, first_line):
            if number < rows + 2 or line.strip():  # blank lines after the last row are not rows
                numbered.append((number, line))
        gathered.take(numbered)
    read = gathered.finish(features)
    if read.X.shape[0] != rows:
        raise DataError(f"{name}: line 1 promises {rows:,} rows, found {read.X.shape[0]:,}: is the file complete?")
    return SparseText(read.X, read.labels, labels)


def drop_unused_columns(X: csr_array) -> csr_array:
    """Return X without empty columns. Results do not change: a feature that never occurs has no information.

    Parameters
    ----------
    X : csr_array
        Rows.

    Returns
    -------
    csr_array
        The same rows; columns keep their order.
    """
    if X.shape[1] > 2**26:
        ids, columns = np.unique(X.indices, return_inverse=True)
        width = len(ids)
    else:
        used = np.zeros(X.shape[1], dtype=np.bool_)
        used[X.indices] = True
        columns, width = (np.cumsum(used) - 1)[X.indices], int(used.sum())
    dense = csr_array((X.data, columns.astype(np.int32), X.indptr.astype(np.int32)), shape=(X.shape[0], width))
    dense.has_canonical_format = X.has_canonical_format
    return dense


def _chunks(stream: IO[bytes], first_line: int = 1) -> Iterator[tuple[int, list[bytes]]]:
    """Yield chunks of about CHUNK_BYTES of whole lines, with the number of the first line."""
    while lines := stream.readlines(CHUNK_BYTES):
        if first_line == 1:
            lines[0] = lines[0].removeprefix(_BOM)
        yield first_line, lines
        first_line += len(lines)


@dataclass
class _Gathered:
    """The rows read so far."""

    name: str
    label_limit: int | None = None
    labels: list[tuple[str, ...]] = field(default_factory=list)
    row_sizes: list[NDArray[np.int64]] = field(default_factory=list)
    ids: list[NDArray[np.integer[Any]]] = field(default_factory=list)
    values: list[NDArray[np.float32]] = field(default_factory=list)
    known: dict[bytes, tuple[str, ...]] = field(default_factory=dict)

    def take(self, lines: list[tuple[int, bytes]]) -> None:
        """Add a row for each line."""
        pairs = []
        for number, line in lines:
            head, rest = _cut(line)
            labels = self.known.get(head)
            if labels is None:
                labels = self.known[head] = self._labels(head, number)
            self.labels.append(labels)
            pairs.append(rest)
        sizes = np.fromiter((rest.count(b":") for rest in pairs), dtype=np.int64, count=len(pairs))
        numbers = _numbers(b" ".join(pairs), int(sizes.sum()))
        if numbers is None:
            raise self._first_unreadable(lines, pairs)
        ids, values = numbers
        if ids.max(initial=0) <= _INT32:
            self.ids.append(ids.astype(np.int32))
        else:
            self.ids.append(ids)
        self.values.append(values)
        self.row_sizes.append(sizes)

    def finish(self, features: int | None = None) -> SparseText:
        """Return all rows as one matrix, by default as wide as the largest id."""
        ids = np.concatenate([*self.ids, np.empty(0, dtype=np.int32)])
        values = np.concatenate([*self.values, np.empty(0, dtype=np.float32)])
        self.ids.clear()
        self.values.clear()
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([*self.row_sizes, np.empty(0, dtype=np.int64)]))])
        width = int(ids.max(initial=-1)) + 1
        if features is not None and width > features:
            raise DataError(f"{self.name}: line 1 promises {features:,} features, found one with the id {width - 1}")
        if features is not None:
            width = features
        X = csr_array((values, ids, indptr), shape=(len(indptr) - 1, width))
        X.sum_duplicates()  # also sorts the columns of each row
        X.eliminate_zeros()
        return SparseText(X, tuple(self.labels))

    def _labels(self, head: bytes, number: int) -> tuple[str, ...]:
        """Return the labels before the first pair; DataError if they are invalid, or too many."""
        if not head:
            return ()
        try:
            labels = tuple(map(str.strip, head.decode().split(",")))
        except UnicodeDecodeError as error:
            raise DataError(f"{self.name}, line {number}: the labels {_shown(head)} are not UTF-8") from error
        limit = self.label_limit
        for label in labels:
            if len(label.split()) != 1:
                raise DataError(
                    f"{self.name}, line {number}: expected labels separated by commas, then id:value pairs, "
                    f"found {_shown(head)} before the first pair"
                )
            if limit is not None and not (label.isdigit() and int(label) < limit):
                raise DataError(
                    f"{self.name}, line {number}: expected labels from 0 to {limit - 1}, found {_shown(head)}"
                )
        return labels

    def _first_unreadable(self, lines: list[tuple[int, bytes]], pairs: list[bytes]) -> DataError:
        """Return the error for the first line with an unreadable pair, and that pair."""
        for (number, _), rest in zip(lines, pairs, strict=True):
            if _numbers(rest, rest.count(b":")) is not None:
                continue
            bad = next(pair for pair in rest.split() if _numbers(pair, 1) is None)
            return DataError(
                f"{self.name}, line {number}: expected id:value with a whole id from 0 to {LARGEST_ID} "
                f"and a finite value, found {_shown(bad)}"
            )
        raise AssertionError("only together are they unreadable")


def _cut(line: bytes) -> tuple[bytes, bytes]:
    """Return the labels and the pairs of a line: the pairs begin with the word that has the first colon."""
    colon = line.find(b":")
    if colon < 0:
        return line.strip(), b""
    words = line[:colon].split()
    if line[colon - 1 : colon].isspace() or not words:  # an id is missing; reading the pairs reports it
        return line[:colon].strip(), line[colon:]
    first = line.rindex(words[-1], 0, colon)
    head, pairs = line[:first].strip(), line[first:]
    if words[-1] == b"qid":
        pairs = b"".join(pairs.split(None, 1)[1:])
    return head, pairs


def _numbers(text: bytes, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
    """Return ids and values of `count` pairs; None if the text holds anything else."""
    if not count and not text.strip():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    if not count or not _has_a_colon_in_each_word(text, count):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # some releases of numpy report unreadable text by a warning
        try:
            numbers = np.fromstring(text.replace(b":", b" ").decode("ascii"), dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    if len(numbers) != 2 * count or not np.isfinite(numbers).all():
        return None
    ids = numbers[::2].astype(np.int64)
    are_ids = (ids == numbers[::2]).all() and ids.min() >= 0 and ids.max() <= LARGEST_ID
    with np.errstate(over="ignore"):
        values = numbers[1::2].astype(np.float32)
    if not are_ids or not np.isfinite(values).all():
        return None
    return ids, values


def _has_a_colon_in_each_word(text: bytes, count: int) -> bool:
    characters = np.frombuffer(text, dtype=np.uint8)
    filled = characters > 32
    starts = np.flatnonzero(filled & np.concatenate([[True], ~filled[:-1]]))
    colons = np.flatnonzero(characters == ord(":"))
    return len(starts) == count and bool(
        (np.searchsorted(starts, colons, side="right") == np.arange(1, count + 1)).all()
    )


def _shown(text: bytes) -> str:
    """Return a piece of the file, shortened for a message."""
    shown = text[:60].decode(errors="replace").strip()
    if len(text) > 60:
        shown += "..."
    return repr(shown)
