"""fastText: a linear model over averaged vectors of words, from texts where there are any, else from feature ids."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar

import fasttext
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.sdk.kernels.instances import Labels
from harness.sdk.labels import as_labels, name_labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import RankingPeer, Staged, bytes_saved, ranks_of, rows_of

LABEL = "__label__"
_PUNCTUATION = re.compile(r"([.!?,'/()])")
"""What its tutorial sets apart from words."""


@dataclass(frozen=True)
class _File:
    """Training lines in a file that is there as long as this is."""

    place: Any

    @property
    def path(self) -> str:
        return str(self.place.name)


class Softmax(RankingPeer):
    """fastText's supervised model, with a softmax over all classes.

    Texts are put into lower case, with punctuation set apart, as its tutorial does it. Where data has no texts,
    a row's words are the numbers of its features; values are not seen.

    When to use
    -----------
    Short texts, many rows, and a model by the minute.

    References
    ----------
    Joulin, Grave, Bojanowski, Mikolov, Bag of tricks for efficient text classification, EACL 2017.

    Parameters
    ----------
    lr : the first step's length.
    dim : length of a word's vector.
    epoch : passes over the texts.
    minCount : how often a word must occur.
    minn : letters of the shortest piece of a word; 0 for whole words only.
    maxn : letters of the longest piece.
    wordNgrams : words of the longest phrase.
    bucket : how many vectors pieces and phrases share.
    random_state : its seed; with several threads two fits differ all the same.
    """

    loss: ClassVar[str] = "softmax"
    model_: Any

    def __init__(
        self,
        *,
        lr: float = 0.1,
        dim: int = 100,
        epoch: int = 5,
        minCount: int = 1,
        minn: int = 0,
        maxn: int = 0,
        wordNgrams: int = 1,
        bucket: int = 2_000_000,
        random_state: int | None = None,
    ) -> None:
        self.lr = lr
        self.dim = dim
        self.epoch = epoch
        self.minCount = minCount
        self.minn = minn
        self.maxn = maxn
        self.wordNgrams = wordNgrams
        self.bucket = bucket
        self.random_state = random_state

    def stage(self, X: Any, y: Any) -> Staged:
        """The training rows as lines of a file, which is all that fastText reads."""
        starts, names, classes = name_labels(y if hasattr(y, "tocsr") else np.asarray(y))
        labels = as_labels(starts, names, classes)
        file = tempfile.NamedTemporaryFile("w", prefix="fasttext-", encoding="utf-8")  # noqa: SIM115  # `_File` keeps it
        for line, start, stop in zip(_lines_of(X), labels.indptr[:-1], labels.indptr[1:], strict=True):
            marks = [f"{LABEL}{position}" for position in labels.indices[start:stop]]
            file.write(f"{' '.join(marks)} {line}\n")
        file.flush()
        n_features = X.shape[1] if len(X.shape) > 1 else 0
        return Staged(classes, n_features, _File(file))

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        raise NotImplementedError("`stage` does it all: texts are no rows")

    def _train(self, rows: _File) -> None:
        settings = self.get_params()
        seed = settings.pop("random_state")
        self.model_ = fasttext.train_supervised(
            rows.path, loss=self.loss, thread=allowed_threads(), seed=seed or 0, verbose=0, **settings
        )

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""
        found, _ = self.model_.predict(_lines_of(X), k=k)
        return ranks_of([[int(name[len(LABEL) :]) for name in names] for names in found], k)

    @property
    def index_bytes_(self) -> int:
        """The bytes of the model as fastText writes it."""
        return bytes_saved(self.model_.save_model)


class HierarchicalSoftmax(Softmax):
    """fastText's supervised model, with its hierarchical softmax: a Huffman tree over the classes.

    Texts are put into lower case, with punctuation set apart, as its tutorial does it. Where data has no texts,
    a row's words are the numbers of its features; values are not seen.

    When to use
    -----------
    As fasttext, with so many classes that the softmax is what takes the time.

    References
    ----------
    Joulin, Grave, Bojanowski, Mikolov, Bag of tricks for efficient text classification, EACL 2017.

    Parameters
    ----------
    lr : the first step's length.
    dim : length of a word's vector.
    epoch : passes over the texts.
    minCount : how often a word must occur.
    minn : letters of the shortest piece of a word; 0 for whole words only.
    maxn : letters of the longest piece.
    wordNgrams : words of the longest phrase.
    bucket : how many vectors pieces and phrases share.
    random_state : its seed; with several threads two fits differ all the same.
    """

    loss = "hs"


def _lines_of(X: Any) -> list[str]:
    """Each row as a line: its text, or the numbers of its features."""
    if not issparse(X) and np.asarray(X).dtype == object:
        return [" ".join(_PUNCTUATION.sub(r" \1 ", text.lower()).split()) for text in X]
    rows = rows_of(X)
    words = np.char.add("f", rows.indices.astype(str)).tolist()
    bounds = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    return [" ".join(words[start:stop]) for start, stop in bounds]
