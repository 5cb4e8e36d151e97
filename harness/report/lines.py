"""Group records into lines: a line has the trials of one configured learner on one prepared dataset.

All tables, figures and tests start from lines, and therefore group trials in the same way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.host.contract import KINDS, MetricSpec
from harness.stats import (
    USUAL_RATIO,
    AverageRanks,
    PairedValues,
    Summary,
    average_ranks,
    correction_ratio,
    pair_trials,
    summarise,
)
from harness.syntax.expression import describe_params
from harness.text import counted

if TYPE_CHECKING:
    from harness.records.record import CurvePoint, Record
    from harness.syntax.split import Split


# -- types -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Configuration:
    """A learner with its parameters. Trials of one configuration on the same data differ by chance alone."""

    label: str
    learner: str
    params_text: str
    origin: str
    tuned: str
    representation: str
    packages: tuple[tuple[str, str], ...]
    """Packages of the learner's own environment with their versions."""
    params: Mapping[str, Any] = field(compare=False)
    """Parameters that were set, without a random_state that follows the seed; `params_text` describes them."""

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Texts that distinguish configurations with the same label, apart from packages."""
        return self.learner, self.params_text, self.origin, self.tuned, self.representation

    def without(self, name: str) -> Configuration:
        """Return the configuration without one of its parameters."""
        params = {key: value for key, value in self.params.items() if key != name}
        return replace(self, params_text=describe_params(params), params=params)


@dataclass(frozen=True)
class Prepared:
    """A prepared dataset: its name, a fingerprint of its content, and its split."""

    dataset: str
    fingerprint: str
    split: Split


@dataclass(frozen=True)
class Line:
    """Trials that differ by chance alone. Means are taken over the trials of a line and over nothing else."""

    title: str
    """The label, with the differing settings in brackets if a label has several configurations. Unique on a dataset."""
    name: str
    """The title without the representation, for tables that have a column for it."""
    detail: str
    """A description of the prepared dataset: representation, split and numbers of rows, features and classes."""
    configuration: Configuration
    prepared: Prepared
    records: tuple[Record, ...]
    """One record for each seed, in the order of seeds; never empty."""

    @property
    def label(self) -> str:
        """The learner's name in tables, such as pa(C=0.1)."""
        return self.records[0].label

    @property
    def family(self) -> str:
        """The label without the values of a grid: pa for pa(C=0.1)."""
        return self.records[0].family

    @property
    def representation(self) -> str:
        return self.configuration.representation

    @property
    def preparation(self) -> str:
        """Representation and split as text."""
        return f"{self.representation}, {self.prepared.split}"

    @property
    def params(self) -> Mapping[str, Any]:
        return self.configuration.params

    @property
    def kind(self) -> str:
        """Flat, tree or other."""
        return self.records[0].learner_kind

    @property
    def dataset(self) -> str:
        return self.prepared.dataset

    @property
    def dataset_family(self) -> str:
        """The name of the dataset without the values of a grid."""
        return self.records[0].dataset_family

    @cached_property
    def finished(self) -> tuple[Record, ...]:
        """The trials that did not fail."""
        return tuple(record for record in self.records if record.status == "ok")

    def values(self, metric: str) -> dict[int, float]:
        """Return a metric's value in each finished trial by seed. Trials with the same seed are paired."""
        found = {}
        for record in self.finished:
            value = record.scores.get(metric)
            if value is not None and math.isfinite(value):
                found[record.seed] = value
        return found

    def summary(self, metric: str, seeds: Collection[int] | None = None) -> Summary | None:
        """Return mean and spread of a metric over all trials or over some seeds; None if no trial has a value.

        Parameters
        ----------
        metric : str
            Name of the metric.
        seeds : collection of int, optional
            Seeds of the trials to use; by default all.
        """
        values = self.values(metric)
        if seeds is not None:
            values = {seed: value for seed, value in values.items() if seed in seeds}
        return summarise(list(values.values()))

    @property
    def curve_points(self) -> list[CurvePoint]:
        """The measurements after each pass, of all finished trials."""
        points: list[CurvePoint] = []
        for record in self.finished:
            points += record.curve
        return points


