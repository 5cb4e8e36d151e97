"""Labelled texts for the update of a model: new rows of a file, old rows of the data home, and both together."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from harness.data.arrays import Header, is_complete, read_header
from harness.errors import DataError, HarnessError, ModelError
from harness.experiment.python import GIVEN
from harness.experiment.references import parse_dataset
from harness.experiment.resolve import preparer, resolve_dataset
from harness.files.atomic import hash_file
from harness.files.home import data_home, parsed_root
from harness.host.contract import Dataset, Labels, TableLayout, Taxonomy
from harness.host.discovery import Session
from harness.models.folder import ModelManifest
from harness.models.model import Model
from harness.models.predict import PredictionRequest, choose_text_columns, describe_source, open_rows, texts_of
from harness.sdk.outcomes import tree_from_parents
from harness.sdk.reading.tables import (
    Format,
    RowBatch,
    Table,
    as_text,
    find_columns,
    is_list,
    list_columns,
    read_batches,
)
from harness.sdk.texts import Texts
from harness.syntax.expression import Expression

MISSING_LABELS = frozenset(["", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NULL", "null"])
"""Marks of a missing label, as in files for training."""


@dataclass(frozen=True, kw_only=True)
class UpdateRequest:
    """A file of new rows for a model, and how to read it. Options that are None are as in training."""

    model: Path
    source: str
    text: str | None = None
    label: str | None = None
    form: Format | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    out: Path | None = None
    """New folder for the updated model; None to replace the model."""
    trusted: tuple[str, ...] = ()


# -- new rows --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with the class names of each, in the order of the file."""

    texts: Sequence[str]
    labels: Sequence[tuple[str, ...]]

    @property
    def has_several(self) -> bool:
        """True if a row has several labels, or none."""
        return any(len(names) != 1 for names in self.labels)

    @property
    def class_names(self) -> set[str]:
        """All labels."""
        return set(chain.from_iterable(self.labels))

    def positions(self, names: Sequence[str], *, several: bool) -> Labels:
        """Return the labels as positions in `names`; as an indicator matrix if rows may have several."""
        number = {name: position for position, name in enumerate(names)}
        flat = np.array([number[name] for name in chain.from_iterable(self.labels)], dtype=np.int64)
        if not several:
            return flat
        ends = np.cumsum([0, *map(len, self.labels)])
        return csr_array((np.ones(len(flat), np.int8), flat, ends), shape=(len(self.labels), len(names)))


def read_new_rows(model: Model, request: UpdateRequest) -> tuple[LabelledTexts, str]:
    """Return the texts and labels of a file, and a description of how it was read.

    Raises
    ------
    DataError
        If the file cannot be read, has no rows, lacks a column, or lacks a label.
    """
    if not os.path.isfile(request.source):
        raise DataError("no such file", culprit=request.source)
    reading = PredictionRequest(
        source=request.source,
        text=request.text,
        form=request.form,
        delimiter=request.delimiter,
        header=request.header,
        encoding=request.encoding,
    )
    params = model.manifest.data.params
    texts: list[str] = []
    labels: list[tuple[str, ...]] = []
    columns: list[str] = []
    with open_rows(model, reading) as table:
        for batch in read_batches(table):
            columns = columns or choose_text_columns(model, reading, table, batch.columns)
            label = _label_column(model, request, table, batch.columns, columns)
            found = _labels_of(batch, label, table, params)
            kept = [row for row, names in enumerate(found) if names is not None]
            read = texts_of(batch, columns)
            texts += [read[row] for row in kept]
            labels += [names for names in found if names is not None]
        described = f"{describe_source(table, columns)}, label from {label!r}"
    if not texts:
        raise DataError("holds no rows", culprit=request.source)
    return LabelledTexts(texts, labels), described


