"""Choice of the learners' defaults: trains the grids of benchmarks/defaults.toml and chooses by one rule.

    harness data import NAME FILE     (newsgroups, reuters21578, clinc150, lshtc1-dryrun, wordnet, isolet)
    python benchmarks/defaults.py --raw FOLDER [--learners ooz,pa] [--page-only]

FOLDER holds titles/. Test rows are set aside first and never read; a fifth of the other rows validates the candidates.
Each training runs in a child process with a time limit. Writes results/defaults: `measurements.jsonl`, which a
second call extends by what is missing, the README with the choices, and `measurements.md` with all losses.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sources import represented
from timing import take_one_thread

from harness.data.arrays import open_dataset
from harness.data.split import draw_split
from harness.experiment.references import parse_dataset
from harness.experiment.resolve import preparer, resolve_dataset
from harness.host.contract import Labels, LearnerSpec, Taxonomy
from harness.host.discovery import Session
from harness.host.introspection import import_target
from harness.syntax.split import parse_split

Params = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
PLAN = ROOT / "benchmarks" / "defaults.toml"
MEASUREMENTS = ROOT / "results" / "defaults" / "measurements.jsonl"
MOST_ROWS = 15_000
"""Training rows of a dataset at most; a random sample of larger ones."""
JUDGING = "holdout:0.2"
MOST_SECONDS = 12
"""Limit of the CPU time of a training with its rankings."""
PAGE = MEASUREMENTS.with_name("README.md")
DETAILS_PAGE = MEASUREMENTS.with_name("measurements.md")
TIE = 0.001
"""Mean losses within this difference are a tie."""
OPENING = """\
# Defaults of the learners

Which parameters should be the defaults, if one rule chooses for all learners and no test row may be read?

**One rule chose the defaults of all learners below; they are the signatures' defaults.**

## Set-up

- Nine datasets. Test rows are set aside and never read; a fifth of at most {most_rows:,} other rows validates.
- The grid ([benchmarks/defaults.toml](../../benchmarks/defaults.toml)) has the former default, the values of the paper,
  and values around them: {measurements:,} trainings. One over {most_seconds} s of CPU time counts as R1 0.
- The loss of a candidate on a dataset is the best candidate's R1 minus its own. The smallest mean loss wins; within
  {tie}, the fewest passes, then the smallest index (to two digits), then the smallest loss.

## Findings

{findings}

## Choices

Loss over the datasets, in points of R1: mean, worst. [measurements.md](measurements.md) has the papers' values, and R1
per dataset.
"""
DETAILS = """\
# Defaults of the learners: measurements

The [choice of defaults](README.md) in numbers. `python benchmarks/defaults.py --page-only` draws this page.

## Losses

Mean and worst loss over the datasets, in points of R1. Parameters that a paper does not name are the former defaults;
`-` means that no paper names a value.
"""
LIMITS = """\
## Limits

Not run: larger grids for `crammer-singer`, the hierarchical learners, `shortlist`, `label-tree` and the trees, for want
of time; some choices are at the edge of their grid. Learners that ignore negative features skip Isolet; those that need
a taxonomy skip Isolet and Reuters. The losses of the chosen values are somewhat optimistic, since not everything was
fixed beforehand:

- The grids of `ooz`, `ema` and `hsvm` were extended after their first scores were seen. The former defaults of
  `shortlist` and `label-tree` had been chosen on validation rows of some of these datasets.
- Index sizes count to two digits since `ff` and `ema` would have got d=100 for an index that is 0.1% smaller.
- The first learners had a limit of 30 s. Their trainings took less than the present limit; their rankings were not
  timed.
- The large loss of the former `topdown-perceptron` is one training that exceeded the limit.

## Run it again

```console
$ python benchmarks/defaults.py --raw FOLDER
```

