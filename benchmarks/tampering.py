"""Models whose manifest, arrays and paths were tampered with: no code runs, and no answer is wrong.

    python benchmarks/tampering.py [ATTEMPTS] [SEED]

Each attempt changes a copy of a model in a way of `tampered_models.py`, and runs `harness predict` in a process of its
own. It ends with exit code 2 and a message, or its output is that of the untouched model. Each model has a module
beside it that leaves a mark when it is imported. Prints the number of attempts by kind, and every one that ended
otherwise; the exit code is then 1. Two minutes for 500 attempts.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tampered_models import KINDS, PAYLOAD

import harness
from harness.cli import main as run_harness

ATTEMPTS, MOST_SECONDS, MOST_BYTES = 500, 20, 10**9
NAMES = tuple(f"{word} {n % 7} shoe" for n in range(60) for word in ("hat", "wool", "steel"))


def fit_models(folder: Path) -> list[Path]:
    """Fit three small models: an index, trees with a taxonomy, and an estimator in a file of skops."""
    titles = folder / "titles.csv"
    titles.write_text("title,code\n" + "".join(f"{name},{'ab'[n % 3 > 0]}/{n % 3}\n" for n, name in enumerate(NAMES)))
    made: list[Path] = []
    for learner in ("pa", "label-tree(trees=2)", "linear-svc"):
        place = folder / f"model{len(made)}"
        harness.fit(learner, f"{titles}(text=title, label=code, levels='/')", representation="words", out=place)
        made.append(place)
    return made


@dataclass(frozen=True)
class Ended:
    """The end of `harness predict`."""

    code: int
    output: bytes
    message: str
    seconds: float
    bytes: int


def predict(model: Path, place: Path) -> Ended:
    """Run `harness predict` in a forked process, which has all imports; return its end."""
    started = time.perf_counter()
    pid = os.fork()
    if not pid:
        _run_command(model, place)
    stopped = False
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if not stopped and time.perf_counter() - started > MOST_SECONDS:
            os.kill(pid, signal.SIGKILL)
            stopped = True
        time.sleep(0.002)
    output = place / "out.csv"
    content = output.read_bytes() if output.exists() else b""
    message = (place / "stderr").read_text(errors="replace")
    seconds = time.perf_counter() - started
    return Ended(os.waitstatus_to_exitcode(status), content, message, seconds, usage.ru_maxrss * 1024)


def _run_command(model: Path, place: Path) -> None:
    """Run the command in this process, and end it."""
    code = 99
    try:
        error = os.open(place / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(error, 1)
        os.dup2(error, 2)
        os.chdir(place)
        sys.path.insert(0, "")
        words = ["--text", "title", "--top", "2", "--out", str(place / "out.csv")]
        sys.argv = ["harness", "predict", str(model), str(place / "rows.csv"), *words]
        run_harness()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


def judge(ended: Ended, expected: bytes, mark: Path) -> str:
    """Return what is wrong with the end of an attempt; empty if nothing is."""
    if mark.exists():
        mark.unlink()
        return "code of the attacker ran"
    if ended.seconds > MOST_SECONDS:
        return f"took {ended.seconds:.0f} s"
    if ended.bytes > MOST_BYTES:
        return f"used {ended.bytes / 1e6:.0f} MB"
    if ended.code == 0:
        return "" if ended.output == expected else "another answer"
    is_told = "error: " in ended.message and "Traceback" not in ended.message
    return "" if ended.code == 2 and is_told else f"exit code {ended.code}: {ended.message.strip()[-200:]}"


def attempts(count: int) -> Iterator[tuple[str, int]]:
    """Yield the kind and the number of each attempt, by the shares of the kinds."""
    total = sum(share for share, _ in KINDS.values())
    for kind, (share, _) in KINDS.items():
        for number in range(max(1, round(count * share / total))):
            yield kind, number


def tamper(count: int, seed: int, folder: Path) -> tuple[dict[str, Counter[str]], list[str], float]:
    """Make the attempts; return the ends by kind, the harmful ones, and the longest time."""
    place = folder / "place"
    place.mkdir()
    mark = folder / "mark"
    (place / f"{PAYLOAD}.py").write_text(f"open({str(mark)!r}, 'w').close()\nclass Boom: pass\n")
    (place / "rows.csv").write_text("title\nwool hat 3\nsteel shoe\nold\nhat\n")
    models = fit_models(folder)
    expected = []
    for model in models:
        untouched = predict(model, place)
        assert untouched.code == 0, untouched.message
        expected.append(untouched.output)
    tallies: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    harmful, longest = [], 0.0
    for kind, number in attempts(count):
        chance = random.Random(f"{seed}-{kind}-{number}")
        which = number % len(models)
        (place / "out.csv").unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as copies:
            copy = Path(copies, "model")
            shutil.copytree(models[which], copy)
            change = KINDS[kind][1](copy, chance)
            ended = predict(copy, place)
        problem = judge(ended, expected[which], mark)
        longest = max(longest, ended.seconds)
        tallies[kind]["harmful" if problem else "same answers" if ended.code == 0 else "refused"] += 1
        if problem:
            harmful.append(f"{kind}, {number}, {models[which].name} ({change}): {problem}")
    return tallies, harmful, longest


def main() -> int:
    """Print the table; return 1 if an attempt did harm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attempts", type=int, nargs="?", default=ATTEMPTS)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HARNESS_DATA_HOME"] = str(Path(folder, "home"))
        tallies, harmful, longest = tamper(given.attempts, given.seed, Path(folder))
    print("| tampered with | attempts | refused | same answers | harmful |\n|---|---:|---:|---:|---:|")
    for kind, ends in tallies.items():
        print(f"| {kind} | {ends.total()} | {ends['refused']} | {ends['same answers']} | {ends['harmful']} |")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    total = sum(ends.total() for ends in tallies.values())
    print(f"\n{total} attempts: {len(harmful)} harmful, longest {longest:.1f} s, peak {peak / 1e6:.0f} MB")
    print("\n".join(harmful))
    return 1 if harmful else 0


if __name__ == "__main__":
    sys.exit(main())
