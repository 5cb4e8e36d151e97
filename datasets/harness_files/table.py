"""Tables of texts and labels: CSV, TSV, JSON lines, Parquet. Rows are read one at a time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness import Dataset, Taxonomy
from harness.sdk import Texts
from harness.sdk.reading.tables import ReadOptions, join_texts
from harness_files.columns import choose_columns
from harness_files.labels import LabelRows, check_missing
from harness_files.places import describe_splits
from harness_files.row_collector import RowCollector, Tables, open_tables
from harness_files.taxonomy import from_file, from_paths


def load_table(
    *,
    path: str,
    text: str | int | None = None,
    label: str | int | None = None,
    split: str | int | None = None,
    id: str | int | None = None,  # noqa: A002 (what the user calls it)
    group: str | int | None = None,
    time: str | int | None = None,
    test: str | None = None,
    separator: str | None = None,
    levels: str | None = None,
    taxonomy: str | None = None,
    missing: str = "error",
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    min_df: int = 1,
) -> Dataset:
    """Load a text column and a label column of a table.

    Parameters
    ----------
    path : str
        The file, or a folder with one training file and one test file.
    text : str, int or None, default=None
        Text column, by name or by number from 1; several as 'title+body'. None chooses it by its name.
    label : str, int or None, default=None
        Label column. None chooses it by its name.
    split : str, int or None, default=None
        Column with train, validation or test. None chooses it by its name.
    id : str, int or None, default=None
        Column whose values must be unique.
    group : str, int or None, default=None
        Column for `--split grouped:COLUMN`.
    time : str, int or None, default=None
        Column for `--split time:COLUMN`.
    test : str or None, default=None
        File with the test rows.
    separator : str or None, default=None
        Mark between several labels in a cell.
    levels : str or None, default=None
        Mark between the levels of a label. None means '/' if every label has one; '' means none.
    taxonomy : str or None, default=None
        File with the class tree.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.
    delimiter : str or None, default=None
        Mark between the cells of a CSV file. None detects it.
    header : bool or None, default=None
        Whether the first line has column names. None detects it.
    encoding : str or None, default=None
        Encoding of the file. None detects it.
    min_df : int, default=1
        Minimum number of texts with a word.

    Returns
    -------
    Dataset
        The texts, in the order of the files.

    Raises
    ------
    DataError
        If the files are missing or malformed. The message has the file and the line.
    """
    check_missing(missing)
    requested = {"text": text, "label": label, "split": split, "id": id, "group": group, "time": time}
    tables = open_tables(path, test, requested, ReadOptions(delimiter=delimiter, header=header, encoding=encoding))
    wanted = Wanted(path, requested, missing, separator, levels, taxonomy, encoding, min_df)
    return read_texts(tables, wanted)


@dataclass(frozen=True)
class Wanted:
    """Options for tables of texts; see docs/how-to/your-data.md."""

    path: str
    requested: Mapping[str, Any]
    """Columns set by the user, by purpose."""
    missing: str = "error"
    separator: str | None = None
    levels: str | None = None
    taxonomy: str | None = None
    encoding: str | None = None
    min_df: int = 1


def read_texts(tables: Tables, wanted: Wanted) -> Dataset:
    """Return the dataset of tables with texts and labels."""
    collected = RowCollector(wanted.missing, wanted.separator)
    rows = collected.read(tables, partial(choose_columns, requested=wanted.requested))
    texts = Texts.of(join_texts(row.cells) for row in rows)
    collected.check(wanted.path, "text")
    labels, splits = collected.labels, collected.splits()
    tree = _taxonomy(labels, wanted.taxonomy, wanted.levels, wanted.encoding)
    depth = _why_no_tree(labels, wanted.levels)
    if tree is not None:
        depth = f" in a tree of depth {tree.depth}"
    found = f"{collected.summary}, {len(labels.names):,} classes{depth}{describe_splits(splits)}"
    return Dataset(
        X=None,
        y=labels.positions(),
        class_names=labels.names,
        taxonomy=tree,
        splits=splits,
        found=found,
        texts=texts,
        counting=count_words(wanted.min_df),
        table=collected.layout,
        **collected.parting(),
    )


def count_words(min_df: int) -> str:
    """Return the representation that counts words of any script that occur in at least `min_df` texts."""
    return f"words(tokens='any', min_df={min_df}, weighting='raw')"


def _taxonomy(labels: LabelRows, file: str | None, levels: str | None, encoding: str | None) -> Taxonomy | None:
    """Return the tree of a file, or of labels that are paths: by option, or because every label contains a slash."""
    names = labels.names
    if file is not None:
        return from_file(file, labels.met_at, names, encoding)
    if levels is None and all(map(_is_path, names)):
        levels = "/"
    if not levels:
        return None
    return from_paths(names, levels, labels.met_at)


def _is_path(label: str) -> bool:
    return "/" in label and all(map(str.strip, label.split("/")))


def _why_no_tree(labels: LabelRows, levels: str | None) -> str:
    """If most labels are paths, return a note on the first label that is not, since it prevents a tree."""
    others = list(itertools.filterfalse(_is_path, labels.number))
    if not others or levels is not None or 2 * len(others) > len(labels.number):
        return ""
    return f" in no tree ({others[0]!r} is not a path, {labels.met_at[others[0]]})"
