"""The results folder: append-only records, ranks beside them, one writer at a time. Survives kill -9.

experiment.toml   what was asked for; a run that covers less than is here writes experiment-2.toml, ... beside it
machine.json      the machines that records refer to
incompatible.txt  learners that could not run on some of the data of the last run, a line each; where there are any
records.jsonl     a line per finished trial, synced to disk before the next trial counts
ranks/KEY.npy     the ranks of a trial, written before its record
status.json       what the run that is at work does now, for `harness status`; gone when it has ended
damaged.jsonl     lines that could not be trusted, kept for the curious
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from harness.errors import StoreError
from harness.machine import Machine, read_machine
from harness.record import Record
from harness.record_lines import BadLine, NewerLine, from_line, to_line
from harness.wording import counted

RECORDS, DAMAGED, LOCK = "records.jsonl", "damaged.jsonl", "lock"
MACHINES, EXPERIMENT, INCOMPATIBLE = "machine.json", "experiment.toml", "incompatible.txt"


def read_records(folder: Path) -> list[Record]:
    """The records of a folder, the last one of each key; lines that cannot be trusted are named and left out."""
    records, damaged = _read(folder)
    for number, why, _ in damaged:
        warnings.warn(f"{folder / RECORDS}, line {number}: {why}; left out", stacklevel=2)
    return list({record.key: record for record in records}.values())


def read_machines(folder: Path) -> dict[str, Machine]:
    """The machines that the folder's records refer to, by id."""
    machines = {}
    for known_by, facts in _read_facts(folder).items():
        machine = read_machine(facts)
        if machine is not None:
            machines[known_by] = machine
    return machines