# -- records to lines ------------------------------------------------------------------------------------------------


def group_records(records: Iterable[Record]) -> list[Line]:
    """Return the lines of some records, in the order of the records, dataset by dataset."""
    by_data: dict[Prepared, list[Record]] = {}
    for record in records:
        by_data.setdefault(_prepared_of(record), []).append(record)
    details = _describe_data(by_data)
    trials: dict[tuple[Prepared, Configuration], list[Record]] = {}
    for prepared, members in by_data.items():
        fixed = _fixed_states(members)
        for record in members:
            configuration = _configuration_of(record, _own_params(record, fixed))
            trials.setdefault((prepared, configuration), []).append(record)
    titles = _title_all(trials)
    names = _title_all(dict.fromkeys((prepared, _unrepresented(made)) for prepared, made in trials))
    lines = []
    for (prepared, made), members in trials.items():
        name = names[_unrepresented(made)]
        lines.append(Line(titles[made], name, details[prepared], made, prepared, _one_a_seed(members)))
    return lines


def title_configurations(configurations: Iterable[Configuration]) -> dict[Configuration, str]:
    """Return a title for each configuration.

    The title is the label. If a label has several configurations, the settings that differ follow in brackets.
    """
    by_label: dict[str, list[Configuration]] = {}
    for configuration in dict.fromkeys(configurations):
        by_label.setdefault(configuration.label, []).append(configuration)
    titles = {}
    for label, alike in by_label.items():
        differing, shared = _differing_places(alike), _shared_packages(alike)
        for configuration in alike:
            words = [configuration.descriptions[place] for place in differing]
            # An environment has dozens of packages: only those that differ are named.
            words += [f"{name} {version}" for name, version in configuration.packages if (name, version) not in shared]
            titles[configuration] = f"{label} [{'; '.join(words)}]" if words else label
    return titles


def flat_first(lines: Iterable[Line]) -> list[Line]:
    """Return lines in the order of tables: flat learners before trees, otherwise in their given order."""
    return sorted(lines, key=_place_of_kind)


def lines_by_dataset(lines: Iterable[Line]) -> dict[Prepared, list[Line]]:
    """Return the lines of each prepared dataset; only lines of one prepared dataset may be compared."""
    found: dict[Prepared, list[Line]] = {}
    for line in lines:
        found.setdefault(line.prepared, []).append(line)
    return found


def has_several_representations(lines: Iterable[Line]) -> bool:
    """Return whether some dataset has lines with different representations."""
    seen: dict[Prepared, set[str]] = {}
    for line in lines:
        seen.setdefault(line.prepared, set()).add(line.representation)
    return any(len(of_one) > 1 for of_one in seen.values())


# -- lines that are compared -----------------------------------------------------------------------------------------


def pair_values(first: Line, second: Line, metric: MetricSpec) -> PairedValues:
    """Return the values of two lines in the trials that both finished, negated if lower is better.

    Parameters
    ----------
    first, second : Line
        Two learners on the same prepared dataset.
    metric : MetricSpec
        The metric. If lower is better, values are negated.
    """
    higher = metric.direction == "higher"
    return pair_trials(first.values(metric.name), second.values(metric.name), higher=higher)


def shared_seeds(competitors: Iterable[Line], *metrics: str) -> frozenset[int]:
    """Return the seeds for which every line has a value of all these metrics.

    Lines without any such seed are ignored: a learner that failed in every trial must not remove the trials of others.

    Parameters
    ----------
    competitors : iterable of Line
        Learners on the same prepared dataset.
    *metrics : str
        Names of the metrics that a trial needs values of.
    """
    shared: frozenset[int] | None = None
    for line in competitors:
        seeds = frozenset.intersection(*(frozenset(line.values(metric)) for metric in metrics))
        if seeds:
            shared = seeds if shared is None else shared & seeds
    return shared or frozenset()