`measurements.jsonl` has one line per training: it is no `records.jsonl`, since these trainings are not trials of a run.
`python benchmarks/defaults.py --page-only` draws this page and [measurements.md](measurements.md)."""


@dataclass(frozen=True)
class Part:
    """Training and validation rows of one draw of a dataset."""

    set_name: str
    draw: int
    X: csr_array
    y: Labels
    X_judging: csr_array
    y_judging: Labels
    taxonomy: Taxonomy | None

    @property
    def has_several_labels(self) -> bool:
        return bool(issparse(self.y))

    @property
    def has_negative(self) -> bool:
        return bool((self.X.data < 0).any())


@dataclass(frozen=True)
class Candidate:
    """A learner with parameters; a training is scored after each number of `passes`."""

    learner: str
    params: Params
    passes: tuple[int, ...]

    def variants(self) -> list[Params]:
        """Return the parameters with each number of passes."""
        if not self.passes:
            return [self.params]
        return [{**self.params, "passes": number} for number in self.passes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, default=Path(), help="folder with titles/")
    parser.add_argument("--learners", help="names, separated by commas; default: all")
    parser.add_argument("--page-only", action="store_true", help="draw the README without training")
    options = parser.parse_args()
    take_one_thread()
    plan = tomllib.loads(PLAN.read_text())
    names = list(plan["learners"])
    if options.learners:
        names = options.learners.split(",")
    if not options.page_only:
        measure(plan, names, options.raw)
    write_page(plan, read_measurements(MEASUREMENTS))


def measure(plan: Mapping[str, Any], names: list[str], raw: Path) -> None:
    """Train each candidate on each suitable dataset, unless it has been measured."""
    session = Session()
    specs = {entry.spec.name: entry.spec for entry in session.catalog.learners}
    parts = [part for entry in plan["sets"] for part in load_parts(entry, session, raw)]
    stand_ins = {entry["name"]: entry["instead_of"] for entry in plan["sets"] if "instead_of" in entry}
    for name in names:
        done = {measurement.key for measurement in read_measurements(MEASUREMENTS)}
        for candidate in candidates_of(name, plan["learners"][name]):
            for part in suiting_parts(specs[name], parts, stand_ins):
                wanted = [Measurement(name, params, part.set_name, part.draw).key for params in candidate.variants()]
                if not done.issuperset(wanted):
                    keep(train_apart(candidate, specs[name], part))


def candidates_of(name: str, entry: Mapping[str, Any]) -> Iterator[Candidate]:
    """Yield all combinations of each grid."""
    for grid in entry["grids"]:
        for values in product(*grid.values()):
            yield Candidate(name, dict(zip(grid, values, strict=True)), tuple(entry.get("passes", ())))


# -- data ------------------------------------------------------------------------------------------------------------


def load_parts(entry: Mapping[str, Any], session: Session, raw: Path) -> Iterator[Part]:
    """Set the test rows aside and split the others, once per draw."""
    source = entry["data"]
    if "/" in source:
        source = str(raw / source)
    dataset = resolve_dataset(parse_dataset(source), session.catalog)
    data = open_dataset(Path(preparer(session)(dataset).folder))
    rows, _ = draw_split(parse_split(entry["split"]), data.rows, 0, data.splits, data.y)
    rows = rows[:MOST_ROWS]  # in random order
    for draw in range(entry.get("draws", 1)):
        train, judging = draw_split(parse_split(JUDGING), rows.size, draw, {})
        train, judging = rows[train], rows[judging]
        X_train, X_judging = represented(data, dataset.representations[0].name, train, judging)
        yield Part(entry["name"], draw, X_train, data.y[train], X_judging, data.y[judging], data.taxonomy)


def suiting_parts(spec: LearnerSpec, parts: list[Part], stand_ins: Mapping[str, str]) -> Iterator[Part]:
    """Yield the parts that a learner supports; of two forms of a dataset, the one with more labels."""
    ignores_negative = getattr(import_target(spec.load), "ignores_not_positive", False)
    suiting = []
    for part in parts:
        takes_labels = "multilabel" in spec.supports or not part.has_several_labels
        has_tree = "taxonomy" not in spec.needs or part.taxonomy is not None
        if takes_labels and has_tree and not (ignores_negative and part.has_negative):
            suiting.append(part)
    found = {part.set_name for part in suiting}
    for part in suiting:
        if stand_ins.get(part.set_name) not in found:
            yield part


# -- training --------------------------------------------------------------------------------------------------------


def train_apart(candidate: Candidate, spec: LearnerSpec, part: Part) -> list[Measurement]:
    """Train in a child process. A measurement that it has not sent when it ends has no R1."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    # A forked process has the data and the compiled learners. This process never trains, so it has no threads.
    process = multiprocessing.get_context("fork").Process(target=train, args=(candidate, spec, part, sender))
    process.start()
    sender.close()
    measurements = []
    for params in candidate.variants():
        try:
            measurements.append(receiver.recv())
        except EOFError:  # over the limit, or failed with a message on stderr
            measurements.append(Measurement(candidate.learner, params, part.set_name, part.draw))
    process.join()
    return measurements