def _label_column(
    model: Model, request: UpdateRequest, table: Table, columns: Sequence[str], texts: Sequence[str]
) -> str:
    """Return the name of the label column: the one in the request, else that of the training data."""
    if request.label is not None:
        wanted = int(request.label) if request.label.isdecimal() and request.label not in columns else request.label
        label = columns[find_columns(table.name, columns, wanted, "label")[0]]
    else:
        label = (model.manifest.data.table or TableLayout()).label
    if label not in columns:
        problem = f"no column {label!r}, which had the label in training" if label else "which column holds the label?"
        raise DataError(
            f"{problem}{'. ' if label else ' '}{list_columns(columns)}",
            culprit=table.name,
            next_step="Set it with --label COLUMN.",
        )
    if label in texts:
        raise DataError(f"the column {label!r} cannot be both text and label", culprit=table.name)
    return label


def _labels_of(batch: RowBatch, label: str, table: Table, params: Mapping[str, Any]) -> list[tuple[str, ...] | None]:
    """Return the labels of each row; None for a row without a label that training would drop.

    The options `separator` and `missing` of the training data apply.
    """
    place, separator = batch.columns.index(label), params.get("separator")
    found: list[tuple[str, ...] | None] = []
    for line, cell in zip(batch.lines, batch.cells[place], strict=True):
        several = is_list(cell) or bool(separator)
        parts = list(cell) if is_list(cell) else as_text(cell).split(separator) if separator else [cell]
        stripped = dict.fromkeys(as_text(part).strip() for part in parts)
        names = tuple(name for name in stripped if name not in MISSING_LABELS)
        is_dropped = params.get("missing") == "drop"
        if not names and not is_dropped and not several:
            raise DataError(
                "the label is missing", culprit=f"{table.name}, line {line}", next_step="Fill it in, or remove the row."
            )
        found.append(names if names or not is_dropped else None)
    return found


# -- old rows --------------------------------------------------------------------------------------------------------


class NotAtHand(Exception):
    """The training data of a model is not available; the message is the reason."""


def find_training_data(manifest: ModelManifest, session: Session, *, reads_source: bool) -> Header:
    """Return the header of the dataset that a model was trained on.

    Parameters
    ----------
    manifest : ModelManifest
        The manifest of the model, which has the fingerprint of the data.
    session : Session
        Plugin settings.
    reads_source : bool
        True to read the source again if the data home does not have the dataset.

    Raises
    ------
    NotAtHand
        If the data home has no dataset with this fingerprint, and the source is missing or has changed.
    """
    trained = manifest.data
    for file in sorted(parsed_root().glob("[!.]*/header.json")):
        try:
            header = read_header(file.parent)
        except DataError:
            continue
        if header is not None and header.fingerprint == trained.fingerprint and is_complete(header):
            return header
    if not reads_source:
        raise NotAtHand("it is not in the data home")
    source = str(Expression(trained.source, None, dict(trained.params)))
    try:
        header = preparer(session)(resolve_dataset(parse_dataset(source), session.catalog))
    except HarnessError as error:
        raise NotAtHand(str(error)) from error
    if header.fingerprint != trained.fingerprint:
        raise NotAtHand(f"{trained.source} has changed since the training")
    return header


def read_added_rows(manifest: ModelManifest) -> LabelledTexts:
    """Return the rows of all former updates of a model, from their copies in the data home.

    Raises
    ------
    NotAtHand
        If a copy is missing or damaged.
    """
    texts: list[str] = []
    labels: list[tuple[str, ...]] = []
    for added in manifest.data.updates:
        path = data_home() / GIVEN / Path(str(added["kept"])).name
        try:
            if hash_file(path)[:12] not in path.name:
                raise NotAtHand(f"{path} was changed")
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise NotAtHand(f"{path}, rows of a former update: {error.strerror}") from error
        for line in lines:
            row = json.loads(line)
            texts.append(row["text"])
            labels.append(tuple(row["label"]) if isinstance(row["label"], list) else (row["label"],))
    return LabelledTexts(texts, labels)


# -- old and new rows -----------------------------------------------------------------------------------------------


