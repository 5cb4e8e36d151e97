"""Many texts as two arrays: their UTF-8 bytes, and the position of each text. The arrays can be memory-mapped."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Texts(Sequence[str]):
    """A sequence of texts. A position returns a text; a slice or an array of positions returns `Texts`.

    Parameters
    ----------
    content : ndarray of uint8
        The bytes of all texts, one after the other, in UTF-8.
    bounds : ndarray of int64, shape (n_texts + 1,)
        The start of each text, and the end of the last one.

    Examples
    --------
    >>> texts = Texts.of(["night nurse", "welder"])
    >>> texts[0], list(texts[1:])
    ('night nurse', ['welder'])
    """

    def __init__(self, content: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        self.content, self.bounds = content, bounds

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Return texts as arrays.

        Parameters
        ----------
        texts : iterable of str
            The texts. A lone surrogate, which is not a character, becomes `?`.

        Returns
        -------
        Texts
            The same texts; `texts` itself if it is of this class.

        Raises
        ------
        TypeError
            If one of them is not a text. The message has its row.
        """
        if isinstance(texts, Texts):
            return texts
        content, bounds = bytearray(), array("q", [0])
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"row {len(bounds) - 1} is {text!r}, expected a text")
            content += text.encode("utf-8", errors="replace")
            bounds.append(len(content))
        return cls(np.frombuffer(content, dtype=np.uint8), np.frombuffer(bounds, dtype=np.int64))

    @property
    def shape(self) -> tuple[int]:
        """The number of texts, as a tuple."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[str]:
        content, bounds = self.content.tobytes(), self.bounds.tolist()
        for begin, end in pairwise(bounds):
            yield content[begin:end].decode("utf-8")

    @overload
    def __getitem__(self, rows: int) -> str: ...

    @overload
    def __getitem__(self, rows: slice | NDArray[Any]) -> Texts: ...

    def __getitem__(self, rows: int | slice | NDArray[Any]) -> str | Texts:
        if isinstance(rows, int | np.integer):
            row = range(len(self))[rows]  # handles negative positions, and refuses those outside
            return self.content[self.bounds[row] : self.bounds[row + 1]].tobytes().decode("utf-8")
        return self._chosen(np.arange(len(self))[rows])

    def codes(self) -> NDArray[np.int64]:
        """Return a number for each text, equal for equal texts.

        Returns
        -------
        ndarray of int64, shape (n_texts,)
            Numbers from 0, in the order of first occurrence.

        Examples
        --------
        >>> Texts.of(["welder", "nurse", "welder"]).codes().tolist()
        [0, 1, 0]
        """
        content, bounds = self.content.tobytes(), self.bounds.tolist()
        numbers: dict[bytes, int] = {}
        codes = array("q")
        for begin, end in pairwise(bounds):
            codes.append(numbers.setdefault(content[begin:end], len(numbers)))
        return np.array(codes, dtype=np.int64)

    def _chosen(self, rows: NDArray[np.int64]) -> Texts:
        begins, lengths = self.bounds[rows], np.diff(self.bounds)[rows]
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(bounds[-1]) + np.repeat(begins - bounds[:-1], lengths)
        return Texts(self.content[places], bounds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        return np.array_equal(self.bounds, other.bounds) and np.array_equal(self.content, other.content)

    __hash__ = None  # type: ignore[assignment]  # equal by content, as arrays are

    def __repr__(self) -> str:
        return f"Texts({len(self):,} of {len(self.content):,} bytes)"
