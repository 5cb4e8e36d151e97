"""Robustness against kills, flipped bits, full disks and hostile learners; writes the table in SECURITY.md.

    python benchmarks/chaos.py [--kills 100] [--flips 5000] [--seed 0]

Processes get SIGKILL at random moments, bits are flipped in real files, and small file systems are mounted and filled
(where that is permitted; otherwise the row is marked). Takes about 15 minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hostile import name_of

from harness.data.arrays import is_complete, read_header
from harness.errors import HarnessError
from harness.records.record import checksum_of_ranks
from harness.records.store import read_records
from harness.system import SYSTEM

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "SECURITY.md"
HARNESS = [sys.executable, "-m", "harness"]
SHARED_MEMORY = Path("/dev/shm")
MARK = "HARNESS_CHAOS"
"""Environment variable of all started processes, by which processes left running are found."""


@dataclass(frozen=True)
class Row:
    """One kind of attack: the number of attempts, the condition that must hold, and the number of failures."""

    attack: str
    times: int
    must_hold: str
    failed: int
    note: str = ""

    def line(self) -> str:
        broke = str(self.failed) if self.times else "not tried"
        return f"| {self.attack} | {self.times:,} | {self.must_hold} | {broke}{self.note} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--flips", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ[MARK] = str(os.getpid())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HARNESS_DATA_HOME"] = str(Path(folder, "home"))
        os.environ["NUMBA_CACHE_DIR"] = str(Path(folder, "kernels"))
        os.environ["TMPDIR"] = str(Path(folder, "temporary"))
        Path(folder, "temporary").mkdir()
        rows = []
        for row in attacks(Path(folder), given.kills, given.flips, random.Random(given.seed)):
            print(row.line(), flush=True)
            rows.append(row)
    write_table(["| attack | attempts | requirement | failures |", "|---|---:|---|---:|", *map(Row.line, rows)])
    sys.exit(any(row.failed for row in rows))


def write_table(lines: list[str]) -> None:
    text, table = PAGE.read_text(), "\n".join(lines)
    between = re.compile(r"(<!-- by benchmarks/chaos.py -->\n).*?(<!-- end -->)", re.DOTALL)
    PAGE.write_text(between.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text))


def attacks(folder: Path, kills: int, flips: int, chance: random.Random) -> Iterator[Row]:
    run(folder, "--learners", "pa,ff", "--trials", "5", "--out", "sound").check_returncode()  # fills the caches
    yield kill_the_host(folder, kills, chance)
    yield kill_below(folder, kills // 2, chance)
    yield flip_bits(
        "a bit of `records.jsonl` flipped", [folder / "sound" / "records.jsonl"], flips, chance, records_notice(folder)
    )
    ranks = sorted((folder / "sound" / "ranks").iterdir())
    yield flip_bits("a bit of saved ranks flipped", ranks, flips, chance, ranks_notice(folder))
    (form,) = [path for path in (folder / "home" / "parsed").iterdir() if path.name.startswith("digits")]
    yield flip_bits(
        "a bit of cached data flipped", sorted(form.rglob("*.npy")), flips // 10, chance, data_notices(form)
    )
    yield damage_kernels(folder, chance)
    yield from fill_disks(folder)
    yield from run_hostile_learners(folder)


# -- runs ------------------------------------------------------------------------------------------------------------


def command_of(*options: str) -> list[str]:
    return [*HARNESS, "run", "--datasets", "digits", *options]


def run(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = command_of(*options)
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def keys_in(folder: Path) -> list[str]:
    """Return the key of every line, duplicates included."""
    path = folder / "records.jsonl"
    if not path.exists():
        return []
    return re.findall(r'^\{"key":"(\w+)"', path.read_text(), re.MULTILINE)


def left_running() -> set[int]:
    """Return processes started by this script that are no longer its descendants."""
    own = {os.getpid(), *SYSTEM.all_below(os.getpid())}
    wanted = f"{MARK}={os.environ[MARK]}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in own:
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except OSError:  # the process has ended, or belongs to another user
            continue
    return found


def has_no_leftovers(seconds: float = 10.0) -> bool:
    """Return whether all started processes end by themselves; kill the others."""
    end = time.monotonic() + seconds
    while left_running() and time.monotonic() < end:
        time.sleep(0.05)
    left = left_running()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return not left


# -- kills -----------------------------------------------------------------------------------------------------------


def kill_the_host(folder: Path, times: int, chance: random.Random) -> Row:
    """Kill the same command repeatedly: records stay, no trial runs twice, no process is left."""
    trials, failed, number = 40, 0, 0
    done: list[str] = []
    for _ in range(times):
        out = folder / f"killed{number}"
        options = ("--learners", "pa,ff", "--trials", str(trials), "--out", out.name)
        with subprocess.Popen(
            command_of(*options), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as running:
            time.sleep(chance.uniform(0.3, 5.0))
            running.kill()
        now = keys_in(out)
        is_kept = now[: len(done)] == done and len(set(now)) == len(now)
        failed += not (is_kept and has_no_leftovers())
        done = now
        if len(done) == 2 * trials:
            done, number = [], number + 1
    return Row("`kill -9` of `harness run`", times, "no record lost or repeated, no process left", failed)


def kill_below(folder: Path, times: int, chance: random.Random) -> Row:
    """Kill a random descendant of the host: every trial still has a record, and the other trials are correct."""
    failed = 0
    for number in range(times):
        out = folder / f"below{number}"
        options = ("--learners", "pa,ff", "--trials", "6", "--out", out.name)
        with subprocess.Popen(
            command_of(*options), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as running:
            time.sleep(chance.uniform(0.1, 4.0))
            below = SYSTEM.all_below(running.pid)
            if below:
                try_kill(chance.choice(below))
            errors = running.communicate()[1]
        is_complete_run = len(set(keys_in(out))) == 12 and running.returncode in (0, 1) and "Traceback" not in errors
        failed += not (is_complete_run and has_no_leftovers())
    return Row("`kill -9` of any process below it", times, "every trial recorded, no process left", failed)


def try_kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # the process has ended
        return


# -- bits ------------------------------------------------------------------------------------------------------------


def flip_bits(attack: str, files: list[Path], times: int, chance: random.Random, notices: Callable[[], bool]) -> Row:
    """Flip one bit at a time and restore it."""
    failed = 0
    for _ in range(times):
        file = chance.choice(files)
        sound = file.read_bytes()
        content = bytearray(sound)
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.chmod(0o644)
        file.write_bytes(content)
        failed += not notices()
        file.write_bytes(sound)
    return Row(attack, times, "detected when read", failed)


def records_notice(folder: Path) -> Callable[[], bool]:
    sound = read_records(folder / "sound")

    def notices() -> bool:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            try:
                return read_records(folder / "sound") == sound or bool(raised)
            except HarnessError:
                return True

    return notices


def ranks_notice(folder: Path) -> Callable[[], bool]:
    records = {record.key: record for record in read_records(folder / "sound")}

    def notices() -> bool:
        for file in (folder / "sound" / "ranks").iterdir():
            record = records.get(file.stem)
            if record is not None and checksum_of_ranks(file.read_bytes()) != record.ranks_crc32:
                return True
        return False

    return notices


def data_notices(form: Path) -> Callable[[], bool]:
    def notices() -> bool:
        header = read_header(form)
        return header is None or not is_complete(header)

    return notices


def damage_kernels(folder: Path, chance: random.Random) -> Row:
    """Empty, truncate or flip every cached kernel: they are compiled again, with the same result."""
    expected = r1_of(folder / "sound")
    files = sorted((folder / "kernels").rglob("*.nb[ci]"))
    for file in files:
        content = bytearray(file.read_bytes())
        content[chance.randrange(len(content))] ^= 1
        size = chance.choice([0, len(content) // 2, len(content)])
        file.write_bytes(content[:size])
    ended = run(folder, "--learners", "pa,ff", "--trials", "5", "--out", "damaged-kernels")
    is_same = ended.returncode == 0 and r1_of(folder / "damaged-kernels") == expected
    return Row("cached kernels emptied, cut or flipped", len(files), "compiled again, same result", int(not is_same))


def r1_of(folder: Path) -> dict[tuple[str, int], float | None]:
    return {(record.label, record.number): record.scores["r1"] for record in read_records(folder)}


# -- full disks ------------------------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path | None]:
    """Mount a file system of that size; yield None if mounting is not permitted."""
    place = Path(tempfile.mkdtemp(dir=folder, prefix="disk-"))
    options = f"size={kilobytes}k"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


def fill_disks(folder: Path) -> Iterator[Row]:
    """Put the results, the data home, the kernel cache and temporary files on a full disk."""
    cases: list[tuple[str, str, Callable[[Path], dict[str, str]]]] = [
        ("results", "out", lambda place: {}),
        ("data home", "sound", lambda place: {"HARNESS_DATA_HOME": str(place / "home")}),
        ("kernel cache", "sound", lambda place: {"NUMBA_CACHE_DIR": str(place / "kernels")}),
        ("temporary files", "sound", lambda place: {"TMPDIR": str(place)}),
    ]
    for name, out, environment in cases:
        attack = f"a full disk below the {name}"
        must_hold = "complete run or an error with the path; no traceback"
        with small_disk(folder, 64) as place:
            if place is None:
                yield Row(attack, 0, must_hold, 0, " (no file system may be mounted here)")
                continue
            target = place / "mine" if out == "out" else folder / f"full-{name.replace(' ', '-')}"
            options = ("--learners", "pa", "--trials", "30", "--out", str(target))
            ended = run(folder, *options, **environment(place))
            is_complete_run = ended.returncode == 0 and len(keys_in(target)) == 30
            names_the_place = ended.returncode in (1, 2) and str(place) in ended.stderr
            is_good = (is_complete_run or names_the_place) and "Traceback" not in ended.stderr
        yield Row(attack, 1, must_hold, int(not is_good))


# -- hostile learners ------------------------------------------------------------------------------------------------


def run_hostile_learners(folder: Path) -> Iterator[Row]:
    """Run each hostile learner beside `pa`, whose result must not change."""
    plugins = folder / "plugins"
    plugins.mkdir()
    shutil.copy(HERE / "hostile.py", plugins)
    expected = {number: r1 for (label, number), r1 in r1_of(folder / "sound").items() if label == "pa"}
    source = (HERE / "hostile.py").read_text()
    for learner in re.findall(r"^class (\w+)\(Harmless\)", source, re.MULTILINE):
        name = name_of(learner)
        shared = names_in(SHARED_MEMORY)
        out = folder / f"hostile-{name}"
        limits = ("--timeout", "6s", "--memory", "1GB", "--trials", "2", "--plugins-dir", str(plugins))
        ended = run(folder, "--learners", f"{name},pa", "--out", out.name, *limits)
        records = read_records(out) if (out / "records.jsonl").exists() else []
        own = {record.number: record.scores["r1"] for record in records if record.label == "pa" and record.scores}
        statuses = sorted({record.status for record in records if record.label == name})
        is_sound = len(records) == 4 and own == {number: expected[number] for number in own} and len(own) == 2
        is_calm = ended.returncode in (0, 1) and "Traceback" not in ended.stderr and "\x1b" not in ended.stdout
        is_clean = has_no_leftovers() and names_in(SHARED_MEMORY) <= shared
        is_clean = is_clean and not names_in(folder / "temporary")
        note = f" ({', '.join(statuses)})"
        must_hold = "recorded, `pa` unaffected, nothing left behind"
        yield Row(
            f"a learner that {name.replace('-', ' ')}", 1, must_hold, int(not (is_sound and is_calm and is_clean)), note
        )


def names_in(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.exists() else set()


if __name__ == "__main__":
    main()