def train(candidate: Candidate, spec: LearnerSpec, part: Part, sender: Connection) -> None:
    """Train, and send a measurement after each requested number of passes."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    fit_arguments: Params = {}
    if "taxonomy" in spec.needs:
        fit_arguments["taxonomy"] = part.taxonomy
    params = candidate.variants()[-1]
    learner = import_target(spec.load)(**params, random_state=0)
    begun, apart = time.process_time(), 0.0

    def send(params: Params) -> None:
        nonlocal apart
        stopped = time.process_time()
        r1, r5 = recalls(learner, part)
        seconds = round(stopped - begun - apart, 3)
        sender.send(
            Measurement(candidate.learner, params, part.set_name, part.draw, r1, r5, seconds, int(learner.index_size_))
        )
        apart += time.process_time() - stopped

    def after_pass(number: int) -> None:
        if number in candidate.passes:
            send({**candidate.params, "passes": number})

    if candidate.passes:
        learner.fit(part.X, part.y, after_pass=after_pass, **fit_arguments)
    else:
        learner.fit(part.X, part.y, **fit_arguments)
        send(params)


def recalls(learner: Any, part: Part) -> tuple[float, float]:
    """Return R1 and R5 on the validation rows."""
    ranks = learner.rank(part.X_judging, 5)
    found = is_true(part.y_judging, learner.classes_[ranks]) & (ranks >= 0)
    return round(float(found[:, 0].mean()), 4), round(float(found.any(axis=1).mean()), 4)


def is_true(y: Labels, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the predicted classes are correct."""
    if not issparse(y):
        return np.asarray(classes == y[:, None])
    return np.take_along_axis(y.toarray(), classes, axis=1).astype(bool)


def keep(measurements: list[Measurement]) -> None:
    MEASUREMENTS.parent.mkdir(parents=True, exist_ok=True)
    with open(MEASUREMENTS, "a") as file:
        for measurement in measurements:
            file.write(measurement.as_json() + "\n")
            print(measurement.as_json(), flush=True)


@dataclass(frozen=True)
class Measurement:
    """A learner with some parameters on one draw of a dataset; no R1 if it exceeded the time limit."""

    learner: str
    params: Params
    set: str
    draw: int = 0
    r1: float | None = None
    r5: float | None = None
    seconds: float | None = None
    index: int | None = None

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Return what identifies the measurement."""
        return self.learner, key_of(self.params), self.set, self.draw

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def key_of(params: Params) -> str:
    """Return parameters as text that does not depend on their order."""
    return json.dumps(params, sort_keys=True)


def read_measurements(path: Path) -> list[Measurement]:
    """Read all measurements of a file; none if it does not exist."""
    if not path.exists():
        return []
    measurements = []
    for line in path.read_text().splitlines():
        measurements.append(Measurement(**json.loads(line)))
    return measurements


# -- choosing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """A candidate with its R1 and its loss on each dataset."""

    params: Params
    r1: Mapping[str, float]
    losses: Mapping[str, float]
    index: float
    """Mean index size."""

    @property
    def mean_loss(self) -> float:
        return fmean(self.losses.values())

    @property
    def worst_loss(self) -> float:
        return max(self.losses.values())

    @property
    def effort(self) -> tuple[int, float, float]:
        """Return the tie-breakers: passes, index size to two digits, mean loss."""
        return self.params.get("passes", 0), float(f"{self.index:.1e}"), self.mean_loss


def judge(measurements: Sequence[Measurement]) -> dict[str, Judged]:
    """Return the candidates of one learner by key. Datasets that no candidate finished are left out."""
    by_candidate: dict[str, list[Measurement]] = defaultdict(list)
    for measurement in measurements:
        by_candidate[key_of(measurement.params)].append(measurement)
    recalls = {key: mean_recalls(own) for key, own in by_candidate.items()}
    best: dict[str, float] = {}
    for own in recalls.values():
        for name, r1 in own.items():
            best[name] = max(r1, best.get(name, 0.0))
    finished = [name for name, r1 in best.items() if r1 > 0]
    judged = {}
    for key, own in recalls.items():
        losses = {name: best[name] - own[name] for name in finished}
        sizes = [measurement.index or 0 for measurement in by_candidate[key]]
        judged[key] = Judged(json.loads(key), own, losses, fmean(sizes))
    return judged


def mean_recalls(measurements: Sequence[Measurement]) -> dict[str, float]:
    """Return mean R1 on each dataset over its draws; a training that exceeded the time limit counts as 0."""
    by_set: dict[str, list[float]] = defaultdict(list)
    for measurement in measurements:
        by_set[measurement.set].append(measurement.r1 or 0.0)
    return {name: fmean(values) for name, values in by_set.items()}


def choose(judged: Mapping[str, Judged]) -> Judged:
    """Return the candidate with the smallest mean loss; among ties, the one of least effort."""
    least = min(candidate.mean_loss for candidate in judged.values())
    tied = [candidate for candidate in judged.values() if candidate.mean_loss <= least + TIE]
    return min(tied, key=lambda candidate: candidate.effort)


# -- results/defaults -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """The named candidates of a learner."""

    learner: str
    before: Judged
    paper: Judged | None
    chosen: Judged
    best: Mapping[str, float]
    """R1 of the best candidate on each dataset."""
    n_candidates: int


def choice_of(learner: str, plan: Mapping[str, Any], measurements: Sequence[Measurement]) -> Choice:
    """Judge the candidates of one learner and return the named ones."""
    judged = judge([measurement for measurement in measurements if measurement.learner == learner])
    chosen = choose(judged)
    before, paper = plan["before"], None
    if plan["paper"]:
        paper = judged[key_of({**before, **plan["paper"]})]
    best = {name: chosen.r1[name] + loss for name, loss in chosen.losses.items()}
    return Choice(learner, judged[key_of(before)], paper, chosen, best, len(judged))


def write_page(plan: Mapping[str, Any], measurements: Sequence[Measurement]) -> None:
    """Draw README.md and measurements.md of results/defaults from the measurements."""
    measured = {measurement.learner for measurement in measurements}
    choices = []
    for learner, entry in plan["learners"].items():
        if learner in measured:
            choices.append(choice_of(learner, entry, measurements))
    sets = [entry["name"] for entry in plan["sets"]]
    figures = {"most_rows": MOST_ROWS, "most_seconds": MOST_SECONDS, "tie": TIE, "measurements": len(measurements)}
    opening = OPENING.format(findings=findings(choices), **figures)
    PAGE.write_text("\n".join([opening, *choices_table(choices), "", LIMITS]) + "\n")
    DETAILS_PAGE.write_text("\n".join([DETAILS, *losses_table(choices), *recalls_table(choices, sets)]) + "\n")


def findings(choices: Sequence[Choice]) -> str:
    """Return the findings: the largest gains, papers' values that were kept, and the worst remaining loss."""
    gains = sorted(choices, key=lambda choice: choice.before.mean_loss - choice.chosen.mean_loss, reverse=True)
    gained = ", ".join(f"`{c.learner}` {100 * (c.before.mean_loss - c.chosen.mean_loss):.1f}" for c in gains[:4])
    same = [f"`{c.learner}`" for c in choices if c.paper is not None and c.paper.params == c.chosen.params]
    papers = sum(choice.paper is not None for choice in choices)
    worst = max(choices, key=lambda choice: choice.chosen.mean_loss)
    within = sum(choice.chosen.mean_loss <= 0.005 for choice in choices)
    return "\n".join(
        [
            f"- The choice gains most R1 over the former defaults for {gained} points (mean over the datasets).",
            f"- The values of the paper were chosen for {len(same)} of {papers} learners: {', '.join(same)}.",
            f"- {within} of {len(choices)} chosen defaults are within half a point of the best candidate on average. "
            f"`{worst.learner}` loses most, {100 * worst.chosen.mean_loss:.1f} points.",
        ]
    )


