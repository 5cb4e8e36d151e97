"""Which learner, as set up, meets which data set: grids of parameters, `on`, and pairs that cannot run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.contract import LearnerSpec
from harness.errors import SpecError
from harness.experiment.representations import Representation, tell_unfit
from harness.experiment.resolve import Resolved, ResolvedDataset, ResolvedLearner
from harness.experiment.schema import MOST_TRIALS
from harness.label import Label, grid_label
from harness.params import Params
from harness.signature import REQUIRED

if TYPE_CHECKING:
    from harness.data.arrays import Header  # brings scipy, which planning does without


NO_TAXONOMY = "has no taxonomy, which the learner needs"


@dataclass(frozen=True)
class Pair:
    """A learner with its parameters, and a data set that it is meant to run on."""

    learner: ResolvedLearner
    label: Label
    params: Params
    dataset: str
    representation: Representation | None
    """What the learner sees of the data; None for the texts as they are."""
    tried: tuple[Representation, ...] = ()
    """Where tuning chooses what it sees: from these, the first of which stands for all of them until then."""
    trouble: str = ""
    """What about the data the learner cannot take; such a pair has no trials."""


def pairs_on(dataset: ResolvedDataset, header: Header, resolved: Resolved) -> list[Pair]:
    """Every learner, as set up, that is meant to run on a data set: those whose `on` does not leave it out."""
    pairs = []
    for learner in resolved.learners:
        if learner.ref.on is not None and dataset.name not in learner.ref.on:
            continue
        for label, params in _set_ups(learner, dataset.name):
            spec = learner.spec_with(params)
            for seen in _seen_by(spec, dataset, has_texts=header.text_bytes is not None):
                tried = dataset.tried if seen is not None else ()
                trouble = next(filter(None, (_incompatible(spec, header, one) for one in tried or (seen,))), "")
                if trouble == NO_TAXONOMY:
                    trouble += _ways_to_a_taxonomy(learner, dataset)
                pairs.append(Pair(learner, label, params, dataset.name, seen, tried, trouble))
    return pairs


def check_size(resolved: Resolved) -> None:
    """SpecError where there are more trials than can be planned: before any of them is."""
    total = 0
    for dataset in resolved.datasets:
        for learner in resolved.learners:
            grid = _grid(_params_on(learner, dataset.name))
            ways = len(_seen_by(learner.entry.spec, dataset, has_texts=False))
            total += math.prod(map(len, grid.values())) * ways * resolved.experiment.trials
    if total > MOST_TRIALS:
        raise SpecError(
            f"{total:,} trials, and at most {MOST_TRIALS:,} can be run at a time",
            next_step="ask for fewer trials, or for a smaller grid of parameters",
        )


def _seen_by(spec: LearnerSpec, dataset: ResolvedDataset, *, has_texts: bool) -> tuple[Representation | None, ...]:
    """The representations of a data set that a learner meets: none, once, where it takes texts as they are.

    Where one is to be chosen, the first stands for all of them.
    """
    if "text" in spec.needs or ("text" in spec.supports and has_texts):
        return (None,)
    return dataset.tried[:1] or dataset.representations


def tell_incompatible(resolved: Resolved, headers: Mapping[str, Header]) -> tuple[str, ...]:
    """A line for all learners that cannot run on the same of their data sets, with the reason and the next step."""
    datasets: dict[tuple[str, str], list[str]] = {}
    for dataset in resolved.datasets:
        for pair in pairs_on(dataset, headers[dataset.name], resolved):
            if pair.trouble:
                datasets.setdefault((pair.label.text, pair.trouble), []).append(pair.dataset)
    learners: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (label, trouble), where in datasets.items():
        learners.setdefault((trouble, tuple(where)), []).append(label)
    return tuple(_tell(labels, where, trouble) for (trouble, where), labels in learners.items())


def _tell(labels: Sequence[str], datasets: Sequence[str], trouble: str) -> str:
    who = ", ".join(map(repr, labels))
    names = ", ".join(map(repr, datasets))
    learners = "learner" if len(labels) == 1 else "learners"
    where = f"data set {names}: it" if len(datasets) == 1 else f"data sets {names}: each"
    return (
        f"{learners} {who} cannot run on {where} {trouble}; leave one of them out, or say in an experiment file which "
        "data sets a learner runs on: on = [...] in its [[learners]] table"
    )


def _incompatible(spec: LearnerSpec, header: Header, seen: Representation | None) -> str:
    """Why this learner cannot take this data at all, from what is known before any training."""
    if header.multilabel and "multilabel" not in spec.supports:
        return "has several labels a row, and the learner takes one"
    unfit = _unfit(spec, header, seen)
    if unfit:
        return unfit
    if header.taxonomy_depth is None and "taxonomy" in spec.needs:
        return NO_TAXONOMY
    return ""


def _ways_to_a_taxonomy(learner: ResolvedLearner, dataset: ResolvedDataset) -> str:
    """How a data set or a learner comes by one, as far as they take a parameter for it."""
    ways = ["labels that are paths (Food/Bakery) give one"]
    if "taxonomy" in dataset.params:
        ways.append(f"so does a file of the tree, {dataset.ref.source}(taxonomy=FILE)")
    if "taxonomy" in learner.defaults:
        ways.append(f"{learner.ref.name}(taxonomy=...) makes its own, see `harness explain {learner.ref.name}`")
    return f" ({'; '.join(ways)})"


def _unfit(spec: LearnerSpec, header: Header, seen: Representation | None) -> str:
    """Why the learner cannot take what it would see of the data."""
    if seen is None:
        return "" if header.text_bytes is not None else "has no texts, which the learner needs"
    if "nonnegative" in spec.needs and seen.may_be_negative(header.negative):
        return f"has negative values (representation {seen.name!r}), which the learner forbids"
    return tell_unfit(seen, header)


def _set_ups(learner: ResolvedLearner, dataset: str) -> Iterator[tuple[Label, dict[str, Any]]]:
    """Every combination of the parameters that were given as lists, labelled by those parameters."""
    params = _params_on(learner, dataset)
    _check_complete(learner, params)
    grid = _grid(params)
    for name, values in grid.items():
        if not values:
            raise SpecError(f"learner {learner.ref.label!r}: the list of values for {name!r} is empty")
    for combination in itertools.product(*grid.values()):
        chosen = dict(zip(grid, combination, strict=True))
        yield grid_label(learner.ref.label, chosen), {**params, **chosen}


def _params_on(learner: ResolvedLearner, dataset: str) -> dict[str, Any]:
    return {**learner.ref.params, **learner.ref.by_dataset.get(dataset, {})}


def _grid(params: Params) -> dict[str, list[Any]]:
    """The parameters that were given as lists."""
    return {name: value for name, value in params.items() if isinstance(value, list)}


def _check_complete(learner: ResolvedLearner, params: Params) -> None:
    label, spec = learner.ref.label, learner.entry.spec
    for name, default in learner.defaults.items():
        if default is REQUIRED and name not in params:
            raise SpecError(f"learner {label!r} needs a value for {name!r}: --set {spec.name}.{name}=VALUE")
    if spec.wraps and params.get(spec.wraps) is None:
        raise SpecError(f"learner {label!r} is built round another: say which, as in {spec.name}(NAME)")
