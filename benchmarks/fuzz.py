"""Fuzzing of the readers: each case is accepted or refused with an error message, never with a traceback.

    python benchmarks/fuzz.py [CASES] [SEED] [--flips FLIPS]
    python benchmarks/fuzz.py 20000 --flips 5000        # the full counts

Each case is valid input with random changes: expressions, flags, experiment files, tables, files to predict, manifests
of models and records. Prints the number of accepted and rejected cases of each kind, the slowest, the peak of memory,
and every case that ended otherwise. Then it flips single bits over a whole model folder: each flip is rejected, or
changes no answer and no confidence. The exit code is 1 if anything ended otherwise. With 20,000 cases or more the table
is written to SECURITY.md.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.testing import CliRunner

import harness
from harness.cli import cli
from harness.errors import HarnessError
from harness.experiment.load import build, read_file
from harness.models.folder import MANIFEST, seal_of
from harness.models.model import Model, load_model
from harness.models.predict import PredictionRequest, predict_rows
from harness.records.record import BadLine, NewerLine, Record, from_line, to_line
from harness.records.store import open_store, read_machines
from harness.results.results import open_results
from harness.syntax.expression import parse, parse_value, split_list
from harness.syntax.split import parse_split
from harness.syntax.values import parse_duration, parse_size
from harness.trials.score import result_from_plain

PAGE = Path(__file__).resolve().parent.parent / "SECURITY.md"
CASES, SLOW_SECONDS, MOST_BYTES = 20_000, 5.0, 10**9
LETTERS = ("", " ", "\0", "\n", "\r\n", "\x1b[2J", "\u202e", "\ud800", "\xe9", *"'\"\\,=()[]{}:/@#%$")
WORDS = (
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "0",
    "1_0",
    "0x",
    "1e",
    "true",
    "none",
    "None",
    "__import__('os')",
    "~a/b",
)
LONG = ("9" * 400, "9" * 5000, "a" * 3000, "[" * 60, "[" * 3000, "a," * 500, "../" * 40)
NASTY = (*LETTERS, *WORDS, *LONG)
EXPRESSIONS = (
    "pa,small=pa(C=0.1),sklearn.naive_bayes:MultinomialNB(alpha=0.1)",
    "committee(pa, members=3)",
    "x=sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.1))",
    "subsample(icd10cm, classes=[100, 1000])",
    "titles.csv(text=title, label='my label')",
    "pa(C=[0.1, 1, (2, 3), {'a': 1}])",
)
EXPERIMENT = """
name = "mine"
learners = ["pa", {name = "ooz", label = "o", params = {d = [50, 100]}}]
datasets = ["digits", {name = "topics", params = {rows = 500}, split = "stratified:0.2"}]
trials = 3
seed = 14
jobs = 2
threads = 1
timeout = "10m"
memory = "4GB"
metrics = ["r1", "r5"]
split = "holdout:0.1"
curves = false
leave_out = []

[set.pa]
C = [0.1, 1.0]

