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
import shutil
import socket
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.metaestimators import available_if

from harness.environments import ReadyEnvironment, environment_for
from harness.errors import ModelError
from harness.executors import wire
from harness.executors.base import Job, JobEnd, Sealed, Workplace
from harness.executors.local import LocalExecutor, paths_of
from harness.experiment.resolve import ResolvedLearner, environment_of, find_or_build_environment
from harness.host.contract import LearnerSpec, Taxonomy
from harness.host.discovery import Session
from harness.host.introspection import import_target
from harness.models.estimators import read_foreign, save_learner, saved_as
from harness.models.folder import FileFacts, SavedAs, copy_regular, first_line
from harness.sdk.saving import load_saved
from harness.sdk.texts import Texts
from harness.sdk.threads import allowed_threads
from harness.syntax.expression import Params
from harness.text import in_a_line
from harness.trials.clock import limit_threads
from harness.trials.data import TrainingPart, as_text_array
from harness.trials.fit import fit
from harness.trials.predict import all_scores, gives_scores, has_scores, next_array, rank_with_scores, scoring_method
from harness.trials.trial import Blueprint

SAVED = "learner"
"""Name of the file or folder that a learner in an environment is saved to."""
TRAINING = "training"
GROUP = "environment"
"""The executor's group of jobs that run in the environment."""
BLOCK_VALUES = 4_000_000
"""Maximum number of scores in a reply; more rows are asked for in blocks."""
REPLY_BYTES = 2**20
"""Space for headers in a reply, besides its values."""
CLASSES_BYTES = 2**27
"""Limit for the class positions of a learner."""
CLOSE_SECONDS = 5.0
MESSAGE_LENGTH = 300
DEVICES = ("proc", "sys", "dev")
"""Folders at the root that are not files of anyone."""


@dataclass(frozen=True)
class LearnerHome:
    """The environment in which the code of a learner runs."""

    spec: LearnerSpec
    environment: ReadyEnvironment
    path: tuple[str, ...]
    """Folders of plugins."""

    @property
    def workplace(self) -> Workplace:
        """The settings of its processes."""
        return Workplace(
            preload={GROUP: (__name__,)},
            threads=allowed_threads(),
            path=self.path,
            interpreters={GROUP: str(self.environment.python)},
            read_only=_all_folders(),
        )


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
    environment = environment_for(spec.environment)
    assert environment is not None
    ready = find_or_build_environment(environment, [spec.name], build=False, say=say)
    return LearnerHome(spec, ready, paths_of(session.folders))


def _all_folders() -> tuple[str, ...]:
    """Return the folders at the root of the file system, without those of devices."""
    with os.scandir("/") as found:
        return tuple(one.path for one in found if one.is_dir(follow_symlinks=False) and one.name not in DEVICES)


# -- training --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FitJob:
    """A learner to train: the payload of its process."""

    blueprint: Blueprint
    seed: int | None
    wants_taxonomy: bool
    folder: str
    """Has the training rows, and gets the files of the fitted learner."""
    threads: int


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
        _write_taxonomy(file, taxonomy)
    job = FitJob(blueprint, seed, wants_taxonomy, folder.path, allowed_threads())
    with LocalExecutor(home.workplace) as executor:
        ((_, end),) = executor.run([Job(FIT_TARGET, job, group=GROUP)])
    Path(folder.path, TRAINING).unlink()
    _raise_error_of(end, home.spec.name)
    how: SavedAs = end.answer["saved_as"]
    return ProcessLearner(home, Path(folder.path, SAVED), how, None, params=end.answer["params"], kept=folder)


def fit_job(job: FitJob, send: Callable[[str], None]) -> tuple[dict[str, Any], None]:
    """Train a learner and save its files; the function of a job."""
    try:
        limit_threads(job.threads)
        with Path(job.folder, TRAINING).open("rb") as file:
            part = TrainingPart(read_rows(file), read_rows(file))
            taxonomy = _read_taxonomy(file)
        send("fit")
        learner = fit(job.blueprint, part, seed=job.seed, taxonomy=taxonomy, wants_taxonomy=job.wants_taxonomy)
        send("save")
        save_learner(learner, Path(job.folder, SAVED))
    except (Exception, SystemExit) as error:
        return {"error": _fields_of(error)}, None
    params = learner.get_params(deep=False) if hasattr(learner, "get_params") else {}
    return {"saved_as": saved_as(learner), "params": json.loads(json.dumps(params, default=repr))}, None


def _fields_of(error: BaseException) -> dict[str, str]:
    """Return an error as the parts of a ModelError."""
    if isinstance(error, ModelError):
        return error.fields()
    return {"trouble": in_a_line(first_line(error), MESSAGE_LENGTH)}


