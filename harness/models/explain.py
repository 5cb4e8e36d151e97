"""Explain a prediction: what each word adds to the scores of the class and of its strongest rival, and similar rows.

There are two methods. Learners with `contributions` and linear ones give the part of each feature, and representations
with `feature_spans` the place of each feature in the text. Each part is spread evenly over the characters of its
feature, and the characters of a word are added up. Any other model is asked again with each word left out.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise
from math import floor, log10
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import OneToOneFeatureMixin

from harness.errors import ModelError
from harness.models.kept import KeptRows
from harness.sdk.contributions import Contributions
from harness.text import in_a_line
from harness.trials.predict import all_scores, checked_contributions

Method = Literal["parts", "left out"]
"""parts: the parts of the words and the bias add up to the score. left out: each word by what its loss changes."""
Spans = tuple[tuple[int, int], ...]
Values = NDArray[np.float64]

NEAREST_ROWS = 3
LONGEST_WORD = 24
"""A longer word, as in scripts without spaces, is divided where its characters favour another class."""
SHOWN_WORDS = 12
WORD_WIDTH, NAME_WIDTH, BAR_WIDTH, DOTS = 24, 16, 16, 3
BLOCK_SCORES = 4_000_000
"""Scores in memory at once while words are left out."""


@dataclass(frozen=True)
class ExplainedClass:
    """A class with its score."""

    name: str
    score: float | None
    """None if the learner has no scores."""
    bias: float | None
    """The part of the score that belongs to no word of the text; None if words were left out."""


@dataclass(frozen=True)
class WordPart:
    """A word of the text, or a part of a long word, and what it adds to the two classes."""

    text: str
    spans: Spans
    """Start and end of each occurrence in the text."""
    best: float
    rival: float | None
    """None if no second class is ranked."""

    @property
    def lead(self) -> float:
        """The contribution of the word to the lead of the class over its rival."""
        return self.best - (self.rival or 0.0)


@dataclass(frozen=True)
class NearRow:
    """A training row that is similar to the text."""

    text: str
    classes: tuple[str, ...]
    cosine: float


@dataclass(frozen=True)
class Explanation:
    """Why a text got its class, as `Model.explain` returns it.

    `print` shows it as a table, and a notebook with the words highlighted.
    """

    text: str
    best: ExplainedClass | None
    """The class that is ranked first; None if the model knows nothing in the text."""
    rival: ExplainedClass | None
    """The class that is ranked second."""
    confidence: float | None
    """None if the learner has no scores."""
    words: tuple[WordPart, ...]
    """The words by what they add to the class, the largest first."""
    method: Method
    nearest: tuple[NearRow, ...] | None
    """The nearest training rows, nearest first; None if the model does not keep its rows."""

    def to_plain(self) -> dict[str, Any]:
        """Return the explanation as values for JSON."""
        plain = asdict(self)
        plain["words"] = [{**word, "spans": [list(span) for span in word["spans"]]} for word in plain["words"]]
        if self.nearest is not None:
            plain["nearest"] = [{**row, "classes": list(row["classes"])} for row in plain["nearest"]]
        return plain

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        return _html(self)


class TextModel(Protocol):
    """The part of `harness.models.model.Model` that an explanation uses."""

    @property
    def representation(self) -> Any: ...

    @property
    def classifier(self) -> Any: ...

    @property
    def kept(self) -> KeptRows | None: ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    def answer(self, rows: Any, k: int = 1) -> Any: ...

    def decision_function(self, rows: Any) -> Values: ...


def explain(model: TextModel, text: str, row: Any) -> Explanation:
    """Return why a model gives its class to a text.

    Parameters
    ----------
    model : TextModel
        A model that was trained on texts.
    text : str
        The text.
    row : object
        The output of the model's representation for the text.

    Raises
    ------
    ModelError
        If the learner or the representation fails on the text.
    """
    answers = model.answer([text], 2)
    positions = [int(position) for position in answers.positions[0] if position >= 0]
    nearest = _nearest(model, row)
    if not positions:
        return Explanation(text, None, None, 0.0, (), "parts", nearest)
    parts = _word_parts(model, text, row, positions)
    method: Method = "left out" if parts is None else "parts"
    words = _left_out(model, text, positions) if parts is None else parts
    classes = []
    for place, position in enumerate(positions):
        score = None if answers.scores is None else float(answers.scores[0, place])
        added = sum(word.best if place == 0 else word.rival or 0.0 for word in words)
        bias = None if parts is None or score is None else score - added
        classes.append(ExplainedClass(model.classes[position], score, bias))
    words = sorted(words, key=lambda word: (-word.best, word.spans))
    rival = classes[1] if len(classes) > 1 else None
    confidence = None if answers.confidence is None else float(answers.confidence[0])
    return Explanation(text, classes[0], rival, confidence, tuple(words), method, nearest)


def _nearest(model: TextModel, row: Any) -> tuple[NearRow, ...] | None:
    kept = model.kept
    if kept is None:
        return None
    found: dict[tuple[str, tuple[str, ...]], NearRow] = {}
    for number, cosine in kept.nearest(row):
        text, names = kept.texts[number], tuple(model.classes[position] for position in kept.classes_of(number))
        found.setdefault((text, names), NearRow(text, names, cosine))  # equal rows are shown once
        if len(found) == NEAREST_ROWS:
            break
    return tuple(found.values())


# -- parts of the score ----------------------------------------------------------------------------------------------


def _word_parts(model: TextModel, text: str, row: Any, positions: list[int]) -> list[WordPart] | None:
    """Return the parts of the scores, added up by word; None if learner or representation cannot give them."""
    learner = model.classifier.learner
    try:
        spans = find_spans(model.representation, text)
        if spans is None:
            return None
        known = np.asarray(learner.classes_)
        ranks = np.array([[int(np.flatnonzero(known == position)[0]) for position in positions]], np.int32)
        found = _contributions(learner, row, ranks)
        if found is None:
            return None
        return _join(text, _checked_spans(spans, text, row.shape[1]), found.parts)
    except Exception as error:  # code of a plugin can raise any error
        problem = f"{type(error).__name__}: {error}"
        raise ModelError(f"the learner {type(learner).__name__} cannot explain this text: {problem}") from error


def find_spans(representation: Any, text: str) -> NDArray[np.int64] | None:
    """Return the places of features in a text, as `feature_spans` does; None if the representation has no such method.

    A union works if its members do. A chain works if its first step does, and the others keep or select columns.
    """
    from sklearn.pipeline import FeatureUnion, Pipeline  # noqa: PLC0415 (slow to import)

    if isinstance(representation, Pipeline):
        return _spans_of_chain([step for _, step in representation.steps], text)
    if isinstance(representation, FeatureUnion):
        return _spans_of_union([member for _, member in representation.transformer_list], text)
    return representation.feature_spans(text) if hasattr(representation, "feature_spans") else None


def _spans_of_chain(steps: list[Any], text: str) -> NDArray[np.int64] | None:
    spans = find_spans(steps[0], text)
    for step in steps[1:]:
        if spans is None or isinstance(step, OneToOneFeatureMixin):
            continue
        if not hasattr(step, "get_support"):
            return None
        kept = np.asarray(step.get_support(indices=True))
        place = {int(column): number for number, column in enumerate(kept)}
        columns = np.array([place.get(int(column), -1) for column in spans[:, 0]], np.int64)
        spans = np.column_stack([columns, spans[:, 1:]])[columns >= 0]
    return spans


def _spans_of_union(members: list[Any], text: str) -> NDArray[np.int64] | None:
    found, width = [np.empty((0, 3), np.int64)], 0
    for member in members:
        spans = find_spans(member, text)
        if spans is None:
            return None
        found.append(spans + np.array([width, 0, 0]))
        width += member.transform([text]).shape[1]
    return np.concatenate(found)


def _checked_spans(spans: Any, text: str, n_features: int) -> NDArray[np.int64]:
    """Return spans as an array; raise ValueError if they do not fit the text and the features."""
    array = np.asarray(spans, dtype=np.int64).reshape(-1, 3)
    columns, starts, ends = array.T
    within = (columns >= 0) & (columns < n_features) & (starts >= 0) & (starts < ends) & (ends <= len(text))
    if not within.all():
        raise ValueError("feature_spans returned a column or a place that does not exist")
    return array


def _contributions(learner: Any, row: Any, ranks: NDArray[np.int32]) -> Contributions | None:
    """Return the parts of the scores of ranked classes; None if the learner cannot give them."""
    if hasattr(learner, "contributions"):  # no Protocol: some learners have it for some parameters only
        return checked_contributions(learner, row, ranks)
    if hasattr(learner, "coef_") and hasattr(learner, "intercept_"):
        return _linear_contributions(learner, row, ranks)
    return None


def _linear_contributions(learner: Any, row: Any, ranks: NDArray[np.int32]) -> Contributions | None:
    """Return the parts by `coef_` and `intercept_`; None unless they add up to the scores."""
    weights, biases = csr_array(np.atleast_2d(learner.coef_)), np.ravel(learner.intercept_)
    if weights.shape[0] == 1:  # scikit-learn has one vector for two classes
        weights, biases = csr_array(np.vstack([-weights.toarray(), weights.toarray()])), np.append(-biases, biases)
    scores = all_scores(learner, row)
    if scores is None or weights.shape != (scores.shape[1], row.shape[1]) or biases.size != scores.shape[1]:
        return None
    parts = csr_array(weights[ranks[0]] * csr_array(row).toarray())
    bias = biases[ranks]
    is_sum = np.allclose(parts.sum(axis=1) + bias[0], scores[0, ranks[0]], rtol=1e-4, atol=1e-4)
    return Contributions(parts, bias) if is_sum else None


def _join(text: str, spans: NDArray[np.int64], parts: csr_array) -> list[WordPart]:
    """Spread the part of each feature evenly over its characters in the text, and add them up by word."""
    columns, numbers = np.unique(spans[:, 0], return_inverse=True)
    occurrences = np.bincount(numbers)
    values = csr_array(parts)[:, columns].toarray()
    solid = np.array([not character.isspace() for character in text], bool)
    shares, covered = np.zeros((values.shape[0], len(text))), np.zeros(len(text), bool)
    for number, (_, start, end) in zip(numbers.tolist(), spans.tolist(), strict=True):
        own = start + np.flatnonzero(solid[start:end])
        if own.size:
            shares[:, own] += values[:, [number]] / (occurrences[number] * own.size)
            covered[own] = True
    lead = shares[0] - shares[1] if len(shares) > 1 else shares[0]
    found = []
    for start, end in _runs(covered):
        found += _divided(start, end, lead) if end - start > LONGEST_WORD else [(start, end)]
    return _merged(text, found, lambda own: shares[:, own].sum(axis=1))


def _runs(marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return start and end of each run of marks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marks, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _divided(start: int, end: int, lead: Values) -> list[tuple[int, int]]:
    """Return the stretches of a long word whose characters favour the same class."""
    favours = lead[start:end] >= 0
    cuts = [start, *(start + 1 + np.flatnonzero(np.diff(favours))).tolist(), end]
    return list(pairwise(cuts))


def _merged(text: str, spans: list[tuple[int, int]], values_of: Callable[[Any], Values]) -> list[WordPart]:
    """Return the words at these places; equal words are added up."""
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end in spans:
        places.setdefault(text[start:end].casefold(), []).append((start, end))
    words = []
    for found in places.values():
        own = np.concatenate([np.arange(start, end) for start, end in found])
        best, *rival = values_of(own).tolist()
        start, end = found[0]
        words.append(WordPart(text[start:end], tuple(found), best, rival[0] if rival else None))
    return words


# -- leaving words out -----------------------------------------------------------------------------------------------


def _left_out(model: TextModel, text: str, positions: list[int]) -> list[WordPart]:
    """Return for each word by how much the scores fall if it is left out; equal words are left out together."""
    spans = _words_of(text)
    texts: list[str] = [text]

    def leave_out(own: NDArray[np.int64]) -> Values:
        without = np.array(list(text), dtype=object)
        without[own] = ""
        texts.append("".join(without))
        return np.zeros(len(positions))

    words = _merged(text, spans, leave_out)
    values = np.concatenate(list(_values(model, texts, positions)))
    found = []
    for word, fall in zip(words, values[0] - values[1:], strict=True):
        best, *rival = fall.tolist()
        found.append(WordPart(word.text, word.spans, best, rival[0] if rival else None))
    return found


def _words_of(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word, without punctuation around it."""
    spans = []
    for word in re.finditer(r"\S+", text):
        bare = word[0].strip(string.punctuation)
        if bare:
            start = word.start() + word[0].index(bare)
            spans.append((start, start + len(bare)))
    return spans


