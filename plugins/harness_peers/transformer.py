"""A pretrained transformer from a local folder, fine-tuned on texts, without network access.

Staged, not timed: loading the tokenizer, and tokenizing the training texts. Timed as training: loading the pretrained
model, and learning. Timed as prediction: tokenizing the texts, and the model.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from harness.sdk.threads import allowed_threads
from harness_peers.peer import Staged, bytes_saved

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the packages below are imported
os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads do not count as allowed threads of a trial

import torch
import transformers
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

WEIGHT_FILES = (".safetensors", ".bin")
OWN_PLACES = 2
"""Number of positions that some models (RoBERTa) do not use for tokens."""
ROWS_ASKED = 64
"""Number of texts that are scored at a time."""

transformers.logging.set_verbosity_error()  # hides the warning that the weights of the classes are new
transformers.logging.disable_progress_bar()


class Transformer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A pretrained language model from a local folder, fine-tuned with a linear layer over its classes.

    All weights are trained by AdamW, with a step size that decreases linearly to 0 and new batches in each pass. Texts
    are tokenized before the timed training. A trial's key contains only the name of the folder, so another model needs
    another folder.

    When to use
    -----------
    Few rows per class and texts with varied wording, if minutes or hours of training are acceptable.

    References
    ----------
    Devlin, Chang, Lee, Toutanova, BERT: pre-training of deep bidirectional transformers for language understanding,
    NAACL 2019.

    Parameters
    ----------
    folder : str
        Folder of the model, as written by `save_pretrained`: config.json, weights, tokenizer.
    epochs : int, default=3
        Number of passes over the texts, at least 1.
    batch : int, default=32
        Number of texts in a step, at least 1.
    learning_rate : float, default=5e-05
        Initial learning rate, above 0.
    max_length : int, default=64
        Maximum number of tokens of a text, at least 1. Further tokens are cut off.
    random_state : int or None, default=None
        Seed of the new weights, of the order of texts and of dropout.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_, tokenizer_ : object
        The fine-tuned model and its tokenizer.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the saved model and its tokenizer.

    Examples
    --------
    >>> from harness_peers.transformer import Transformer
    >>> learner = Transformer(folder="models/distilbert-base-uncased")  # doctest: +SKIP
    >>> learner.fit(["head nurse", "bus driver"], ["health", "transport"])  # doctest: +SKIP
    """

    classes_: NDArray[Any]
    tokenizer_: Any
    model_: Any

    def __init__(
        self,
        *,
        folder: str,
        epochs: int = 3,
        batch: int = 32,
        learning_rate: float = 5e-5,
        max_length: int = 64,
        random_state: int | None = None,
    ) -> None:
        self.folder = folder
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.max_length = max_length
        self.random_state = random_state

    def check_params(self) -> None:
        """Raise ValueError if a value is out of range, or the folder has no model."""
        for name in ("epochs", "batch", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r}: expected a whole number of 1 or more")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate={self.learning_rate!r}: expected a number above 0")
        _check_folder(self.folder)

    def stage(self, X: Any, y: Any) -> Staged:
        """Return the texts as lists of tokens, with the position of each text's class.

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
        self.check_params()
        tokenizer = _read(AutoTokenizer, self.folder)
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token  # generative models have no padding token
        classes, positions = np.unique(np.asarray(y), return_inverse=True)
        tokens = self._tokens_of(X, tokenizer)
        if set().union(*tokens) <= set(tokenizer.all_special_ids):
            warnings.warn(f"the tokenizer in {self.folder!r} knows no word of the training texts", stacklevel=2)
        return Staged(classes, 0, (tokens, positions.ravel(), tokenizer))

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        staged: Staged | None = None,
        after_pass: Callable[[int], None] | None = None,
    ) -> Self:
        """Fine-tune on the texts.

        Parameters
        ----------
        X : list of str
            Training texts.
        y : array of shape (n_texts,)
            Class of each text.
        staged : Staged or None, default=None
            The result of `stage` for these texts. None tokenizes them now.
        after_pass : callable or None, default=None
            Called with the number of each finished pass.
        """
        ready = self.stage(X, y) if staged is None else staged
        tokens, positions, self.tokenizer_ = ready.rows
        self.classes_ = ready.classes
        torch.set_num_threads(allowed_threads())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state or 0)
            self.model_ = self._new_model()
            steps = self._steps(len(tokens))
            for number in range(1, self.epochs + 1):
                self.model_.train()
                for rows in _batches(len(tokens), self.batch):
                    self._step(steps, [tokens[row] for row in rows], positions[rows])
                self.model_.eval()
                if after_pass is not None:
                    after_pass(number)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return the output of the last layer for each class, rows x classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The scores, in the order of `classes_`.
        """
        check_is_fitted(self)
        torch.set_num_threads(allowed_threads())
        tokens = self._tokens_of(X, self.tokenizer_)
        scores = np.empty((len(tokens), self.classes_.size), np.float32)
        with torch.inference_mode():
            for start in range(0, len(tokens), ROWS_ASKED):
                rows = slice(start, start + ROWS_ASKED)
                scores[rows] = self._logits(tokens[rows]).numpy()
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The best class of each row.
        """
        best: NDArray[Any] = self.classes_[self.decision_function(X).argmax(axis=1)]
        return best

    @property
    def index_size_(self) -> int:
        """Number of non-zero weights, including the pretrained ones."""
        return sum(int(weights.count_nonzero()) for weights in self.model_.parameters())

    @property
    def index_bytes_(self) -> int:
        """The bytes of the saved model and its tokenizer."""
        return bytes_saved(self.model_.save_pretrained) + bytes_saved(self.tokenizer_.save_pretrained)

    def _new_model(self) -> Any:
        """Return the pretrained model with new weights for the classes, converted to 32 bits."""
        labels = {"num_labels": self.classes_.size, "ignore_mismatched_sizes": True}
        model = _read(AutoModelForSequenceClassification, self.folder, **labels)
        model.config.pad_token_id = self.tokenizer_.pad_token_id
        return model.float()

    def _tokens_of(self, X: Any, tokenizer: Any) -> list[list[int]]:
        """Return the tokens of each text, at least one, since some tokenizers return none for an empty text."""
        texts = [str(text) for text in X]
        if not texts:
            return []
        places = getattr(_read(AutoConfig, self.folder), "max_position_embeddings", None)
        most = min(self.max_length, tokenizer.model_max_length, (places or 2**31) - OWN_PLACES)
        found = tokenizer(texts, truncation=True, max_length=most, return_attention_mask=False)["input_ids"]
        return [tokens or [tokenizer.pad_token_id] for tokens in found]

    def _steps(self, n_rows: int) -> tuple[Any, Any]:
        """Return the optimiser and the schedule of its step size over all passes."""
        total = self.epochs * -(-n_rows // self.batch)
        optimizer = torch.optim.AdamW(self.model_.parameters(), lr=self.learning_rate)
        return optimizer, torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=total)

    def _step(self, steps: tuple[Any, Any], tokens: Sequence[list[int]], positions: NDArray[np.int64]) -> None:
        optimizer, schedule = steps
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self._logits(tokens), torch.from_numpy(positions))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model_.parameters(), 1.0)
        optimizer.step()
        schedule.step()

    def _logits(self, tokens: Sequence[list[int]]) -> Any:
        """Return the output of the last layer for texts of different lengths, padded to the longest."""
        longest = max(map(len, tokens))
        ids = torch.full((len(tokens), longest), self.tokenizer_.pad_token_id)
        mask = torch.zeros((len(tokens), longest), dtype=torch.int64)
        for row, found in enumerate(tokens):
            ids[row, : len(found)] = torch.tensor(found)
            mask[row, : len(found)] = 1
        return self.model_(input_ids=ids, attention_mask=mask).logits


def _check_folder(folder: str) -> None:
    """Raise ValueError if there is no model in the folder, with the missing file."""
    expected = "expected a folder as save_pretrained writes it, with config.json, weights and a tokenizer"
    place = Path(folder)
    if not folder or not place.is_dir():
        raise ValueError(f"folder {folder!r} is not there: {expected}")
    if not (place / "config.json").is_file():
        raise ValueError(f"folder {folder!r} is not a model, config.json is missing: {expected}")
    if not any(file.suffix in WEIGHT_FILES for file in place.iterdir()):
        raise ValueError(f"folder {folder!r} has no weights, no file ends in {' or '.join(WEIGHT_FILES)}: {expected}")
    _read(AutoConfig, folder)
    _read(AutoTokenizer, folder)


def _read(kind: Any, folder: str, **settings: Any) -> Any:
    """Return the part of the model that a reader of the library loads from the folder; ValueError if it cannot."""
    try:
        return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **settings)
    except Exception as error:  # parsers of JSON, archives and vocabularies raise different errors
        raise ValueError(f"folder {folder!r}: {kind.__name__} cannot read it ({error})") from error


def _batches(n_rows: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Yield all rows once, in batches, in an order drawn by torch's generator."""
    order = torch.randperm(n_rows).numpy()
    for start in range(0, n_rows, size):
        yield order[start : start + size]