def choices_table(choices: Sequence[Choice]) -> list[str]:
    lines = ["| learner | chosen | loss | loss of the former default |", "|---|---|---:|---:|"]
    for choice in choices:
        cells = (shown_params(choice.chosen), shown_losses(choice.chosen), shown_losses(choice.before))
        lines.append(f"| `{choice.learner}` | {' | '.join(cells)} |")
    return lines


def losses_table(choices: Sequence[Choice]) -> list[str]:
    heading = "| learner | candidates | former default | loss | paper | loss | chosen | loss |"
    lines = [heading, "|---|---:|---|---:|---|---:|---|---:|"]
    for choice in choices:
        cells = [f"`{choice.learner}`", str(choice.n_candidates)]
        for candidate in (choice.before, choice.paper, choice.chosen):
            cells += [shown_params(candidate), shown_losses(candidate)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def shown_params(candidate: Judged | None) -> str:
    if candidate is None:
        return "-"
    return ", ".join(f"{name}={value:g}" for name, value in candidate.params.items())


def shown_losses(candidate: Judged | None) -> str:
    if candidate is None:
        return "-"
    return f"{100 * candidate.mean_loss:.1f}, {100 * candidate.worst_loss:.1f}"


def recalls_table(choices: Sequence[Choice], sets: Sequence[str]) -> list[str]:
    lines = ["", "## R1 on the validation rows", "", "`best` is the best candidate of each dataset.", ""]
    lines += [f"| learner | | {' | '.join(sets)} |", f"|---|---|{'---:|' * len(sets)}"]
    for choice in choices:
        rows = {"former": choice.before.r1, "chosen": choice.chosen.r1, "best": choice.best}
        if choice.paper is not None and choice.paper is not choice.before:
            rows["paper"] = choice.paper.r1
        for name in ("former", "paper", "chosen", "best"):
            if name in rows:
                cells = [shown_recall(rows[name].get(set_name)) for set_name in sets]
                lines.append(f"| `{choice.learner}` | {name} | {' | '.join(cells)} |")
    return lines


def shown_recall(r1: float | None) -> str:
    if r1 is None:
        return ""
    if r1 == 0:
        return "too slow"
    return f"{r1:.3f}"


if __name__ == "__main__":
    main()