[tune]
metric = "r1"
search = "random"
candidates = 5
[tune.params.ooz]
d = {low = 10, high = 100, log = true}
"""
FLAGS = (
    *(
        "--learners",
        "pa,ooz",
        "--datasets",
        "digits",
        "--trials",
        "2",
        "--set",
        "pa.C=[0.1,1]",
        "--split",
        "holdout:0.1",
    ),
    *("--seed", "3", "--jobs", "1", "--threads", "1", "--timeout", "10m", "--memory", "4GB", "--metrics", "r1,r5"),
    *("--tune", "ooz.d=[10,20]", "--representation", "tfidf"),
)
ROWS_JSON = """{"title": "wool hat", "id": 1}
{"title": "steel", "id": null}
{"title": [1, {"a": 2}]}
"""
TABLE = """title,label,split
red apple,fruit,train
green leek,greens,train
"old, brown shoe",wear,test
wool hat,wear,test
"""


@dataclass
class Tally:
    """Outcomes of the cases of one kind."""

    taken: int = 0
    refused: int = 0
    slowest_seconds: float = 0.0
    broken: list[str] = field(default_factory=list)


# -- changes ---------------------------------------------------------------------------------------------------------


def mutate(text: str, chance: random.Random) -> str:
    """Return the text with random insertions, deletions, duplications or replacements."""
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        how = chance.randrange(4)
        if how == 0:
            text = text[:at] + chance.choice(NASTY) + text[at:]
        elif how == 1:
            text = text[:at] + text[min(end, at + 20) :]
        elif how == 2:
            text = text[:end] + text[at:]
        else:
            text = text[:at] + chance.choice(NASTY) + text[at + 1 :]
        text = text[:20_000]
    return text


def seldom(others: Sequence[Any], usual: Any, chance: random.Random) -> Any:
    """Return the usual value, or in one of eight cases another one."""
    return chance.choice(others) if chance.random() < 1 / 8 else usual


def mutate_plain(value: object, chance: random.Random) -> object:
    """Return a JSON value with one of its inner values replaced."""
    others: tuple[object, ...] = (None, True, -1, 10**30, 1e300, float("nan"), "text", [], {}, [[1]], {"a": None})
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        return value | {key: mutate_plain(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], mutate_plain(value[at], chance), *value[at + 1 :]]
    return mutate(value, chance) if isinstance(value, str) and chance.random() < 0.5 else chance.choice(others)


# -- readers ---------------------------------------------------------------------------------------------------------


def try_expression(chance: random.Random, folder: Path) -> None:
    """Parse expressions of the command line."""
    text = mutate(chance.choice(EXPRESSIONS), chance)
    for item in split_list(text):
        expression = parse(item)
        parse_value(str(expression.params))


def try_value(chance: random.Random, folder: Path) -> None:
    """Parse durations, sizes and splits."""
    read, text = chance.choice(((parse_duration, "1.5h"), (parse_size, "512MB"), (parse_split, "stratified-kfold:5")))
    read(mutate(text, chance))


def try_file(chance: random.Random, folder: Path) -> None:
    """Read an experiment file."""
    path = folder / "experiment.toml"
    path.write_bytes(mutate(EXPERIMENT, chance).encode("utf-8", "surrogatepass"))
    build(read_file(path), str(path))


def try_flags(chance: random.Random, folder: Path) -> None:
    """Run `harness run --dry-run` with flags."""
    words = list(FLAGS)
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(words))
        words[at] = mutate(words[at], chance)
    run_command(["run", *words, "--dry-run"])


def try_table(chance: random.Random, folder: Path) -> None:
    """Read a table of texts as `harness run --data` does."""
    from harness_files.table import load_table

    path = folder / "table.csv"
    path.write_bytes(mutate(TABLE, chance).encode("utf-8", "surrogatepass"))
    load_table(path=str(path))


def try_prediction(chance: random.Random, folder: Path) -> None:
    """Predict for the rows of a table, with options."""
    source = folder / chance.choice(("rows.csv", "rows.tsv", "rows.jsonl", "rows.txt"))
    good = ROWS_JSON if source.suffix == ".jsonl" else TABLE
    source.write_bytes(mutate(good, chance).encode("utf-8", "surrogatepass"))
    request = PredictionRequest(
        source=str(source),
        text=seldom(("0", mutate("title", chance)), "title", chance),
        top=seldom((0, -1, 2_000_000_000), 2, chance),
        out=folder / seldom(("out.parquet", "x" * 300 + ".csv"), "out.jsonl", chance),
        encoding=seldom(("latin-1", "utf-16", "idna", mutate("utf-8", chance)), None, chance),
        delimiter=seldom((";", "", mutate(",", chance)), None, chance),
        header=seldom((True, False), None, chance),
    )
    predict_rows(model_in(folder), request, lambda done, share: None)


def try_manifest(chance: random.Random, folder: Path) -> None:
    """Load a model whose manifest has a valid checksum and one other value, or damaged text."""
    original, path = model_folder(folder) / MANIFEST, folder / "forged" / MANIFEST
    if not path.parent.exists():
        shutil.copytree(original.parent, path.parent)
    if chance.random() < 0.3:
        path.write_bytes(mutate(original.read_text(), chance).encode("utf-8", "surrogatepass"))
    else:
        plain = mutate_plain(json.loads(original.read_text()), chance)
        seal = {"sha256": seal_of(plain)} if isinstance(plain, dict) else {}
        path.write_text(json.dumps(plain | seal if isinstance(plain, dict) else plain))
    load_model(path.parent).answer(["old shoe"], 2)


def try_answer(chance: random.Random, folder: Path) -> None:
    """Read the result of a trial's process."""
    result_from_plain(mutate_plain(GOOD_ANSWER, chance))


