"""Learners that need other packages: train, load and predict in the Python of their environment.

The code of such a learner runs as a job of the local executor, like a trial. One job trains it and saves its files.
Another job loads these files and answers requests until the learner is closed. Requests and replies are frames of
`harness.executors.wire` with numpy arrays; nothing is unpickled. The second job reads a model that others may have
written. On systems that support it, it can write only to its temporary folder and to the data home.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from harness.environments import ReadyEnvironment, environment_for
from harness.errors import ModelError
from harness.executors import wire
from harness.executors.base import Job, JobEnd, Workplace
from harness.executors.local import LocalExecutor, paths_of
from harness.host.contract import LearnerSpec, Taxonomy
from harness.host.discovery import Session
from harness.models import learner_jobs
from harness.models.folder import FileFacts, SavedAs, copy_regular
from harness.models.learner_jobs import (
    FIT_TARGET,
    LOAD_TARGET,
    MESSAGE_LENGTH,
    READY_TARGET,
    SAVED,
    TRAINING,
    FitJob,
    LoadJob,
    write_rows,
    write_taxonomy,
)
from harness.sdk.threads import allowed_threads
from harness.syntax.expression import Params
from harness.text import in_a_line
from harness.trials.data import TrainingPart
from harness.trials.predict import next_array
from harness.trials.trial import Blueprint

if TYPE_CHECKING:
    from harness.experiment.resolve import ResolvedLearner

GROUP = "environment"
"""The executor's group of jobs that run in the environment."""
BLOCK_VALUES = 4_000_000
"""Maximum number of scores in a reply; more rows are requested in blocks."""
REPLY_BYTES = 2**20
"""Space for headers in a reply, besides its values."""
CLASSES_BYTES = 2**27
"""Limit for the class positions of a learner."""
CLOSE_SECONDS = 5.0
DEVICES = ("proc", "sys", "dev")
"""Folders at the root that are not files of anyone."""


@dataclass(frozen=True)
class LearnerHome:
    """The environment in which the code of a learner runs."""

    spec: LearnerSpec
    environment: ReadyEnvironment
    path: tuple[str, ...]
    """Folders of plugins."""

    @cached_property
    def server(self) -> SharedExecutor:
        """The executor of its jobs, shared by all learners of the same environment."""
        key = (str(self.environment.python), self.path, allowed_threads())
        with _LOCK:
            server = _SERVERS.get(key)
            if server is None:
                server = _SERVERS[key] = SharedExecutor(*key)
            return server


class SharedExecutor:
    """An executor for one environment. It is closed when no learner uses it any more."""

    def __init__(self, python: str, path: tuple[str, ...], threads: int) -> None:
        workplace = Workplace(
            preload={GROUP: (learner_jobs.__name__,)},
            threads=threads,
            path=path,
            interpreters={GROUP: python},
            read_only=_all_folders(),
        )
        self.executor = LocalExecutor(workplace)
        self.executor.start()
        weakref.finalize(self, self.executor.close)
        for _ in self.executor.run([Job(READY_TARGET, None, group=GROUP)]):
            pass  # from now on several threads can start jobs

    def run(self, job: Job) -> JobEnd:
        """Run a job to its end."""
        ((_, end),) = self.executor.run([job])
        return end


_LOCK = threading.Lock()
_SERVERS: WeakValueDictionary[tuple[str, tuple[str, ...], int], SharedExecutor] = WeakValueDictionary()


def find_home(learner: ResolvedLearner, session: Session, say: Callable[[str], None]) -> LearnerHome | None:
    """Return the environment in which a learner runs; None if it runs in this Python.

    Parameters
    ----------
    learner : ResolvedLearner
        The learner.
    session : Session
        Plugin settings.
    say : callable
        Receives a warning about a damaged environment.

    Raises
    ------
    HarnessError
        If the environment is not built. The next step has the command that builds it.
    ModelError
        If the learner wraps one that needs an environment.
    """
    from harness.experiment.resolve import environment_of  # noqa: PLC0415 (predictions start sooner without it)

    for chain in learner.chains():
        environment = environment_of(chain)
        if environment is None:
            continue
        if len(chain) > 1:
            needy = [inner.ref.label for inner in chain if inner.entry.spec.environment]
            raise ModelError(
                f"wraps {needy[0]}, which runs in its own environment; models do not support this",
                culprit=f"learner {learner.ref.label!r}",
                next_step=f"Fit {needy[0]} itself; `harness run` can compare both.",
            )
        return home_of(learner.entry.spec, session, say)
    return None


def home_of(spec: LearnerSpec, session: Session, say: Callable[[str], None] = lambda line: None) -> LearnerHome:
    """Return the environment of a learner that names packages; see `find_home`."""
    from harness.experiment.resolve import find_or_build_environment  # noqa: PLC0415 (as above)

    environment = environment_for(spec.environment)
    assert environment is not None
    ready = find_or_build_environment(environment, [spec.name], build=False, say=say)
    return LearnerHome(spec, ready, paths_of(session.folders))


