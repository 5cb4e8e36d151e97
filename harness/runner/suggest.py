"""`harness suggest`: suggest learners for a dataset, from measurements on similar datasets that plugins provide."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from harness.data.arrays import Header, open_dataset
from harness.data.inventory import DataProfile, profile_of
from harness.environments import State, environment_for
from harness.errors import HarnessError, SpecError
from harness.experiment.load import resource_path
from harness.experiment.python import describe_data
from harness.experiment.references import parse_dataset
from harness.experiment.resolve import preparer, resolve_dataset
from harness.host.catalog import Catalog
from harness.host.contract import LearnerSpec
from harness.host.discovery import Session, make_session
from harness.syntax.expression import parse

NEAREST = 3
"""Number of similar datasets that are named."""
PROPOSALS = 3
"""Number of learners that are proposed."""
SCALE = 3.0
"""Distance at which the weight of a dataset has fallen to 1/e."""
WORST = 0.05
"""Loss of R1 that counts where a learner failed, and the largest that counts: a learner that is further behind is no
better as a proposal than a learner that failed."""
UNTRIED = 0.02
"""Loss of R1 added to the mean of a learner where it was not run, for instance without a taxonomy."""
UNLIKE = math.log(10)
"""The distance between texts and numbers; the same as that between datasets with n and 10 n rows."""


@dataclass(frozen=True)
class Facts:
    """Properties of a dataset that are known before any training."""

    rows: int
    classes: int
    features_a_row: float | None
    """Mean number of non-zero features in a row; None for texts."""
    letters: float | None
    """Mean length of a text in bytes; None for rows of numbers."""
    multilabel: bool = False


@dataclass(frozen=True)
class Cost:
    """R1 and the times of a learner, as means over trials."""

    r1: float
    train_seconds: float
    """Processor time of one training."""
    answer_seconds: float
    """Time to predict one row."""


@dataclass(frozen=True)
class Measurement:
    """The measurement of a learner on one dataset."""

    dataset: str
    facts: Facts
    learner: str
    expression: str
    """The learner with the parameters that tuning chose on this dataset."""
    cost: Cost | None
    """None if the learner failed."""


@dataclass(frozen=True)
class Proposal:
    """A suggested learner, the reason, and its expected costs."""

    learner: str
    expression: str
    """The learner with the parameters that tuning chose on `dataset`."""
    reason: str
    dataset: str
    """The dataset most similar to the data, of those that the learner was measured on."""
    r1: float
    """R1 on `dataset`."""
    behind: float
    """Expected difference to the highest R1, at most `WORST`: the mean over datasets, weighted by similarity."""
    train_seconds: float
    """Expected time of one training: the time on `dataset`, scaled by the number of rows."""
    answer_seconds: float


def distance(one: Facts, other: Facts) -> float:
    """Return the distance of two datasets: the sum of log ratios of rows, classes and length of rows.

    Examples
    --------
    >>> numbers = Facts(rows=1000, classes=10, features_a_row=20.0, letters=None)
    >>> distance(numbers, numbers)
    0.0
    """
    apart = abs(math.log(one.rows / other.rows)) + abs(math.log(one.classes / other.classes))
    for length, its in ((one.letters, other.letters), (one.features_a_row, other.features_a_row)):
        if (length is None) != (its is None):
            apart += UNLIKE / 2
        elif length and its:
            apart += abs(math.log(length / its))
    return apart


def unlikeness(facts: Facts, other: Facts) -> float:
    """Return the distance of two datasets, larger by `UNLIKE` if only one of them has several labels a row."""
    return distance(facts, other) + UNLIKE * (facts.multilabel != other.multilabel)


def nearest_datasets(facts: Facts, measured: Sequence[Measurement]) -> list[str]:
    """Return up to `NEAREST` measured datasets, the most similar first.

    Multi-label data is compared with multi-label datasets only, and single-label data with single-label datasets only,
    unless none of that kind was measured.
    """
    known = {one.dataset: one.facts for one in measured if one.cost is not None}
    alike = [name for name in known if known[name].multilabel == facts.multilabel]
    return sorted(alike or known, key=lambda name: (distance(facts, known[name]), name))[:NEAREST]


def propose(facts: Facts, measured: Sequence[Measurement]) -> list[Proposal]:
    """Return up to three learners: the most accurate, and two that complement it best.

    Every measured dataset counts, by its similarity to the data. A learner that failed on data of this size is not
    proposed. Each further learner is the one with which the best of all proposals loses least.

    Parameters
    ----------
    facts : Facts
        Properties of the data.
    measured : sequence of Measurement
        The measurements of all learners that can run on it.

    Raises
    ------
    HarnessError
        If there are no measurements.
    """
    if not nearest_datasets(facts, measured):
        raise HarnessError("no comparison that was measured has a learner for this data")
    expected = _expected(facts, measured)
    chosen: list[_Expected] = []
    reasons: list[str] = []
    for _ in range(min(PROPOSALS, len(expected))):
        left = [one for one in expected if one not in chosen]
        best = min(left, key=lambda one: (_loss_of_best([*chosen, one]), one.behind))
        reasons.append(_reason_for(best, chosen))
        chosen.append(best)
    quickest = min(range(len(chosen)), key=lambda at: chosen[at].seconds_a_row)
    if len(chosen) > 1:
        reasons[quickest] += ", and the quickest to train"
    return [_proposal(one, facts, reason) for one, reason in zip(chosen, reasons, strict=True)]


def _reason_for(one: _Expected, chosen: Sequence[_Expected]) -> str:
    """Return why a learner is proposed after those chosen before."""
    if not chosen:
        return "the most accurate"
    if _loss_of_best([*chosen, one]) == _loss_of_best(chosen):
        return "the next most accurate"
    return "better where the first is weak" if len(chosen) == 1 else "better where both are weak"


@dataclass(frozen=True)
class _Expected:
    """A learner with its measurement on the most similar dataset, and its loss of R1 on every measured dataset."""

    learner: str
    first: Measurement
    cost: Cost
    """Its costs in `first`."""
    losses: tuple[float, ...]
    """Differences to the highest R1, by dataset, as `WORST` limits them."""
    weights: tuple[float, ...]
    """Similarities of these datasets, which sum to 1."""

    @property
    def behind(self) -> float:
        """The expected loss of R1."""
        return sum(weight * loss for weight, loss in zip(self.weights, self.losses, strict=True))

    @property
    def seconds_a_row(self) -> float:
        """The training time for each row of `first`."""
        return self.cost.train_seconds / self.first.facts.rows


def _loss_of_best(chosen: Sequence[_Expected]) -> float:
    """Return the expected loss of R1 if the best of some learners is taken on every dataset."""
    total = 0.0
    for at, weight in enumerate(chosen[0].weights):
        total += weight * min(one.losses[at] for one in chosen)
    return total


def _expected(facts: Facts, measured: Sequence[Measurement]) -> list[_Expected]:
    """Return the learners that are not expected to fail on the data; all that ever finished if there is no such one."""
    known = {one.dataset: one.facts for one in measured if one.cost is not None}
    near = sorted(known, key=lambda name: (unlikeness(facts, known[name]), name))
    similar = {name: math.exp(-unlikeness(facts, known[name]) / SCALE) for name in near}
    weights = tuple(similar[name] / sum(similar.values()) for name in near)
    highest = {name: max(one.cost.r1 for one in measured if one.dataset == name and one.cost) for name in near}
    own: dict[str, dict[str, Measurement]] = {}
    failed: set[tuple[str, str]] = set()
    failing = set()
    for one in measured:
        if one.cost is not None:
            own.setdefault(one.learner, {})[one.dataset] = one
            continue
        failed.add((one.learner, one.dataset))
        if _work(one.facts) <= _work(facts):
            failing.add(one.learner)
    expected = []
    for learner in [name for name in own if name not in failing] or list(own):
        ran = own[learner]
        lost = {name: min(highest[name] - one.cost.r1, WORST) for name, one in ran.items() if one.cost}
        first = next(ran[name] for name in near if name in ran)
        assert first.cost is not None
        mean = sum(similar[name] * loss for name, loss in lost.items()) / sum(similar[name] for name in lost)
        untried = min(mean + UNTRIED, WORST)
        losses = tuple(lost.get(name, WORST if (learner, name) in failed else untried) for name in near)
        expected.append(_Expected(learner, first, first.cost, losses, weights))
    return expected


def _work(facts: Facts) -> float:
    """Return the work of training on data, for comparison: rows times classes times the length of a row."""
    return facts.rows * facts.classes * (facts.features_a_row or facts.letters or 1)


def _proposal(one: _Expected, facts: Facts, reason: str) -> Proposal:
    rows = facts.rows / one.first.facts.rows
    return Proposal(
        learner=one.learner,
        expression=one.first.expression,
        reason=reason,
        dataset=one.first.dataset,
        r1=one.cost.r1,
        behind=one.behind,
        train_seconds=one.cost.train_seconds * rows,
        answer_seconds=one.cost.answer_seconds,
    )


TRIALS = 3
"""Number of trials in the suggested command; enough to show a spread."""
SEVERAL = "several"
"""The value of column `labels` for multi-label data in a file of measurements."""
REPRESENTATIONS = ("words", "chars")
"""Representations of texts in the suggested command, the same as in the measurements."""


@dataclass(frozen=True)
class Suggestions:
    """Suggested learners for a dataset, and the measured datasets that are most similar to it."""

    data: str
    facts: Facts
    nearest: tuple[str, ...]
    apart: float
    """The distance of the first of them."""
    proposals: tuple[Proposal, ...]
    to_build: tuple[str, ...] = ()
    """Proposed learners whose environment is not built yet; `command` or `harness env build` builds it."""

    @property
    def is_guess(self) -> bool:
        """True if no measured dataset is similar enough for a reliable suggestion."""
        return self.apart > UNLIKE

    @property
    def command(self) -> str:
        """The command that compares the suggested learners on the dataset."""
        learners = ",".join(proposal.expression for proposal in self.proposals)
        command = f'harness run --learners "{learners}" --data "{self.data}" --trials {TRIALS}'
        if self.facts.letters is None:
            return command
        return f'{command} --tune "representation=[{",".join(REPRESENTATIONS)}]"'

    @property
    def command_seconds(self) -> float:
        """The expected training time of the command, with tuning of the representation."""
        trainings = TRIALS if self.facts.letters is None else TRIALS * (len(REPRESENTATIONS) + 1)
        return trainings * sum(proposal.train_seconds for proposal in self.proposals)


def suggest(
    data: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
) -> Suggestions:
    """Suggest up to three learners for a dataset, with their expected costs.

    Parameters
    ----------
    data : str, path, pair or data frame
        One dataset, as `harness.run` takes it.
    text : str, optional
        Read texts from this column.
    label : str, optional
        Read labels from this column.
    plugins_dirs : list of str or path, optional
        Also load the plugins in these folders.
    disabled_plugins : list of str, optional
        Ignore these plugins or distributions.

    Returns
    -------
    Suggestions
        `proposals` has the learners, and `command` the command that compares them.

    Examples
    --------
    >>> import harness
    >>> print(harness.suggest("digits").command)  # doctest: +SKIP
    """
    described = describe_data(data, text=text, label=label)
    names = [described] if isinstance(described, str) else described
    if len(names) != 1:
        raise SpecError(f"learners are suggested for one dataset at a time, and {len(names)} were given")
    return suggest_for(names[0], make_session(plugins_dirs, disabled_plugins))


def suggest_for(data: str, session: Session) -> Suggestions:
    """Return suggestions for the dataset that an expression names; raise HarnessError without measurements."""
    header = preparer(session)(resolve_dataset(parse_dataset(data), session.catalog))
    able = {entry.spec.name for entry in session.catalog.learners if _can_take(entry.spec, header)}
    able -= {name for name in able if _state(name, session.catalog) == "cannot"}
    measured = [one for one in read_measured(session.catalog) if parse(one.learner).name in able]
    if not measured:
        raise HarnessError("no installed plugin brings measurements of learners that can take this data")
    facts = facts_of(header)
    proposals = tuple(propose(facts, measured))
    nearest = nearest_datasets(facts, measured)
    apart = next(distance(facts, one.facts) for one in measured if one.dataset == nearest[0])
    names = [parse(proposal.learner).name for proposal in proposals]
    to_build = tuple(name for name in names if _state(name, session.catalog) == "can be built")
    return Suggestions(data, facts, tuple(nearest), apart, proposals, to_build)


def facts_of(header: Header) -> Facts:
    """Return the properties of a dataset that decide its distance to others."""
    return Facts(
        rows=header.rows,
        classes=header.classes,
        features_a_row=None if header.nonzeros is None else header.nonzeros / header.rows,
        letters=None if header.text_bytes is None else header.text_bytes / header.rows,
        multilabel=header.multilabel,
    )


def _can_take(spec: LearnerSpec, header: Header) -> bool:
    """Return whether the learner can run on the data, as far as the header shows."""
    if header.multilabel and "multilabel" not in spec.supports:
        return False
    if "taxonomy" in spec.needs and header.taxonomy_depth is None:
        return False
    return not ("nonnegative" in spec.needs and header.negative)


def _state(name: str, catalog: Catalog) -> State:
    """Return the state of the environment of a learner."""
    environment = environment_for(catalog.learner(name).spec.environment)
    return "ready" if environment is None else environment.state()[0]


def read_measured(catalog: Catalog) -> list[Measurement]:
    """Return the measurements of all registered experiments."""
    measured: list[Measurement] = []
    for entry in catalog.experiments:
        if entry.spec.measured:
            measured += read_measurements(resource_path(entry.spec.measured))
    return measured


def read_measurements(path: Path) -> list[Measurement]:
    """Return the measurements in a CSV file, one for each line."""
    with path.open(encoding="utf-8", newline="") as file:
        return [_measurement(row) for row in csv.DictReader(file)]


def _measurement(row: Mapping[str, str]) -> Measurement:
    facts = Facts(
        rows=int(row["rows"]),
        classes=int(row["classes"]),
        features_a_row=float(row["features_a_row"]) if row["features_a_row"] else None,
        letters=float(row["letters"]) if row["letters"] else None,
        multilabel=row.get("labels") == SEVERAL,
    )
    cost = None
    if row["r1"]:  # a failed learner has no costs
        cost = Cost(float(row["r1"]), float(row["train_seconds"]), float(row["answer_seconds"]))
    return Measurement(row["dataset"], facts, row["learner"], row.get("expression") or row["learner"], cost)


__all__ = ["DataProfile", "profile_data"]


def profile_data(
    data: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
) -> DataProfile:
    """Return counts of rows, classes, repeated texts and lengths of a dataset.

    Parameters
    ----------
    data : str, path, pair or data frame
        One dataset, as `harness.run` takes it.
    text, label : str, optional
        The columns with texts and labels.
    plugins_dirs : list of str or path, optional
        Also load the plugins in these folders.
    disabled_plugins : list of str, optional
        Ignore these plugins or distributions.
    """
    session = make_session(plugins_dirs, disabled_plugins)
    described = describe_data(data, text=text, label=label)
    names = [described] if isinstance(described, str) else described
    if len(names) != 1:
        raise SpecError(f"one dataset is profiled at a time, and {len(names)} were given: {', '.join(names)}")
    header = preparer(session)(resolve_dataset(parse_dataset(names[0]), session.catalog))
    return profile_of(open_dataset(Path(header.folder)))