def try_record(chance: random.Random, folder: Path) -> None:
    """Read a record, with a valid or an invalid checksum."""
    line = to_line(GOOD_RECORD)
    if chance.random() < 0.5:
        from_line(mutate(line, chance))
        return
    plain = json.loads(line)
    plain.pop("crc32")
    from_line(with_checksum(mutate_plain(plain, chance)))


def try_folder(chance: random.Random, folder: Path) -> None:
    """Read, render and open a results folder with a bad line and bad machines."""
    plain = json.loads(to_line(GOOD_RECORD))
    plain.pop("crc32")
    lines = [to_line(GOOD_RECORD), with_checksum(mutate_plain(plain, chance))]
    results = Path(tempfile.mkdtemp(dir=folder))
    (results / "records.jsonl").write_text("".join(lines), encoding="utf-8", errors="replace")
    machines = mutate(json.dumps({"m": {"id": "m", "processor": "Fast", "cores": 8}}), chance)
    (results / "machine.json").write_bytes(machines.encode("utf-8", "surrogatepass"))
    for form in ("terminal", "latex", "html", "csv"):
        open_results(results).table().render(form)
    read_machines(results)
    with open_store(results):
        pass


@cache
def model_folder(folder: Path) -> Path:
    """Return the folder of a small model; the first call trains it."""
    place = folder / "model"
    titles = [f"{word} {n % 7} shoe" for n in range(60) for word in ("hat", "wool", "steel")]
    harness.fit("pa", (titles, ["abc"[n % 3] for n in range(180)]), out=place)
    return place


@cache
def model_in(folder: Path) -> Model:
    """Return the small model."""
    return load_model(model_folder(folder))


def flip_bits(flips: int, seed: int, folder: Path) -> tuple[int, list[str]]:
    """Flip single bits over all files of a model; return the number of refused flips, and the harmful ones."""
    original, copy = model_folder(folder), folder / "flipped"
    shutil.copytree(original, copy)
    chance, texts = random.Random(seed), ["wool hat 3", "steel shoe", "old"]
    before = load_model(original).answer(texts, 3)
    files = [path for path in sorted(copy.rglob("*")) if path.is_file()]
    sizes = [path.stat().st_size for path in files]
    refused, harmful = 0, []
    for _ in range(flips):
        path = chance.choices(files, sizes)[0]
        content = path.read_bytes()
        changed = bytearray(content)
        place, bit = chance.randrange(len(content)), chance.randrange(8)
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        try:
            after = load_model(copy).answer(texts, 3)
            sure, unsure = np.asarray(before.confidence), np.asarray(after.confidence)
            if not np.array_equal(before.names, after.names) or not np.array_equal(sure, unsure):
                harmful.append(f"{path.name}: bit {bit} of byte {place} changes an answer")
        except HarnessError:
            refused += 1
        except Exception as error:
            harmful.append(f"{path.name}: bit {bit} of byte {place}: {type(error).__name__}: {error}")
        path.write_bytes(content)
    return refused, harmful


def run_command(words: list[str]) -> None:
    """Run a command as the command line does, and raise its exception."""
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    if done.exception is not None:
        raise done.exception