def _raise_error_of(end: JobEnd, name: str) -> None:
    """Raise ModelError if a job has failed."""
    if end.status != "ok":
        raise ModelError(_death(end), culprit=f"learner {name!r}")
    if "error" in end.answer:
        raise ModelError(**end.answer["error"]).about(f"learner {name!r}")


def _death(end: JobEnd) -> str:
    """Return why a process ended, with the last line that it printed."""
    printed = end.output.strip().splitlines()
    said = f"; it printed: {in_a_line(printed[-1], MESSAGE_LENGTH)}" if printed else ""
    return f"its process failed ({end.message}){said}"


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
        self.classes_: NDArray[np.int64] = opened.arrays[0]
        self.has_scores: bool = opened.header["has_scores"]
        self._all_scores: bool = opened.header["has_all_scores"]
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

    @available_if(lambda self: self.has_scores)
    def rank_scored(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the k best classes of each row as `rank`, and their scores."""
        ranks, scores = self._ranked(X, k)
        assert scores is not None
        return ranks, scores

    @available_if(lambda self: self._all_scores)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of all classes, rows x classes."""
        found = [np.empty((0, self.classes_.size))]
        for block in _blocks(X, self.classes_.size):
            shape = (block.shape[0], self.classes_.size)
            (scores,) = self._ask({"call": "scores"}, block, 8 * shape[0] * shape[1]).arrays
            found.append(_expect(scores, shape, np.float64))
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
            given = _expect(reply.arrays[0], shape, np.int32)
            if given.size and not -1 <= given.min() <= given.max() < self.n_classes:
                raise ModelError("its process named a class that does not exist")
            ranks.append(place[given])
            scores += [_expect(reply.arrays[1], shape, np.float64)] if self.has_scores else []
        return np.concatenate(ranks), np.concatenate(scores) if self.has_scores else None

    def _ask(self, header: dict[str, Any], X: Any, n_bytes: int) -> Message:
        return self._process.ask(header, [X], n_bytes + REPLY_BYTES)


def _blocks(X: Any, width: int) -> Iterator[Any]:
    step = max(1, BLOCK_VALUES // max(width, 1))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]


def _expect(array: NDArray[Any], shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of a reply; raise ModelError unless it has this shape and type."""
    if array.shape != shape or array.dtype != dtype:
        raise ModelError(f"its process gave {array.dtype} of shape {array.shape}, expected {np.dtype(dtype)} {shape}")
    return array


class _TemporaryFolder:
    """A temporary folder that is removed together with this object."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="harness-model-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


# -- its process, as the host sees it --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A request or a reply: a header for JSON, and arrays."""

    header: dict[str, Any]
    arrays: list[NDArray[Any]]


@dataclass(frozen=True)
class LoadJob:
    """A learner to load and to ask: the payload of its process."""

    load: str
    """Its registered class, as "module:Class"."""
    files: str
    saved_as: SavedAs
    trusted: tuple[str, ...] | None
    threads: int = 1
    channel: int = -1
    """The socket for requests: on the host the end to pass on, in the process the inherited one."""

    def sealed(self) -> Sealed:
        """Return the job for its process, which inherits the socket."""
        return Sealed(replace(self, channel=-1), open(os.dup(self.channel), "rb", buffering=0))

    def with_file(self, handle: int) -> LoadJob:
        """Return the job with the descriptor of its socket."""
        return replace(self, channel=handle)


class _Process:
    """The process of a fitted learner: starts it, exchanges messages, and ends it.

    The executor needs a thread, since it watches the process until it ends.
    """

    def __init__(self, home: LearnerHome, job: LoadJob) -> None:
        self.name = home.spec.name
        self._lock = threading.Lock()
        self._end: JobEnd | None = None
        self._channel, self._theirs = socket.socketpair()
        self._executor = LocalExecutor(home.workplace)
        self._executor.start()
        given = Job(LOAD_TARGET, replace(job, channel=self._theirs.fileno()), group=GROUP)
        self._thread = threading.Thread(target=self._watch, args=(given,), daemon=True)
        self._thread.start()

    def _watch(self, job: Job) -> None:
        try:
            for _, end in self._executor.run([job]):
                self._end = end
        except Exception as error:  # the fork server does not start
            self._end = JobEnd("crash", message=str(error))
        finally:
            self._theirs.close()
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)  # wakes a request that waits for its reply

    def ask(self, header: dict[str, Any], rows: Sequence[Any], most_bytes: int) -> Message:
        """Send a request and return the reply, whose arrays have at most `most_bytes` bytes.

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
            except (OSError, EOFError, ValueError, KeyError, RecursionError) as error:
                self.close()
                reason = str(error) if self._end is None or self._end.status == "ok" else _death(self._end)
                raise ModelError(reason or "its process has ended", culprit=f"learner {self.name!r}") from None
        if "error" in reply.header:
            raise ModelError(**reply.header["error"])
        return reply

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
                else:
                    return Message(json.loads(content), _arrays_from(blob))

    def close(self) -> None:
        """End the process, at once if it does not react. Closing it again does nothing."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self._executor.abandon()
            self._thread.join(CLOSE_SECONDS)
        self._channel.close()
        self._executor.close()


# -- its process, inside ---------------------------------------------------------------------------------------------


def load_job(job: LoadJob, send: Callable[[str], None]) -> tuple[None, None]:
    """Load a learner and answer requests until the host closes the socket; the function of a job."""
    with socket.socket(fileno=job.channel) as channel:
        try:
            limit_threads(job.threads)
            send("load")
            learner = _loaded(job)
            classes = np.asarray(learner.classes_)
            if classes.ndim != 1 or classes.dtype.kind not in "iu":
                raise ModelError("the learner and the class names do not fit together")
            has_all = has_scores(learner) or scoring_method(learner) is not None
            about = {"has_scores": gives_scores(learner), "has_all_scores": has_all}
            _reply(channel, about, [classes.astype(np.int64)])
        except (Exception, SystemExit) as error:
            _reply(channel, {"error": _fields_of(error)}, [])
            return None, None
        send("predict")
        while (content := wire.receive(channel)) is not None:
            rows = wire.receive(channel) or b""
            try:
                found = _answer(learner, json.loads(content), read_rows(io.BytesIO(rows)))
            except (Exception, SystemExit) as error:
                _reply(channel, {"error": _fields_of(error)}, [])
            else:
                _reply(channel, {}, found)
    return None, None


FIT_TARGET, LOAD_TARGET = (f"{function.__module__}:{function.__name__}" for function in (fit_job, load_job))


def _loaded(job: LoadJob) -> Any:
    path = Path(job.files)
    if job.saved_as == "skops":
        own = job.load.replace(":", ".")
        return read_foreign(path, None if job.trusted is None else [*job.trusted, own])
    try:
        return load_saved(import_target(job.load), path)
    except ImportError as error:
        raise ModelError(f"its class {job.load} cannot be used: {error}") from error
    except Exception as error:  # code of a plugin reads the file, and can raise any error
        raise ModelError(f"{path.name} cannot be read: {first_line(error)}") from error


def _answer(learner: Any, asked: dict[str, Any], X: Any) -> list[NDArray[Any]]:
    if asked["call"] == "scores":
        scores = all_scores(learner, X)
        assert scores is not None  # the host has checked it
        return [np.ascontiguousarray(scores)]
    ranks, listed = rank_with_scores(learner, X, asked["k"], asked["n_classes"])
    return [ranks] if listed is None else [ranks, listed]


def _reply(channel: socket.socket, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    blob = io.BytesIO()
    for array in arrays:
        np.save(blob, np.ascontiguousarray(array), allow_pickle=False)
    channel.sendall(wire.pack(wire.BLOB, blob.getvalue()) + wire.pack_json(wire.RESULT, header))


# -- rows as bytes ---------------------------------------------------------------------------------------------------


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


def write_rows(file: BinaryIO, rows: Any) -> None:
    """Write texts, a sparse matrix or an array to a file, as consecutive numpy arrays after their number of columns.

    The number is -1 for texts and -2 for an array.
    """
    if issparse(rows):
        sparse = csr_array(rows)
        arrays = [np.array([sparse.shape[1]]), sparse.data, sparse.indices, sparse.indptr]
    elif np.asarray(rows).dtype == object:
        texts = Texts.of(rows)
        arrays = [np.array([-1]), texts.content, texts.bounds]
    else:
        arrays = [np.array([-2]), np.ascontiguousarray(rows)]
    for array in arrays:
        np.save(file, array, allow_pickle=False)


def read_rows(file: BinaryIO) -> Any:
    """Return the rows that `write_rows` wrote; the arrays can be changed."""
    columns = int(next_array(file)[0])
    if columns == -1:
        return as_text_array(Texts(next_array(file), next_array(file)))
    if columns == -2:
        return next_array(file).copy()
    data, indices, starts = (next_array(file).copy() for _ in range(3))
    return csr_array((data, indices, starts), shape=(starts.size - 1, columns))


def _write_taxonomy(file: BinaryIO, taxonomy: Taxonomy | None) -> None:
    if taxonomy is not None:
        for array in (taxonomy.parent, taxonomy.class_node):
            np.save(file, np.asarray(array), allow_pickle=False)
        names = Texts.of(taxonomy.node_names)
        np.save(file, names.content, allow_pickle=False)
        np.save(file, names.bounds, allow_pickle=False)


def _read_taxonomy(file: BinaryIO) -> Taxonomy | None:
    """Return the class tree at the end of a file; None if the file ends before it."""
    if not file.read(1):
        return None
    file.seek(-1, os.SEEK_CUR)
    parent, class_node, content, bounds = (next_array(file).copy() for _ in range(4))
    return Taxonomy(parent, class_node, tuple(Texts(content, bounds)))