def _all_folders() -> tuple[str, ...]:
    """Return the folders at the root of the file system, without those of devices."""
    with os.scandir("/") as found:
        return tuple(one.path for one in found if one.is_dir(follow_symlinks=False) and one.name not in DEVICES)


# -- training --------------------------------------------------------------------------------------------------------


def fit_in_process(
    home: LearnerHome,
    blueprint: Blueprint,
    part: TrainingPart,
    *,
    seed: int | None,
    taxonomy: Taxonomy | None = None,
    wants_taxonomy: bool = False,
) -> ProcessLearner:
    """Train a learner in its environment; the arguments are those of `harness.trials.fit.fit`.

    Raises
    ------
    ModelError
        If training fails, or if the learner cannot be saved without pickle.
    """
    folder = _TemporaryFolder()
    with Path(folder.path, TRAINING).open("wb") as file:
        write_rows(file, part.X)
        write_rows(file, part.y)
        write_taxonomy(file, taxonomy)
    job = FitJob(blueprint, seed, wants_taxonomy, folder.path, allowed_threads())
    end = home.server.run(Job(FIT_TARGET, job, group=GROUP, writable=(folder.path,)))
    Path(folder.path, TRAINING).unlink()
    _raise_error_of(end, home.spec.name)
    how: SavedAs = end.answer["saved_as"]
    return ProcessLearner(home, Path(folder.path, SAVED), how, None, params=end.answer["params"], kept=folder)


def _raise_error_of(end: JobEnd, name: str) -> None:
    """Raise ModelError if a job has failed."""
    if end.status != "ok":
        raise ModelError(_death(end), culprit=f"learner {name!r}")
    if "error" in end.answer:
        raise ModelError(**end.answer["error"]).about(f"learner {name!r}")


def _death(end: JobEnd) -> str:
    """Return why a process ended, with the last line that it printed."""
    printed = end.output.strip().splitlines()
    last_words = f"; it printed: {in_a_line(printed[-1], MESSAGE_LENGTH)}" if printed else ""
    return f"its process failed ({end.message}){last_words}"


# -- a fitted learner ------------------------------------------------------------------------------------------------


