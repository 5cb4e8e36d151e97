"""The results folder: append-only records, the ranks of trials, and one writer at a time.

A process can be killed at any time without damage to earlier records. The files are:

experiment.toml   the experiment; a run of a part of it writes experiment-2.toml, ...
machine.json      the machines that records refer to
incompatible.txt  a line per learner that could not run on some datasets of the last run; absent if there are none
records.jsonl     a line per finished trial, synced to disk before the next record is written
ranks/KEY.npy     the ranks of a trial, written before its record
same_code.json    code digests of records whose code is known to give the same results as later code (`SameCode`)
status.json       the progress of a run for `harness status`; removed when the run ends
damaged.jsonl     damaged lines that were removed from records.jsonl
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from harness.errors import StoreError, reason_of
from harness.files.atomic import append_line, lock, open_unlinked, read_regular, remove_temporary_files, write_file
from harness.records.record import BadLine, NewerLine, Record, from_line, to_line
from harness.system.machine import Machine, read_machine
from harness.text import counted

RECORDS, DAMAGED, LOCK, SAME_CODE = "records.jsonl", "damaged.jsonl", "lock", "same_code.json"
RANKS, MOST_RANKS_BYTES = "ranks", 2**32
MACHINES, EXPERIMENT, INCOMPATIBLE = "machine.json", "experiment.toml", "incompatible.txt"


def read_records(folder: Path) -> list[Record]:
    """Return the records of a folder, and for several records with the same key the last.

    Damaged lines are skipped with a warning.

    Raises
    ------
    StoreError
        If the folder has no records, or if a newer release wrote some of them.
    """
    records, damaged = _read(folder)
    for number, why, _ in damaged:
        warnings.warn(f"{folder / RECORDS}, line {number}: {why}; left out", stacklevel=2)
    return list({record.key: record for record in records}.values())


def read_machines(folder: Path) -> dict[str, Machine]:
    """Return the machines that the records of a folder refer to, by id."""
    machines = {}
    for known_by, facts in _read_facts(folder).items():
        machine = read_machine(facts)
        if machine is not None:
            machines[known_by] = machine
    return machines


def _read_facts(folder: Path) -> dict[str, object]:
    """Return the content of the file of machines; empty if it cannot be read."""
    try:
        facts = json.loads(read_regular(folder / MACHINES))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


@dataclass(frozen=True)
class SameCode:
    """A statement that later code gives the same results as earlier code.

    Records of the earlier code are then used for trials of the later code. The records themselves do not change: they
    keep the digest of the code that made them. Statements are in a separate file.
    """

    learner: str
    representation: str
    """The name of the representation in records."""
    recorded: str
    """The code digest of the records."""
    present: str
    """The code digest of the later code."""
    evidence: str
    """A description of the comparison that supports the statement."""


def read_same_code(folder: Path) -> list[SameCode]:
    """Return the statements in a folder, an empty list without the file; raise StoreError if it is malformed."""
    path = folder / SAME_CODE
    try:
        listed = json.loads(read_regular(path))
        return [SameCode(**{field.name: str(one[field.name]) for field in fields(SameCode)}) for one in listed]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"cannot be read ({type(error).__name__}: {error})",
            culprit=str(path),
            next_step="Remove the file: trials of earlier code then run again.",
        ) from error


def write_same_code(folder: Path, statements: Sequence[SameCode]) -> None:
    """Replace the statements in a folder."""
    listed = [asdict(one) for one in statements]
    write_file(folder / SAME_CODE, json.dumps(listed, indent=2) + "\n")


def read_incompatible(folder: Path) -> tuple[str, ...]:
    """Return a line for each learner that could not run on some datasets of the last run."""
    try:
        return tuple(read_regular(folder / INCOMPATIBLE).decode().splitlines())
    except (OSError, ValueError):
        return ()


def read_ranks(folder: Path, key: str) -> bytes | None:
    """Return the stored ranks of a trial as the bytes of a .npy file; None if there are none.

    Raises
    ------
    StoreError
        If the file cannot be read or is not a regular file.
    """
    try:
        return read_regular(folder / RANKS / f"{key}.npy", MOST_RANKS_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{folder / RANKS / key}.npy cannot be read: {reason_of(error)}") from error


def no_results_in(folder: Path) -> StoreError:
    """Return the error for a folder without records."""
    return StoreError(
        f"{folder} is not a results folder: it has no {RECORDS}", next_step="`harness run ... --out FOLDER` writes one."
    )


def _read(folder: Path) -> tuple[list[Record], list[tuple[int, str, bytes]]]:
    path = folder / RECORDS
    if path.exists() and not path.is_file():  # reading a pipe may block forever
        raise StoreError(f"{path} cannot be read: it is a directory, a pipe or a device")
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise no_results_in(folder) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {reason_of(error)}") from error
    records: list[Record] = []
    damaged: list[tuple[int, str, bytes]] = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            if number == len(lines):  # no newline at the end: the writer was killed during the write
                raise BadLine("torn: the run was stopped while it was written")
            records.append(from_line(line.decode("utf-8", "replace")))
        except BadLine as error:
            damaged.append((number, str(error), line))
        except NewerLine as error:
            raise StoreError(
                f"line {number} is {error}",
                culprit=str(path),
                next_step="Use a newer release of harness. Nothing in the folder was changed.",
            ) from None
    return records, damaged


class Store:
    """A results folder that is open for writing. Use `open_store`, which takes the lock, to create one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, Record] = {}
        """The last record of each key."""
        self._machines: set[str] = set()
        """Machines written since the store was opened."""
        self._lines: list[bytes] = []
        """The lines of the file of records in their order, as this process has read or written them."""
        self._digest = hashlib.sha256()
        """Digest of these lines. It is in the memory of this process only: a trial cannot know or change it."""
        if (folder / RECORDS).exists():
            self._load()
        self._handle = self._open_records()
        self._state = _state_of(self._handle)
        """Size and times of the file after the last check or write of this process."""

    def _open_records(self) -> int:
        return _open_own(self.folder / RECORDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _load(self) -> None:
        """Load intact records, and move damaged lines to another file. The trials of damaged lines run again."""
        records, damaged = _read(self.folder)
        self.records = {record.key: record for record in records}
        if not damaged:
            self._add_lines((self.folder / RECORDS).read_bytes())
            return
        for number, why, _ in damaged:
            warnings.warn(f"{self.folder / RECORDS}, line {number}: {why}; moved to {DAMAGED}", stacklevel=4)
        self._put_aside(b"".join(line + b"\n" for _, _, line in damaged))
        kept = "".join(map(to_line, records)).encode()
        write_file(self.folder / RECORDS, kept)
        self._add_lines(kept)

    def _add_lines(self, content: bytes) -> None:
        """Add lines to those that the file of records must have."""
        self._lines += [line + b"\n" for line in content.split(b"\n")[:-1]]
        self._digest.update(content)

    def _put_aside(self, content: bytes) -> None:
        with open(_open_own(self.folder / DAMAGED, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as aside:
            aside.write(content)
            aside.flush()
            os.fsync(aside.fileno())

    def append(self, record: Record, ranks: bytes | None = None) -> None:
        """Store the record of a trial, and its ranks before it; both are synced to disk.

        Raises
        ------
        StoreError
            If the folder cannot be written. Earlier records are unchanged, and no partial record is left.
        """
        self.make_sure()
        try:
            if ranks is not None:
                write_file(self._ranks_folder() / f"{record.key}.npy", ranks, read_only=True)
            self._append(to_line(record).encode())
        except OSError as error:
            before = counted(len(self.records), "trial before is", "trials before are")
            raise StoreError(
                f"cannot write to {self.folder}: {error.strerror}; the {before} safe: "
                "make room and give the same command again"
            ) from error
        self.records[record.key] = record

    def _append(self, line: bytes) -> None:
        append_line(self._handle, line)
        self._add_lines(line)
        size = self._state[0] + len(line)
        found = _state_of(self._handle)
        self._state = (size, *found[1:])  # a line that another process has added meanwhile makes the sizes differ

    def _ranks_folder(self) -> Path:
        folder = self.folder / RANKS
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise StoreError("is a link to another place", culprit=str(folder), next_step="Put a folder there.")
        return folder

    def make_sure(self, *, at_end: bool = False) -> None:
        """Check that the file of records has the lines of this process and no others; else write it again from memory.

        Lines that this process did not write, such as those that a learner has forged, are reported and moved to
        another file.

        Parameters
        ----------
        at_end : bool, default=False
            True to compare the whole file with its digest, even if its size and times are as expected.

        Raises
        ------
        StoreError
            If the folder itself was removed.
        """
        if not self.folder.is_dir():
            lost = counted(len(self.records), "record", "records")
            raise StoreError(
                f"the results folder was removed during the run, with {lost} in it",
                culprit=str(self.folder),
                next_step="Repeat the command.",
            )
        path = self.folder / RECORDS
        known = counted(len(self.records), "record")
        try:
            if not _is_at(self._handle, path):
                if path.is_file():
                    self._put_aside(path.read_bytes())
                self._write_anew()
                warnings.warn(f"{path} was taken away during the run: written anew, with all {known}", stacklevel=3)
            elif at_end or _state_of(self._handle) != self._state:
                self._verify(path, known)
        except OSError as error:
            raise StoreError(f"{path} was changed during the run and cannot be written anew: {error}") from error

    def _verify(self, path: Path, known: str) -> None:
        """Compare the file of records with its digest; if it differs, set foreign lines aside and write it again."""
        with path.open("rb") as file:
            content = file.read(sum(map(len, self._lines)) + MOST_FOREIGN_BYTES)
        if hashlib.sha256(content).digest() == self._digest.digest():
            self._state = _state_of(self._handle)
            return
        foreign = find_foreign(content, self._lines)
        self._put_aside(b"".join(line + b"\n" for _, line in foreign))
        self._write_anew()
        for number, line in foreign[:MOST_NAMED]:
            warnings.warn(
                f"{path}, line {number}: {_describe_line(line)} was not written by harness but by another process, "
                f"perhaps a learner; moved to {DAMAGED}",
                stacklevel=4,
            )
        if len(foreign) > MOST_NAMED:
            warnings.warn(f"{path}: {len(foreign) - MOST_NAMED:,} more such lines, moved to {DAMAGED}", stacklevel=4)
        if not foreign:
            warnings.warn(f"{path} lost lines during the run: written anew, with all {known}", stacklevel=4)

    def _write_anew(self) -> None:
        write_file(self.folder / RECORDS, b"".join(self._lines))
        os.close(self._handle)
        self._handle = self._open_records()
        self._state = _state_of(self._handle)

    def add_machine(self, machine: Machine) -> None:
        """Write a machine that records refer to, once."""
        if machine.id in self._machines:
            return
        machines = _read_facts(self.folder) | {machine.id: asdict(machine)}
        try:
            write_file(self.folder / MACHINES, json.dumps(machines, indent=2) + "\n")
        except OSError as error:
            raise StoreError(f"cannot write to {self.folder}: {error.strerror}") from error
        self._machines.add(machine.id)

    def describe(
        self, experiment: str, machine: Machine, incompatible: Sequence[str] = (), *, file: str = EXPERIMENT
    ) -> None:
        """Write the files that describe a run.

        Parameters
        ----------
        experiment : str
            The experiment as TOML.
        machine : Machine
            The machine of this run.
        incompatible : sequence of str
            A line for each learner that cannot run on some datasets.
        file : str
            The name of the file for the experiment.
        """
        self.add_machine(machine)
        try:
            write_file(self.folder / file, experiment)
            if incompatible:
                write_file(self.folder / INCOMPATIBLE, "".join(f"{line}\n" for line in incompatible))
            else:
                (self.folder / INCOMPATIBLE).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {self.folder}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file of records."""
        os.close(self._handle)


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Open a results folder for writing, and hold its lock until the block ends. A missing folder is created.

    Raises
    ------
    StoreError
        If another process has the lock, or if the folder cannot be written.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held = stack.enter_context(lock(folder / LOCK, wait=False))
        except BlockingIOError:
            raise StoreError(
                f"{folder} is being written by process {_read_holder(folder)}. Wait for it, or use another --out."
            ) from None
        except OSError as error:
            raise _about_link(folder / LOCK, error) or StoreError(
                f"cannot write to {folder}: {error.strerror}. Choose another folder with --out."
            ) from error
        store = _open_locked(folder, held)
        stack.callback(store.close)
        try:
            yield store
        except BaseException:
            with suppress(StoreError):  # the first error counts
                store.make_sure(at_end=True)
            raise
        store.make_sure(at_end=True)


def _read_holder(folder: Path) -> str:
    """Return the number of the process that holds the lock of a folder, from the lock file."""
    try:
        return read_regular(folder / LOCK)[:32].decode(errors="replace").strip() or "unknown"
    except OSError:
        return "unknown"


def _open_locked(folder: Path, held: int) -> Store:
    try:
        os.ftruncate(held, 0)
        os.pwrite(held, f"{os.getpid()}\n".encode(), 0)
        remove_temporary_files(folder)
        ranks = folder / RANKS
        if not ranks.is_symlink():
            ranks.mkdir(exist_ok=True)  # a trial can only hide a folder that exists
            remove_temporary_files(ranks)
        return Store(folder)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error


def _open_own(path: Path, flags: int) -> int:
    """Open a file of a results folder; raise StoreError for a link, which could lead to any file of the user."""
    try:
        return open_unlinked(path, flags)
    except OSError as error:
        raise _about_link(path, error) or error from None


def _about_link(path: Path, error: OSError) -> StoreError | None:
    if error.errno == errno.ELOOP:
        return StoreError("is a link to another place", culprit=str(path), next_step="Remove the link.")
    return None


MOST_NAMED, MOST_FOREIGN_BYTES = 3, 2**26
"""Foreign lines that are reported by name, and the bytes of foreign lines that are read."""


def find_foreign(content: bytes, own: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return the lines of a file, with their numbers, that are not among `own` or occur more often than there."""
    left = Counter(own)
    foreign = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if left[line + b"\n"]:
            left[line + b"\n"] -= 1
        elif line:
            foreign.append((number, line))
    return foreign


def _describe_line(line: bytes) -> str:
    """Return the learner and the dataset of a record, for a message."""
    try:
        record = from_line(line.decode("utf-8", "replace"))
    except (BadLine, NewerLine):
        return "the line"
    return f"the record of {record.label} on {record.dataset}"


def _state_of(handle: int) -> tuple[int, int, int]:
    """Return size and times of an open file; the kernel sets the last time, and a process cannot set it back."""
    facts = os.fstat(handle)
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _is_at(handle: int, path: Path) -> bool:
    """Return whether a path still leads to the file that was opened as `handle`."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False
