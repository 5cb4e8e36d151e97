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

A line of records.jsonl is JSON with a checksum. It is validated field by field when it is read. Lines in older formats
are converted to the present one.
"""

from __future__ import annotations

import errno
import json
import os
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.errors import HarnessError, StoreError
from harness.files.atomic import append_line, lock, open_unlinked, remove_temporary_files, write_file
from harness.records.record import FORMAT, Measured, Record
from harness.syntax.expression import Params
from harness.syntax.split import parse_split
from harness.system.machine import Machine, read_machine
from harness.text import counted

RECORDS, DAMAGED, LOCK, SAME_CODE = "records.jsonl", "damaged.jsonl", "lock", "same_code.json"
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
        facts = json.loads((folder / MACHINES).read_text(encoding="utf-8"))
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
        listed = json.loads(path.read_text(encoding="utf-8"))
        return [SameCode(**{field.name: str(one[field.name]) for field in fields(SameCode)}) for one in listed]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"cannot be read ({type(error).__name__}: {error})",
            culprit=str(path),
            next_step="remove the file: trials of earlier code then run again",
        ) from error


def write_same_code(folder: Path, statements: Sequence[SameCode]) -> None:
    """Replace the statements in a folder."""
    listed = [asdict(one) for one in statements]
    write_file(folder / SAME_CODE, json.dumps(listed, indent=2) + "\n")


def read_incompatible(folder: Path) -> tuple[str, ...]:
    """Return a line for each learner that could not run on some datasets of the last run."""
    try:
        return tuple((folder / INCOMPATIBLE).read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return ()


def read_ranks(folder: Path, key: str) -> bytes | None:
    """Return the stored ranks of a trial as the bytes of a .npy file; None if there are none."""
    try:
        return (folder / "ranks" / f"{key}.npy").read_bytes()
    except FileNotFoundError:
        return None


def no_results_in(folder: Path) -> StoreError:
    """Return the error for a folder without records."""
    return StoreError(f"{folder} is not a results folder: it has no {RECORDS}", next_step="harness run --out makes one")


def _read(folder: Path) -> tuple[list[Record], list[tuple[int, str, bytes]]]:
    path = folder / RECORDS
    if path.exists() and not path.is_file():  # reading a pipe may block forever
        raise StoreError(f"{path} cannot be read: it is a directory, a pipe or a device")
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
            if number == len(lines):  # no newline at the end: the writer was killed during the write
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
    """A results folder that is open for writing. Use `open_store`, which takes the lock, to create one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, Record] = {}
        """The last record of each key."""
        self._machines: set[str] = set()
        """Machines written since the store was opened."""
        if (folder / RECORDS).exists():
            self._load()
        self._handle = self._open_records()

    def _open_records(self) -> int:
        return _open_own(self.folder / RECORDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _load(self) -> None:
        """Load intact records, and move damaged lines to another file. The trials of damaged lines run again."""
        records, damaged = _read(self.folder)
        self.records = {record.key: record for record in records}
        if not damaged:
            return
        for number, why, _ in damaged:
            warnings.warn(f"{self.folder / RECORDS}, line {number}: {why}; moved to {DAMAGED}", stacklevel=4)
        self._put_aside(b"".join(line + b"\n" for _, _, line in damaged))
        write_file(self.folder / RECORDS, "".join(map(to_line, records)))

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
            append_line(self._handle, to_line(record).encode())
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
        """Check that the file of records still exists; if it was removed or replaced, write it again from memory.

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
                next_step="give the same command again",
            )
        path = self.folder / RECORDS
        if _is_at(self._handle, path):
            return
        try:
            if path.exists():
                self._put_aside(path.read_bytes())
            kept = "".join(map(to_line, self.records.values()))
            write_file(path, kept)
            os.close(self._handle)
            self._handle = self._open_records()
        except OSError as error:
            raise StoreError(f"{path} was taken away during the run and cannot be written anew: {error}") from error
        known = counted(len(self.records), "record")
        warnings.warn(f"{path} was taken away during the run: written anew, with all {known}", stacklevel=3)

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
                f"{folder} is being written by process {_read_holder(folder)}: wait for it, or use another --out"
            ) from None
        except OSError as error:
            raise _about_link(folder / LOCK, error) or StoreError(
                f"cannot write to {folder}: {error.strerror}: choose another folder with --out"
            ) from error
        store = _open_locked(folder, held)
        stack.callback(store.close)
        yield store
        store.make_sure()


def _read_holder(folder: Path) -> str:
    """Return the number of the process that holds the lock of a folder, from the lock file."""
    try:
        return (folder / LOCK).read_bytes()[:32].decode(errors="replace").strip() or "unknown"
    except OSError:
        return "unknown"


def _open_locked(folder: Path, held: int) -> Store:
    try:
        os.ftruncate(held, 0)
        os.pwrite(held, f"{os.getpid()}\n".encode(), 0)
        remove_temporary_files(folder)
        if not (folder / "ranks").is_symlink():
            remove_temporary_files(folder / "ranks")
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
        return StoreError("is a link to another place", culprit=str(path), next_step="remove the link")
    return None


def _is_at(handle: int, path: Path) -> bool:
    """Return whether a path still leads to the file that was opened as `handle`."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


# -- lines -----------------------------------------------------------------------------------------------------------


TIMES_OF_RANKING = {"predict": "rank", "predict_one": "rank_one", "predict_one_p99": "rank_one_p99"}
"""Present names of scores, by their names in formats 1 and 2."""


LARGEST_NUMBER = 1e18
GIVEN = ("tuned", "tuning")
"""Fields with parameters of the user, which may be infinite."""
MOST_TEXT, MOST_WARNINGS = 1 << 16, 20


class BadLine(ValueError):
    """A line is incomplete, was changed, or is no record."""


class NewerLine(ValueError):
    """A line is a complete record in the format of a newer release."""


_RECORD = TypeAdapter(Record)
_MEASURED = TypeAdapter(Measured)


def as_plain(record: Record) -> dict[str, Any]:
    """Return a record as JSON values; the split is a text."""
    # The JSON mode of pydantic would convert an infinite parameter to None.
    plain: dict[str, Any] = _RECORD.dump_python(record)
    return plain | {"split": str(record.split)}


def measured_from_plain(plain: object) -> Measured:
    """Return the measurements that a trial's process sent, with long texts cut.

    The values are not trusted, because the learner's code runs in that process.

    Raises
    ------
    ValueError
        If a field is missing or has a wrong type, or if a number is infinite or too large.
    """
    try:
        measured = _MEASURED.validate_json(json.dumps(plain), strict=True)
        _check_numbers(asdict(measured), "")
        return _cut(measured)
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def _check_numbers(value: object, place: str) -> None:
    """Raise ValueError for numbers that are infinite or too large; `place` names the field."""
    if isinstance(value, dict):
        for name, inside in value.items():
            _check_numbers(inside, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple):
        for inside in value:
            _check_numbers(inside, place)
    elif isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER and not place.startswith(GIVEN):
        raise ValueError(f"{place}: expected a number that is finite, and below {LARGEST_NUMBER:g}")


def _cut(measured: Measured) -> Measured:
    """Return the measurements with long texts cut."""
    return replace(
        measured,
        message=measured.message[:MOST_TEXT],
        traceback=measured.traceback[-MOST_TEXT:],
        output=measured.output[-MOST_TEXT:],
        warnings=tuple(text[:MOST_TEXT] for text in measured.warnings[:MOST_WARNINGS]),
    )


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def to_line(record: Record) -> str:
    """Return a record as one JSON line. Its last key is the checksum of the text before."""
    text = json.dumps(as_plain(record), separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def from_line(line: str) -> Record:
    """Return the record in a line.

    Raises
    ------
    BadLine
        If the line is incomplete, was changed, or has invalid fields. The message names the problem.
    NewerLine
        If a newer release wrote the record.
    """
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine("not whole") from None
    if not isinstance(content, dict) or "crc32" not in content:
        raise BadLine("no record")
    body = line.rstrip("\n").rpartition(',"crc32":')[0] + "}"
    if f"{zlib.crc32(body.encode(errors='replace')):08x}" != content.pop("crc32"):
        raise BadLine("changed since it was written (checksum)")
    written_in = content.get("format", 0)
    if not isinstance(written_in, int):
        raise BadLine(f"its format is no number: {written_in!r}")
    if written_in > FORMAT:
        raise NewerLine(f"a record of format {written_in}, and this harness knows formats up to {FORMAT}")
    try:
        if written_in == 1:
            content = _from_first_format(content)
        if written_in <= 2:
            content = _from_second_format(content)
        if isinstance(content.get("split"), str):  # files have the split as a text
            content["split"] = asdict(parse_split(content["split"]))
        return _RECORD.validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        raise BadLine(f"fields are missing or wrong: {_first_problem(error)}") from None
    except (HarnessError, KeyError, TypeError, AttributeError) as error:
        raise BadLine(f"fields are missing or wrong: {error}") from None


# -- lines in older formats ------------------------------------------------------------------------------------------


def _from_first_format(content: dict[str, Any]) -> dict[str, Any]:
    """Convert format 1, which had no families, and `pass` instead of `passes` in the points of curves."""
    curve = [{"passes": point["pass"], "scores": point["scores"]} for point in content.get("curve", ())]
    return content | {
        "family": _family_in(content["label"], content["params"]),
        "dataset_family": _family_in(content["dataset"], content["dataset_params"]),
        "curve": curve,
        "format": FORMAT,
    }


def _from_second_format(content: dict[str, Any]) -> dict[str, Any]:
    """Convert format 2, which timed the ranking only and named these times after `predict`."""
    curve = [point | {"scores": _renamed(point["scores"])} for point in content.get("curve", ())]
    return content | {"scores": _renamed(content["scores"]), "curve": curve, "format": FORMAT}


def _renamed(scores: dict[str, Any]) -> dict[str, Any]:
    return {TIMES_OF_RANKING.get(name, name): value for name, value in scores.items()}


def _family_in(label: str, params: Params) -> str:
    """Return a label without the values of a grid, if the text in its brackets names parameters.

    Examples
    --------
    >>> _family_in("pa(C=0.1)", {"C": 0.1}), _family_in("bag(pa)", {"base": "pa"})
    ('pa', 'bag(pa)')
    """
    head, bracket, inside = label.rstrip(")").partition("(")
    if not bracket:
        return label
    names = [part.partition("=")[0] for part in inside.split(", ")]
    return head if all(name in params for name in names) else label