def with_checksum(plain: object) -> str:
    """Return a line of a results folder with a valid checksum."""
    text = json.dumps(plain, separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


GOOD_ANSWER = {
    "measured": {
        "status": "ok",
        "scores": {"r1": 0.5, "edges": None},
        "n_test": 60,
        "fit_seconds": 1.5,
        "curve": [{"passes": 1, "scores": {"r1": 0.1}}],
        "tuned": {"C": 1.0},
        "tuning": [{"params": {"C": 1.0}, "score": 0.5}],
        "threads_in_force": {"openblas": 1},
        "message": "well",
        "warnings": ["did not converge"],
    },
    "points": [{"passes": 1, "n_bytes": 9, "costs": {"fit_seconds": 1.0, "fit_cpu_seconds": 1.0, "rank_seconds": 1.0}}],
    "single_seconds": [0.1],
}
GOOD_RECORD = Record(
    key="k",
    status="ok",
    label="good",
    family="good",
    learner="good",
    learner_kind="flat",
    learner_distribution="here",
    learner_version="1",
    params={"C": 0.1},
    dataset="topics",
    dataset_family="topics",
    dataset_params={},
    fingerprint="f",
    representation="tfidf",
    split=parse_split("holdout:0.1"),
    number=0,
    seed=0,
    depth=10,
    scores={"r1": 0.5, "edges": None},
    n_train=10,
    n_test=5,
    fit_seconds=0.5,
    machine="m",
)


@dataclass(frozen=True)
class Kind:
    """A kind of input: its attempt, its share of all cases, and the permitted exceptions."""

    attempt: Callable[[random.Random, Path], None]
    share: float
    """Slow kinds have a small share."""
    refusals: tuple[type[Exception], ...] = (HarnessError,)


KINDS = {
    "expressions": Kind(try_expression, 0.2),
    "times, sizes, splits": Kind(try_value, 0.1, (HarnessError, ValueError)),  # the caller adds key and file
    "experiment files": Kind(try_file, 0.2),
    "flags of `harness run`": Kind(try_flags, 0.02, (HarnessError, click.ClickException)),
    "tables": Kind(try_table, 0.15, (HarnessError, ValueError)),  # loaders raise ValueError
    "files to predict": Kind(try_prediction, 0.05),
    "manifests of models": Kind(try_manifest, 0.05),
    "answers of trials": Kind(try_answer, 0.1, (ValueError,)),  # becomes the record of a crash
    "records": Kind(try_record, 0.11, (BadLine, NewerLine)),
    "results folders": Kind(try_folder, 0.02),
}


def fuzz(cases: int, seed: int, folder: Path) -> dict[str, Tally]:
    """Try that many cases; the same seed gives the same cases."""
    tallies = {}
    for name, kind in KINDS.items():
        tallies[name] = Tally()
        for number in range(max(1, round(cases * kind.share))):
            _try(kind, f"{seed}-{name}-{number}", folder, tallies[name])
    return tallies


def _try(kind: Kind, seed: str, folder: Path, tally: Tally) -> None:
    start = time.process_time()
    try:
        with warnings.catch_warnings(action="ignore"):
            kind.attempt(random.Random(seed), folder)
        tally.taken += 1
    except kind.refusals:
        tally.refused += 1
    except BaseException as error:
        tally.broken.append(f"{seed}: {type(error).__name__}: {str(error)[:200]}")
    seconds = time.process_time() - start
    tally.slowest_seconds = max(tally.slowest_seconds, seconds)
    if seconds > SLOW_SECONDS:
        tally.broken.append(f"{seed}: took {seconds:.1f} s")


def write_table(lines: list[str]) -> None:
    """Replace the table in SECURITY.md."""
    between = re.compile(r"(<!-- by benchmarks/fuzz.py -->\n).*?(<!-- end -->)", re.DOTALL)
    table = "\n".join(lines)
    PAGE.write_text(between.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", PAGE.read_text(), count=1))


def main() -> int:
    """Print the table; return 1 if a case raised a forbidden exception or was too slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=int, nargs="?", default=CASES)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--flips", type=int, default=0)
    given = parser.parse_args()
    cases, seed = given.cases, given.seed
    with tempfile.TemporaryDirectory() as folder:
        tallies = fuzz(cases, seed, Path(folder))
        refused, broken = flip_bits(given.flips, seed, Path(folder)) if given.flips else (0, [])
    table = ["| input | cases | accepted | rejected | slowest | other outcomes |", "|---|---:|---:|---:|---:|---:|"]
    for kind, tally in tallies.items():
        total = tally.taken + tally.refused + len(tally.broken)
        slowest = f"{tally.slowest_seconds:.2f} s"
        table.append(f"| {kind} | {total:,} | {tally.taken:,} | {tally.refused:,} | {slowest} | {len(tally.broken)} |")
    print("\n".join(table))
    if cases >= CASES:
        write_table(table)
    tried = sum(tally.taken + tally.refused + len(tally.broken) for tally in tallies.values())
    otherwise = [line for tally in tallies.values() for line in tally.broken]
    seconds = max(tally.slowest_seconds for tally in tallies.values())
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"\n{tried:,} inputs: {len(otherwise)} ended otherwise, slowest {seconds:.1f} s, peak {peak_bytes / 1e6:.0f} MB"
    )
    if given.flips:
        print(f"{given.flips:,} flipped bits of a model: {refused:,} refused, {len(broken)} harmful, others no effect")
    if peak_bytes > MOST_BYTES:
        otherwise.append(f"used {peak_bytes / 1e6:.0f} MB of memory")
    broken += otherwise
    print("\n".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