def correction_ratio_of(lines: Iterable[Line]) -> float:
    """Return the ratio for the corrected t-test, from the first finished trial that records its numbers of rows."""
    for line in lines:
        for record in line.finished:
            if record.n_train and record.n_test:
                return correction_ratio(record.n_train, record.n_test, folds=bool(record.split.folds))
    return USUAL_RATIO


def rank_learners(lines: Iterable[Line], metric: MetricSpec) -> AverageRanks:
    """Return the average ranks of learners by their mean on each dataset that all of them finished.

    On each dataset, means are over the trials that all learners have. Datasets of one family, such as subsamples,
    count as one, and so does a dataset that was prepared in several ways.

    Raises
    ------
    HarnessError
        If fewer than two learners or fewer than two datasets remain.
    """
    ordered = flat_first(lines)
    seeds = {prepared: shared_seeds(found, metric.name) for prepared, found in lines_by_dataset(ordered).items()}
    means: dict[str, dict[str, float]] = {}
    families: dict[str, str] = {}
    for line in ordered:
        on_data = means.setdefault(line.title, {})
        dataset = f"{line.dataset} ({line.detail})"
        families[dataset] = line.dataset_family
        found = line.summary(metric.name, seeds[line.prepared])
        if found is not None:
            on_data[dataset] = found.mean
    try:
        return average_ranks(means, higher=metric.direction == "higher", families=families)
    except ValueError as error:
        raise HarnessError(
            f"no average ranks by {metric.name}: {error}", next_step=_describe_incomplete(means)
        ) from None


def notices_of(record: Record) -> list[str]:
    """Return the learner's warnings, and a notice for each tuned value at the edge of its grid."""
    edges = [f"tuning chose the edge of its grid, {choice}" for choice in edge_choices(record)]
    return [*record.warnings, *edges]


def _describe_incomplete(means: Mapping[str, Mapping[str, float]]) -> str:
    """Return which learners lack a dataset, and so remove it from the ranking; empty if there are none."""
    everywhere: set[str] = set()
    for on_data in means.values():
        everywhere.update(on_data)
    lacking = [title for title, on_data in means.items() if len(on_data) < len(everywhere)]
    if not lacking:
        return ""
    names = ", ".join(lacking)
    return f"Leave out learners without a result on all datasets: {names} (`table --where`, `plot --learners`)."


def edge_choices(record: Record) -> list[str]:
    """Return the tuned values that are the smallest or largest of three or more candidates, as texts."""
    found = []
    for name, chosen in sorted(record.tuned.items()):
        tried = {candidate.params.get(name) for candidate in record.tuning if candidate.is_tried}
        numbers = sorted(value for value in tried if isinstance(value, int | float) and not isinstance(value, bool))
        if len(numbers) >= 3 and chosen in (numbers[0], numbers[-1]):
            found.append(f"{name}={chosen} of {numbers[0]} to {numbers[-1]}")
    return found


def _place_of_kind(line: Line) -> int:
    return KINDS.index(line.kind)