def _read_facts(folder: Path) -> dict[str, object]:
    """What the file of machines holds; nothing where there is none that can be read."""
    try:
        facts = json.loads((folder / MACHINES).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def read_incompatible(folder: Path) -> tuple[str, ...]:
    """What could not run when the folder was last run into, a line each: no record tells it."""
    try:
        return tuple((folder / INCOMPATIBLE).read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return ()


def read_ranks(folder: Path, key: str) -> bytes | None:
    """The saved ranks of a trial, as the bytes of a .npy file; None when they are not there."""
    try:
        return (folder / "ranks" / f"{key}.npy").read_bytes()
    except FileNotFoundError:
        return None


def no_results_in(folder: Path) -> StoreError:
    return StoreError(f"{folder} is not a results folder: it has no {RECORDS}", next_step="harness run --out makes one")


def _read(folder: Path) -> tuple[list[Record], list[tuple[int, str, bytes]]]:
    path = folder / RECORDS
    if path.exists() and not path.is_file():  # whoever reads a pipe may wait for ever
        raise StoreError(f"{path} cannot be read: it is no file, but a directory, a pipe or a device")
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise no_results_in(folder) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    records: list[Record] = []
    damaged: list[tuple[int, str, bytes]] = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            if number == len(lines):  # no newline behind it: the writer died while it wrote
                raise BadLine("torn: the run was stopped while it was written")
            records.append(from_line(line.decode("utf-8", "replace")))
        except BadLine as error:
            damaged.append((number, str(error), line))
        except NewerLine as error:
            raise StoreError(
                f"line {number} is {error}",
                culprit=str(path),
                next_step="a newer harness reads this folder; nothing in it was changed",
            ) from None
    return records, damaged


class Store:
    """A results folder opened for writing. Use `open_store`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, Record] = {}
        """The last record of each key."""
        self._machines: set[str] = set()
        """Those that were written down since it was opened."""
        if (folder / RECORDS).exists():
            self._load()
        self._handle = self._open_records()

    def _open_records(self) -> int:
        return open_own(self.folder / RECORDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _load(self) -> None:
        """Take what can be trusted; put the rest aside, so that its trials run again."""
        records, damaged = _read(self.folder)
        self.records = {record.key: record for record in records}
        if not damaged:
            return
        for number, why, _ in damaged:
            warnings.warn(f"{self.folder / RECORDS}, line {number}: {why}; moved to {DAMAGED}", stacklevel=4)
        self._put_aside(b"".join(line + b"\n" for _, _, line in damaged))
        replace_file(self.folder / RECORDS, "".join(map(to_line, records)).encode())

    def _put_aside(self, content: bytes) -> None:
        with open(open_own(self.folder / DAMAGED, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as aside:
            aside.write(content)
            aside.flush()
            os.fsync(aside.fileno())

    def append(self, record: Record, ranks: bytes | None = None) -> None:
        """Keep a finished trial: its ranks first, then its line, both synced. On failure nothing is half there."""
        self.make_sure()
        try:
            if ranks is not None:
                replace_file(self._ranks_folder() / f"{record.key}.npy", ranks, read_only=True)
            self._append_line(to_line(record).encode())
        except OSError as error:
            before = counted(len(self.records), "trial before is", "trials before are")
            raise StoreError(
                f"cannot write to {self.folder}: {error.strerror}; the {before} safe: "
                "make room and give the same command again"
            ) from error
        self.records[record.key] = record

    def _ranks_folder(self) -> Path:
        folder = self.folder / "ranks"
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise StoreError("is a link to another place", culprit=str(folder), next_step="put a folder there")
        return folder

    def make_sure(self) -> None:
        """Make sure that what was kept is still where it was kept; what somebody took away is written anew.

        StoreError where the folder itself is gone, and all in it.
        """
        if not self.folder.is_dir():
            lost = counted(len(self.records), "record", "records")
            raise StoreError(
                f"the results folder was removed during the run, with {lost} in it",
                culprit=str(self.folder),
                next_step="give the same command again",
            )
        path = self.folder / RECORDS
        if _is_at(self._handle, path):
            return
        try:
            if path.exists():
                self._put_aside(path.read_bytes())
            kept = "".join(map(to_line, self.records.values()))
            replace_file(path, kept.encode())
            os.close(self._handle)
            self._handle = self._open_records()
        except OSError as error:
            raise StoreError(f"{path} was taken away during the run and cannot be written anew: {error}") from error
        known = counted(len(self.records), "record")
        warnings.warn(f"{path} was taken away during the run: written anew, with all {known}", stacklevel=3)

    def _append_line(self, line: bytes) -> None:
        size = os.fstat(self._handle).st_size
        try:
            while line:  # a disk that gets full takes a part, and says why at the rest
                line = line[os.write(self._handle, line) :]
            os.fsync(self._handle)
        except OSError:
            os.ftruncate(self._handle, size)
            raise

    def add_machine(self, machine: Machine) -> None:
        """Write down a machine that records refer to, unless it is written down."""
        if machine.id in self._machines:
            return
        machines = _read_facts(self.folder) | {machine.id: asdict(machine)}
        try:
            replace_file(self.folder / MACHINES, (json.dumps(machines, indent=2) + "\n").encode())
        except OSError as error:
            raise StoreError(f"cannot write to {self.folder}: {error.strerror}") from error
        self._machines.add(machine.id)

    def describe(
        self, experiment: str, machine: Machine, incompatible: Sequence[str] = (), *, file: str = EXPERIMENT
    ) -> None:
        """Write down what was asked for, in a file of this name, on which machine, and what of it cannot run."""
        self.add_machine(machine)
        try:
            replace_file(self.folder / file, experiment.encode())
            if incompatible:
                replace_file(self.folder / INCOMPATIBLE, "".join(f"{line}\n" for line in incompatible).encode())
            else:
                (self.folder / INCOMPATIBLE).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {self.folder}: {error.strerror}") from error

    def close(self) -> None:
        os.close(self._handle)


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """The folder, made if need be, for one writer: a second one is refused at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open_own(folder / LOCK, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}: choose another folder with --out") from error
    try:
        store = _open_locked(folder, lock)
        try:
            yield store
            store.make_sure()
        finally:
            store.close()
    finally:
        os.close(lock)  # and with it goes the lock, as it does when the process is killed


def _open_locked(folder: Path, lock: int) -> Store:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        return Store(folder)
    except BlockingIOError:
        holder = os.pread(lock, 32, 0).decode(errors="replace").strip() or "unknown"
        raise StoreError(f"{folder} is being written by process {holder}: wait for it, or use another --out") from None
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error


def open_own(path: Path, flags: int) -> int:
    """A handle of a file in a results folder: never of one that it links to, which would be anybody's."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError("is a link to another place", culprit=str(path), next_step="remove the link") from None
        raise


def _is_at(handle: int, path: Path) -> bool:
    """Whether a path still leads to the file that was opened there."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def replace_file(path: Path, content: bytes, *, read_only: bool = False) -> None:
    """Write beside, sync, and move into place: a reader sees the old content or the new, never half of it."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.unlink(missing_ok=True)  # what a killed run left, or a link to another place
        with open(open_own(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
            file.flush()
            if read_only:
                os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & ~0o222)
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
