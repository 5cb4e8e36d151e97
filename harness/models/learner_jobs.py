"""The jobs of a learner that needs an environment: train it and save its files, or load them and answer requests.

Both run in the Python of the environment; `harness.models.learner_process` starts them. Requests and replies are frames
of `harness.executors.wire` with numpy arrays, without pickle.
"""

from __future__ import annotations

import io
import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.errors import ModelError
from harness.executors import wire
from harness.executors.base import Sealed
from harness.host.contract import Taxonomy
from harness.host.introspection import import_target
from harness.models.estimators import read_foreign, save_learner, saved_as
from harness.models.folder import SavedAs, first_line
from harness.sdk.saving import load_saved
from harness.sdk.texts import Texts
from harness.text import in_a_line
from harness.trials.clock import limit_threads
from harness.trials.data import TrainingPart, as_text_array
from harness.trials.fit import fit
from harness.trials.predict import all_scores, gives_scores, has_scores, next_array, rank_with_scores, scoring_method
from harness.trials.trial import Blueprint

SAVED, TRAINING = "learner", "training"
"""Names in the folder of a `FitJob`: what the learner is saved to, and the training rows."""
MESSAGE_LENGTH = 300


@dataclass(frozen=True)
class FitJob:
    """A learner to train: the payload of its process."""

    blueprint: Blueprint
    seed: int | None
    wants_taxonomy: bool
    folder: str
    """Has the training rows, and gets the files of the fitted learner."""
    threads: int


def fit_job(job: FitJob, send: Callable[[str], None]) -> tuple[dict[str, Any], None]:
    """Train a learner and save its files; the function of a job."""
    try:
        limit_threads(job.threads)
        with Path(job.folder, TRAINING).open("rb") as file:
            part = TrainingPart(read_rows(file), read_rows(file))
            taxonomy = read_taxonomy(file)
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


def _answer(learner: Any, request: dict[str, Any], X: Any) -> list[NDArray[Any]]:
    if request["call"] == "scores":
        scores = all_scores(learner, X)
        assert scores is not None  # the host has checked it
        return [np.ascontiguousarray(scores)]
    ranks, listed = rank_with_scores(learner, X, request["k"], request["n_classes"])
    return [ranks] if listed is None else [ranks, listed]


def _reply(channel: socket.socket, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    blob = io.BytesIO()
    for array in arrays:
        np.save(blob, np.ascontiguousarray(array), allow_pickle=False)
    channel.sendall(wire.pack(wire.BLOB, blob.getvalue()) + wire.pack_json(wire.RESULT, header))


def ready_job(payload: None, send: Callable[[str], None]) -> tuple[None, None]:
    """Do nothing: the job ends when the server of the environment is ready."""
    return None, None


FIT_TARGET, LOAD_TARGET, READY_TARGET = (f"{one.__module__}:{one.__name__}" for one in (fit_job, load_job, ready_job))


# -- rows as bytes ---------------------------------------------------------------------------------------------------


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


def write_taxonomy(file: BinaryIO, taxonomy: Taxonomy | None) -> None:
    """Write a class tree to the end of a file; nothing for None."""
    if taxonomy is not None:
        for array in (taxonomy.parent, taxonomy.class_node):
            np.save(file, np.asarray(array), allow_pickle=False)
        names = Texts.of(taxonomy.node_names)
        np.save(file, names.content, allow_pickle=False)
        np.save(file, names.bounds, allow_pickle=False)


def read_taxonomy(file: BinaryIO) -> Taxonomy | None:
    """Return the class tree at the end of a file; None if the file ends before it."""
    if not file.read(1):
        return None
    file.seek(-1, os.SEEK_CUR)
    parent, class_node, content, bounds = (next_array(file).copy() for _ in range(4))
    return Taxonomy(parent, class_node, tuple(Texts(content, bounds)))