def joined_data(
    old: Dataset, parts: Sequence[LabelledTexts], names: tuple[str, ...], taxonomy: Taxonomy | None
) -> Dataset:
    """Return a dataset with the rows of an old one, followed by new rows.

    `names` begins with the class names of the old dataset.
    """
    several = issparse(old.y) or any(part.has_several for part in parts)
    labels = [part.positions(names, several=several) for part in parts]
    if not several:
        y = np.concatenate([old.y, *labels])
    else:
        y = csr_array(old.y, copy=True) if issparse(old.y) else _as_indicator(old.y, len(names))
        y.resize(old.rows, len(names))
        y = csr_array(vstack([y, *labels], format="csr"))
    texts = Texts.of(chain(old.texts or (), *(part.texts for part in parts)))
    return replace(old, X=None, texts=texts, y=y, class_names=names, taxonomy=taxonomy, splits={}, groups={}, times={})


def _as_indicator(y: NDArray[np.int64], n_classes: int) -> csr_array:
    return csr_array((np.ones(len(y), np.int8), np.asarray(y), np.arange(len(y) + 1)), shape=(len(y), n_classes))


def extended_taxonomy(
    taxonomy: Taxonomy | None, names: Sequence[str], added: Sequence[str], separator: str
) -> Taxonomy | None:
    """Return the taxonomy with a node for each added class; None without a taxonomy.

    A class that is a node of the tree already keeps its place. The name of any other class must be a path, such as
    Food/Bakery: nodes on it that are missing are added.

    Raises
    ------
    ModelError
        If a class has no place in the tree.
    """
    if taxonomy is None or not added:
        return taxonomy
    nodes, root = list(taxonomy.node_names), int(np.flatnonzero(np.asarray(taxonomy.parent) < 0)[0])
    top = nodes[root] if nodes else ""
    parents: dict[str, str] = {}
    for node, above in enumerate(np.asarray(taxonomy.parent).tolist() if nodes else ()):
        if node != root:
            parents[nodes[node]] = "" if above == root else nodes[above]
    class_nodes = [nodes[node] for node in np.asarray(taxonomy.class_node).tolist()] if nodes else []
    is_step = top != "" and all(node.startswith(top + separator) for node in parents)
    if is_step and not all(name.startswith(top + separator) for name in added):  # paths began alike until now
        parents = {top: "", **{node: above or top for node, above in parents.items()}}
        top = ""
    for name in added:
        steps = [step.strip() for step in name.split(separator)]
        if name not in parents and (len(steps) < 2 or not all(steps)):
            raise ModelError(
                f"the new class {name!r} has no place in its taxonomy",
                next_step="Remove its rows, or fit the model again with a taxonomy that has it.",
            )
        paths = [name] if name in parents else [separator.join(steps[:end]) for end in range(1, len(steps) + 1)]
        for above, path in zip(["", *paths], paths, strict=False):
            if path != top:
                parents.setdefault(path, "" if above == top else above)
        class_nodes.append(paths[-1])
    pairs = taxonomy.more_parents if nodes and taxonomy.more_parents is not None else ()
    more = [(nodes[node], nodes[above]) for node, above in np.asarray(pairs).tolist()]
    extended = tree_from_parents(top, parents, class_nodes, more=more)
    return _with_numbers(extended, taxonomy)


def _with_numbers(extended: Taxonomy, taxonomy: Taxonomy) -> Taxonomy:
    """Return the extended taxonomy with the weights and costs of the former nodes; new ones get 1 and 1/2."""
    place = {name: number for number, name in enumerate(extended.node_names)}
    known = [place[name] for name in taxonomy.node_names if name in place]
    there = [number for number, name in enumerate(taxonomy.node_names) if name in place]
    if taxonomy.weights is not None:
        weights = np.ones(len(extended.parent))
        weights[known] = taxonomy.weights[there]
        extended = replace(extended, weights=weights)
    if taxonomy.costs is not None:
        costs = np.full((len(extended.parent), 2), 0.5)
        costs[known] = taxonomy.costs[there]
        extended = replace(extended, costs=costs)
    return extended