def _one_a_seed(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return one record for each seed, in the order of seeds; the last record of a seed counts."""
    by_seed = {record.seed: record for record in sorted(records, key=attrgetter("seed"))}
    return tuple(by_seed.values())


# -- configurations --------------------------------------------------------------------------------------------------


def _configuration_of(record: Record, params: Mapping[str, Any]) -> Configuration:
    return Configuration(
        label=record.label,
        learner=record.learner,
        params_text=describe_params(params),
        origin=_describe_origin(record),
        tuned=_describe_tuning(record),
        representation=record.representation,
        packages=tuple(sorted(record.packages.items())),
        params=params,
    )


def _describe_origin(record: Record) -> str:
    version = f"{record.learner_distribution} {record.learner_version}"
    return f"{version}, code {record.code}" if record.code else version


def _describe_tuning(record: Record) -> str:
    """Describe the requested tuning; for older records, which lack it, describe the candidates that were tried."""
    if record.to_tune:
        return record.to_tune
    names: set[str] = set()
    for candidate in record.tuning:
        names.update(candidate.params)
    if not names:
        return "not tuned"
    return f"tuned {', '.join(sorted(names))}, {counted(len(record.tuning), 'candidate')}"


def _unrepresented(configuration: Configuration) -> Configuration:
    return replace(configuration, representation="")


def _fixed_states(records: Sequence[Record]) -> set[tuple[str, str]]:
    """Return label and random_state of records whose random_state differs from the seed: there the user set it."""
    fixed = set()
    for record in records:
        state = record.params.get("random_state", record.seed)
        if state != record.seed:
            fixed.add((record.label, repr(state)))
    return fixed


def _own_params(record: Record, fixed: set[tuple[str, str]]) -> dict[str, Any]:
    params = dict(record.params)
    if (record.label, repr(params.get("random_state"))) not in fixed:
        params.pop("random_state", None)
    return params


def _title_all(found: Iterable[tuple[Prepared, Configuration]]) -> dict[Configuration, str]:
    """Return titles over all datasets; a learner has the same title on each.

    A label with one configuration on every dataset is a title by itself, even if parameters differ by dataset.
    """
    titles: dict[Configuration, str] = {}
    seen: set[tuple[Prepared, str]] = set()
    ambiguous: set[str] = set()
    for prepared, configuration in found:
        titles[configuration] = configuration.label
        if (prepared, configuration.label) in seen:
            ambiguous.add(configuration.label)
        seen.add((prepared, configuration.label))
    return titles | title_configurations(one for one in titles if one.label in ambiguous)


def _shared_packages(configurations: list[Configuration]) -> set[tuple[str, str]]:
    return set.intersection(*(set(configuration.packages) for configuration in configurations))


def _differing_places(configurations: list[Configuration]) -> list[int]:
    """Return the places of `descriptions` in which some configurations differ."""
    columns = zip(*(configuration.descriptions for configuration in configurations), strict=True)
    return [place for place, words in enumerate(columns) if len(set(words)) > 1]


# -- prepared datasets -----------------------------------------------------------------------------------------------


def _prepared_of(record: Record) -> Prepared:
    return Prepared(record.dataset, record.fingerprint, record.split)


def _describe_data(by_data: Mapping[Prepared, Sequence[Record]]) -> dict[Prepared, str]:
    """Return a description of each prepared dataset, with the fingerprint if descriptions would be equal."""
    details = {prepared: _describe_prepared(prepared, members) for prepared, members in by_data.items()}
    counts = Counter((prepared.dataset, detail) for prepared, detail in details.items())
    for prepared, detail in details.items():
        if counts[prepared.dataset, detail] > 1:
            details[prepared] = f"{detail}; data {prepared.fingerprint[:8]}"
    return details


def _describe_prepared(prepared: Prepared, records: Sequence[Record]) -> str:
    seen = list(dict.fromkeys(record.representation for record in records))
    parts = [f"{seen[0]}, {prepared.split}" if len(seen) == 1 else str(prepared.split)]
    sized = next((record for record in records if record.status == "ok"), None)
    if sized is not None:
        sizes = [f"{sized.n_train or 0:,} training and {counted(sized.n_test or 0, 'test row')}"]
        if len(seen) == 1:  # with several representations, the number of features differs
            sizes.append(counted(sized.n_features or 0, "feature"))
        sizes.append(counted(sized.n_classes or 0, "class"))
        parts.append(", ".join(sizes))
    params = records[0].dataset_params
    if params:
        parts.append(", ".join(f"{name}={value}" for name, value in params.items()))
    return "; ".join(parts)
