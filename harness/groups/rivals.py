"""Lines that meet: which may be compared, in which trials, and who comes before whom over several data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.groups.grouping import flat_first
from harness.groups.line import Line, Prepared
from harness.stats import USUAL_RATIO, AverageRanks, PairedValues, average_ranks, pair_trials


def rivals_by_data(lines: Iterable[Line]) -> dict[Prepared, list[Line]]:
    """The lines that may be compared: those on one data set, prepared alike."""
    found: dict[Prepared, list[Line]] = {}
    for line in lines:
        found.setdefault(line.prepared, []).append(line)
    return found


def pair_values(first: Line, second: Line, metric: MetricSpec) -> PairedValues:
    """Both lines' values in the trials that both finished, turned so that larger is better."""
    higher = metric.direction == "higher"
    return pair_trials(first.values(metric.name), second.values(metric.name), higher=higher)


def shared_seeds(rivals: Iterable[Line], *metrics: str) -> frozenset[int]:
    """The trials in which all rivals that have these metrics at all have them: only these compare like with like."""
    shared: frozenset[int] | None = None
    for line in rivals:
        seeds = frozenset.intersection(*(frozenset(line.values(metric)) for metric in metrics))
        if seeds:
            shared = seeds if shared is None else shared & seeds
    return shared or frozenset()


def held_out_ratio(lines: Iterable[Line]) -> float:
    """Test rows by training rows, as the first finished trial has them; the usual ratio where none tells."""
    for line in lines:
        for record in line.finished:
            if record.n_train and record.n_test:
                return record.n_test / record.n_train
    return USUAL_RATIO


def rank_learners(lines: Iterable[Line], metric: MetricSpec) -> AverageRanks:
    """The average ranks of learners by their mean on each data set, over the data sets that all of them finished.

    On each data set the trials count that all learners have. Data sets of one family, such as subsamples of one, and
    one data set prepared in several ways count as a single one.
    """
    ordered = flat_first(lines)
    seeds = {prepared: shared_seeds(rivals, metric.name) for prepared, rivals in rivals_by_data(ordered).items()}
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
        raise HarnessError(f"{metric.name}: no average ranks: {error}{_tell_lacking(means)}") from None


def _tell_lacking(means: Mapping[str, Mapping[str, float]]) -> str:
    """Who has no value on a data set that another one has one on, and so takes it from all."""
    everywhere: set[str] = set()
    for on_data in means.values():
        everywhere.update(on_data)
    lacking = [title for title, on_data in means.items() if len(on_data) < len(everywhere)]
    if not lacking:
        return ""
    return f"; not on all data sets: {', '.join(lacking)} (--learners names those to rank)"