def _values(model: TextModel, texts: list[str], positions: list[int]) -> Iterator[Values]:
    """Yield the scores of some classes for each text; without scores, 1 for the class that comes first."""
    step = max(1, BLOCK_SCORES // len(model.classes))
    for start in range(0, len(texts), step):
        block = texts[start : start + step]
        answers = model.answer(block, 1)
        if answers.scores is not None:
            yield model.decision_function(block)[:, positions]
        else:
            is_first = answers.positions == np.array(positions)
            yield is_first.astype(np.float64)


# -- as text ---------------------------------------------------------------------------------------------------------


def _lines(found: Explanation) -> Iterator[str]:
    """Yield the lines of an explanation, which fit on a screen."""
    if found.best is None:
        yield "no class: the text has no known words"
    else:
        yield from _table(found, found.best)
    yield from _nearest_lines(found.nearest)


def _table(found: Explanation, best: ExplainedClass) -> Iterator[str]:
    rival = found.rival
    yield f"why {best.name}" + (f", and not {rival.name}" if rival else "")
    names = [best.name] if rival is None else [best.name, rival.name]
    yield _row("", [in_a_line(name, NAME_WIDTH - DOTS) for name in names])
    shown = sorted(found.words, key=lambda word: -abs(word.lead))[:SHOWN_WORDS]
    longest = max((abs(word.lead) for word in shown), default=0.0)
    digits = _digits(found)
    for word in found.words:
        if word in shown:
            yield _row(word.text, _numbers(digits, word.best, word.rival), _bar(word.lead, longest))
    others = [word for word in found.words if word not in shown]
    if others:
        rest = None if rival is None else sum(word.rival or 0.0 for word in others)
        yield _row(f"({len(others)} other words)", _numbers(digits, sum(word.best for word in others), rest))
    if best.bias is not None:
        yield _row("(bias)", _numbers(digits, best.bias, rival.bias if rival else None))
        yield _row("score", _numbers(digits, best.score, rival.score if rival else None))
    elif best.score is None:
        yield "The learner has no scores. The part of a word is 1 if another class comes first without it."
    else:
        yield "Each number is the fall of the score if the word is left out."


def _digits(found: Explanation) -> int:
    """Return the number of decimals that shows the largest part with three digits or more."""
    longest = max((max(abs(word.best), abs(word.rival or 0.0)) for word in found.words), default=0.0)
    return max(2, 2 - floor(log10(longest))) if longest > 0 else 2


def _numbers(digits: int, *values: float | None) -> list[str]:
    return [f"{round(value, digits) + 0.0:+.{digits}f}" for value in values if value is not None]


def _row(head: str, cells: list[str], bar: str = "") -> str:
    columns = [in_a_line(head, WORD_WIDTH - DOTS).ljust(WORD_WIDTH), *(cell.rjust(NAME_WIDTH) for cell in cells), bar]
    return "  ".join(columns).rstrip()


def _bar(lead: float, longest: float) -> str:
    """Return a bar as long as what a word adds to the lead; it is made of - where the word favours the rival."""
    length = round(BAR_WIDTH * abs(lead) / longest) if longest else 0
    return ("+" if lead > 0 else "-") * length


def _nearest_lines(nearest: tuple[NearRow, ...] | None) -> Iterator[str]:
    yield ""
    if nearest is None:
        yield "nearest training rows: not in this model. `harness fit ... --keep-rows` keeps them."
        return
    yield "nearest training rows, by cosine:" if nearest else "nearest training rows: none has a word of the text"
    for row in nearest:
        names = in_a_line(", ".join(row.classes), NAME_WIDTH - DOTS)
        yield f"{row.cosine:.2f}  {names.ljust(NAME_WIDTH)}  {in_a_line(row.text, 56)}"


# -- as HTML ---------------------------------------------------------------------------------------------------------

BEST_COLOUR, RIVAL_COLOUR = "33, 113, 181", "217, 95, 14"
"""Blue for words that favour the class, orange for those that favour the rival."""
CELL = "padding: 0 0.8em; text-align: "


def _html(found: Explanation) -> str:
    parts = [f'<p style="white-space: pre-wrap">{_highlighted(found)}</p>']
    if found.best is None:
        parts.append("<p>No class: the text has no known words.</p>")
    else:
        parts.append(_html_table(found, found.best))
    if found.nearest is None:
        parts.append("<p>The model does not keep its training rows: fit it with keep_rows=True.</p>")
    else:
        rows = [[f"{row.cosine:.2f}", ", ".join(row.classes), row.text] for row in found.nearest]
        parts.append(_as_table(["cosine", "class", "nearest training row"], rows))
    return "".join(parts)


def _highlighted(found: Explanation) -> str:
    """Return the text, with each word in the colour of the class that it favours."""
    longest = max((abs(word.lead) for word in found.words), default=0.0) or 1.0
    spans = sorted((start, end, word.lead) for word in found.words for start, end in word.spans)
    pieces, done = [], 0
    for start, end, lead in spans:
        colour = BEST_COLOUR if lead > 0 else RIVAL_COLOUR
        style = f"background: rgba({colour}, {0.6 * abs(lead) / longest:.2f})"
        pieces.append(escape(found.text[done:start]))
        pieces.append(f'<span style="{style}" title="{lead:+.3g}">{escape(found.text[start:end])}</span>')
        done = end
    return "".join(pieces) + escape(found.text[done:])


def _html_table(found: Explanation, best: ExplainedClass) -> str:
    rival, digits = found.rival, _digits(found)
    head = ["", best.name] if rival is None else ["", best.name, rival.name]
    rows = [[word.text, *_numbers(digits, word.best, word.rival)] for word in found.words]
    if best.bias is not None:
        rows.append(["(bias)", *_numbers(digits, best.bias, rival.bias if rival else None)])
        rows.append(["score", *_numbers(digits, best.score, rival.score if rival else None)])
    note = "" if best.bias is not None else "<p>Each number is the fall if the word is left out.</p>"
    confidence = "" if found.confidence is None else f"<p>Confidence {found.confidence:.2f}</p>"
    return f"{confidence}{_as_table(head, rows)}{note}"


def _as_table(head: list[str], rows: list[list[str]]) -> str:
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = [f"<tr>{cells}</tr>"]
    for row in rows:
        cells = "".join(f'<td style="{CELL}left">{escape(cell)}</td>' for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"