class ProcessLearner:
    """A fitted learner that runs in the Python of its environment.

    It has the methods of a learner that models use. Copies share the process. To store it, save the model.

    Parameters
    ----------
    home : LearnerHome
        The environment.
    files : Path
        The file or folder of the saved learner.
    saved_as : SavedAs
        How it was saved.
    trusted : sequence of str or None
        Further types that its file may have; None to allow all, for a file that was just written.
    params : mapping
        Its parameters.
    facts : mapping, optional
        Checksums of its files by their path below the model, which saving it again verifies.
    kept : object, optional
        Kept as long as the learner, such as the temporary folder with its files.

    Raises
    ------
    ModelError
        If its files cannot be read.
    """

    def __init__(
        self,
        home: LearnerHome,
        files: Path,
        saved_as: SavedAs,
        trusted: Sequence[str] | None,
        *,
        params: Params,
        facts: Mapping[str, FileFacts] | None = None,
        kept: object = None,
    ) -> None:
        self.home, self.files, self.saved_as, self.params = home, files, saved_as, params
        self._facts, self._kept = facts, kept
        load = LoadJob(home.spec.load, os.path.abspath(files), saved_as, None if trusted is None else tuple(trusted))
        self._process = _Process(home, replace(load, threads=allowed_threads()))
        weakref.finalize(self, self._process.close)
        opened = self._process.ask({}, [], CLASSES_BYTES)
        self.classes_ = _only(opened.arrays[:1], None, np.int64)
        self.has_scores = opened.header.get("has_scores") is True
        self._all_scores = opened.header.get("has_all_scores") is True
        self.n_classes = int(self.classes_.max(initial=-1)) + 1

    def __deepcopy__(self, memo: object) -> ProcessLearner:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.home.spec.name} runs in another process: save the model with Model.save")

    def copy_files(self, path: Path) -> None:
        """Copy its files to a new file or folder; raise ModelError if they have changed since they were read."""
        copy_regular(self.files, path, self._facts)

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """Return the positions in `classes_` of the k best classes of each row, best first; -1 pads."""
        return self._ranked(X, k)[0]

    @available_if(lambda self: self.has_scores)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def rank_scored(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the k best classes of each row as `rank`, and their scores."""
        ranks, scores = self._ranked(X, k)
        assert scores is not None
        return ranks, scores

    @available_if(lambda self: self._all_scores)  # type: ignore[untyped-decorator]  # as above
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of all classes, rows x classes."""
        found = [np.empty((0, self.classes_.size))]
        for block in _blocks(X, self.classes_.size):
            shape = (block.shape[0], self.classes_.size)
            reply = self._ask({"call": "scores"}, block, 8 * shape[0] * shape[1])
            found.append(_only(reply.arrays, shape, np.float64))
        return np.concatenate(found)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the best class of each row; the first class if none is ranked."""
        return self.classes_[np.maximum(self.rank(X, 1)[:, 0], 0)]

    def _ranked(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        place = np.full(self.n_classes + 1, -1, np.int32)
        place[self.classes_] = np.arange(self.classes_.size)
        ranks, scores = [np.empty((0, k), np.int32)], [np.empty((0, k))]
        for block in _blocks(X, k):
            shape = (block.shape[0], k)
            reply = self._ask({"call": "rank", "k": k, "n_classes": self.n_classes}, block, 12 * shape[0] * k)
            given = _only(reply.arrays[:1], shape, np.int32)
            if given.size and not -1 <= given.min() <= given.max() < self.n_classes:
                raise ModelError("its process named a class that does not exist")
            ranks.append(place[given])
            scores += [_only(reply.arrays[1:], shape, np.float64)] if self.has_scores else []
        return np.concatenate(ranks), np.concatenate(scores) if self.has_scores else None

    def _ask(self, header: dict[str, Any], X: Any, n_bytes: int) -> Message:
        return self._process.ask(header, [X], n_bytes + REPLY_BYTES)


def _blocks(X: Any, width: int) -> Iterator[Any]:
    step = max(1, BLOCK_VALUES // max(width, 1))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]


def _only(arrays: list[NDArray[Any]], shape: tuple[int, ...] | None, dtype: Any) -> NDArray[Any]:
    """Return the only array of a reply; raise ModelError unless it has this shape and type."""
    if len(arrays) != 1 or arrays[0].dtype != dtype or arrays[0].shape != (shape or (arrays[0].size,)):
        given = ", ".join(f"{array.dtype} {array.shape}" for array in arrays) or "nothing"
        raise ModelError(f"its process gave {given}, expected {np.dtype(dtype)} {shape or '(any,)'}")
    return arrays[0]


class _TemporaryFolder:
    """A temporary folder that is removed together with this object."""

    def __init__(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="harness-model-", ignore_cleanup_errors=True)
        self.path = folder.name
        weakref.finalize(self, folder.cleanup)


# -- its process, as the host sees it --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A request or a reply: a header for JSON, and arrays."""

    header: dict[str, Any]
    arrays: list[NDArray[Any]]


class _Process:
    """The process of a fitted learner: starts it, exchanges messages, and ends it.

    The executor needs a thread, since it watches the process until it ends.
    """

    def __init__(self, home: LearnerHome, job: LoadJob) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._end: JobEnd | None = None
        self._channel, self._theirs = socket.socketpair()
        given = Job(LOAD_TARGET, replace(job, channel=self._theirs.fileno()), group=GROUP)
        self._thread = threading.Thread(target=self._watch, args=(given,), daemon=True)
        self._thread.start()

    def _watch(self, job: Job) -> None:
        try:
            self._end = self.home.server.run(job)
        except Exception as error:  # the fork server does not start
            self._end = JobEnd("crash", message=str(error))
        finally:
            self._theirs.close()
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)  # wakes a request that waits for its reply

    def ask(self, header: dict[str, Any], rows: Sequence[Any], most_bytes: int) -> Message:
        """Send a request and return the reply, whose arrays have at most `most_bytes` bytes.

        Without a header nothing is sent: the first message of the process is awaited.

        Raises
        ------
        ModelError
            If the learner fails, or if its process has ended.
        """
        with self._lock:
            try:
                if header:
                    _send(self._channel, header, rows)
                reply = self._receive(most_bytes)
            except (OSError, EOFError, ValueError, RecursionError) as error:
                self.close()
                raise ModelError(self._why(error), culprit=f"learner {self.home.spec.name!r}") from None
        failed = reply.header.get("error")
        if isinstance(failed, dict):
            names = ("trouble", "culprit", "next_step")
            raise ModelError(**{name: str(failed.get(name, "")) for name in names})
        return reply

    def _why(self, error: Exception) -> str:
        """Return why there is no reply."""
        if self._end is not None and self._end.status != "ok":
            return _death(self._end)
        return f"its process gave no answer ({error})" if str(error) else "its process has ended"

    def _receive(self, most_bytes: int) -> Message:
        """Return the next message; EOFError if the process has ended, ValueError if the message is malformed."""
        reader = wire.FrameReader({wire.BLOB: most_bytes, wire.RESULT: wire.MOST_BYTES[wire.RESULT]})
        blob = b""
        while True:
            data = self._channel.recv(1 << 20)
            if not data:
                raise EOFError
            for tag, content in reader.feed(data):
                if tag == wire.BLOB:
                    blob = content
                    continue
                header = json.loads(content)
                if not isinstance(header, dict):
                    raise ValueError("not a message")
                return Message(header, _arrays_from(blob))

    def close(self) -> None:
        """Let the process end after the request that it answers. The executor kills it at the latest."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._thread.join(CLOSE_SECONDS)
        self._channel.close()


def _send(channel: socket.socket, header: dict[str, Any], rows: Sequence[Any]) -> None:
    blob = io.BytesIO()
    for one in rows:
        write_rows(blob, one)
    channel.sendall(wire.pack_json(wire.RESULT, header))
    channel.sendall(wire.pack(wire.BLOB, blob.getvalue()))


def _arrays_from(content: bytes) -> list[NDArray[Any]]:
    buffer, arrays = io.BytesIO(content), []
    while buffer.tell() < len(content):
        arrays.append(next_array(buffer))
    return arrays
