"""fastText: a linear model over averaged word vectors, from texts if there are any, otherwise from feature numbers.

Staged, not timed: writing the rows to a file. Timed as training: reading this file, its vocabulary and learning. Timed
as prediction: writing rows as lines, and `predict`.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar

import fasttext
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted, check_X_y

from harness.sdk.classifier import has_several, position_labels
from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import RankingPeer, Staged, bytes_saved, ranks_of, rows_of

LABEL = "__label__"
_PUNCTUATION = re.compile(r"([.!?,'/()])")
"""Punctuation that its tutorial separates from words."""


@dataclass(frozen=True)
class _File:
    """Training lines in a temporary file, which is deleted together with this object."""

    place: Any

    @property
    def path(self) -> str:
        return str(self.place.name)


class Softmax(RankingPeer):
    """fastText's supervised model, with a softmax over all classes.

    Texts are converted to lower case, with punctuation separated, as in the tutorial of fastText. If the data has no
    texts, the words of a row are the numbers of its features; their values are not used.

    When to use
    -----------
    Many rows of short texts, if a model is needed within minutes.

    References
    ----------
    Joulin, Grave, Bojanowski, Mikolov, Bag of tricks for efficient text classification, EACL 2017.

    Parameters
    ----------
    lr : float, default=0.1
        Initial learning rate.
    dim : int, default=100
        Length of a word vector.
    epoch : int, default=5
        Number of passes over the texts.
    minCount : int, default=1
        Minimum number of occurrences of a word.
    minn : int, default=0
        Length of the shortest character n-gram, 0 for words only.
    maxn : int, default=0
        Length of the longest character n-gram.
    wordNgrams : int, default=1
        Number of words in the longest phrase.
    bucket : int, default=2000000
        Number of vectors shared by n-grams and phrases.
    random_state : int or None, default=None
        Seed. With several threads, two trainings still differ.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of fastText.
    index_bytes_ : int
        Bytes of the model as fastText writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from harness_peers.fasttext_models import Softmax
    >>> texts = np.array(["head nurse", "night nurse", "tractor driver", "bus driver"], dtype=object)
    >>> learner = Softmax(lr=1.0, dim=10, epoch=50, random_state=0).fit(texts, [0, 0, 1, 1])
    >>> learner.predict(texts)
    array([0, 0, 1, 1])
    """

    loss: ClassVar[str] = "softmax"
    tool_attributes: ClassVar[frozenset[str]] = frozenset({"model_"})
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
        """Write the training rows as lines of a file, the only input of fastText.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.

        Returns
        -------
        Staged
            The converted rows, for `fit`.
        """
        if not _are_texts(X):
            X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float32, multi_output=has_several(y), estimator=self)
        labels, classes = position_labels(y)
        file = tempfile.NamedTemporaryFile("w", prefix="fasttext-", encoding="utf-8")  # noqa: SIM115  # `_File` keeps it
        for line, start, stop in zip(_lines_of(X), labels.indptr[:-1], labels.indptr[1:], strict=True):
            marks = [f"{LABEL}{position}" for position in labels.indices[start:stop]]
            file.write(f"{' '.join(marks)} {line}\n")
        file.flush()
        n_features = X.shape[1] if len(X.shape) > 1 else 0
        return Staged(classes, n_features, _File(file))

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        raise NotImplementedError("`stage` does it all: texts are not rows")

    def _train(self, rows: _File) -> None:
        settings = self.get_params()
        seed = settings.pop("random_state")
        self.model_ = fasttext.train_supervised(
            rows.path, loss=self.loss, thread=allowed_threads(), seed=seed or 0, verbose=0, **settings
        )

    def _rank(self, rows: list[str], k: int) -> NDArray[np.int32]:
        found, _ = self.model_.predict(rows, k=k)
        return ranks_of([[int(name[len(LABEL) :]) for name in names] for names in found], k)

    def _known(self, X: Any) -> list[str]:
        check_is_fitted(self)
        if _are_texts(X):
            return _lines_of(X)
        return _lines_of(super()._known(X))

    def _save_model(self, path: str) -> None:
        self.model_.save_model(path)

    def _load_model(self, path: str) -> None:
        self.model_ = fasttext.load_model(path)

    @property
    def index_bytes_(self) -> int:
        """The bytes of the model as fastText writes it."""
        return bytes_saved(self.model_.save_model)


class HierarchicalSoftmax(Softmax):
    """fastText's supervised model, with its hierarchical softmax: a Huffman tree over the classes.

    Texts are converted to lower case, with punctuation separated, as in the tutorial of fastText. If the data has no
    texts, the words of a row are the numbers of its features; their values are not used.

    When to use
    -----------
    The same tasks as `fasttext`, with so many classes that the softmax takes most of the time.

    References
    ----------
    Joulin, Grave, Bojanowski, Mikolov, Bag of tricks for efficient text classification, EACL 2017.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of fastText.
    index_bytes_ : int
        Bytes of the model as fastText writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from harness_peers.fasttext_models import HierarchicalSoftmax
    >>> texts = np.array(["head nurse", "night nurse", "tractor driver", "bus driver"], dtype=object)
    >>> learner = HierarchicalSoftmax(lr=1.0, dim=10, epoch=50, random_state=0).fit(texts, [0, 0, 1, 1])
    >>> learner.predict(texts)
    array([0, 0, 1, 1])
    """

    loss = "hs"


def _are_texts(X: Any) -> bool:
    return not issparse(X) and np.asarray(X).dtype == object


def _lines_of(X: Any) -> list[str]:
    """Return each row as a line: its text, or the numbers of its features."""
    if _are_texts(X):
        return [" ".join(_PUNCTUATION.sub(r" \1 ", text.lower()).split()) for text in X]
    rows = rows_of(X)
    words = np.char.add("f", rows.indices.astype(str)).tolist()
    bounds = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    return [" ".join(words[start:stop]) for start, stop in bounds]
