"""Datasets of the Hugging Face Hub, by its own client: `hf:NAME` with its splits and class names, at a fixed commit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.tables import Cells, Table
from harness_files.labels import check_missing
from harness_files.numbers import read_numbers
from harness_files.places import stamp_files
from harness_files.row_collector import PARTS, Tables
from harness_files.table import Wanted, read_texts

ROWS_AT_ONCE = 1000
_COMMIT = re.compile("[0-9a-f]{40}")


def load_hf(
    *,
    path: str,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    text: str | int | None = None,
    label: str | int | None = None,
    id: str | int | None = None,  # noqa: A002 (what the user calls it)
    group: str | int | None = None,
    time: str | int | None = None,
    separator: str | None = None,
    levels: str | None = None,
    taxonomy: str | None = None,
    missing: str = "error",
    min_df: int = 1,
) -> Dataset:
    """Load a text column and a label column from the Hub.

    Parameters
    ----------
    path : str
        Name of the dataset, as in fancyzhx/ag_news.
    config : str or None, default=None
        Configuration to read. None means the only or default one.
    split : str or None, default=None
        Splits to read. None means training and test splits, or all if they have other names.
    revision : str or None, default=None
        Branch, tag or commit. None means the newest commit.
    text : str, int or None, default=None
        Text column, by name or by number from 1; several as 'title+body'. None chooses it by its name.
    label : str, int or None, default=None
        Label column. None chooses it by its name.
    id : str, int or None, default=None
        Column whose values must be unique.
    group : str, int or None, default=None
        Column for `--split grouped:COLUMN`.
    time : str, int or None, default=None
        Column for `--split time:COLUMN`.
    separator : str or None, default=None
        Mark between several labels in a cell.
    levels : str or None, default=None
        Mark between the levels of a label. None means '/' if every label has one; '' means none.
    taxonomy : str or None, default=None
        File with the class tree.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.
    min_df : int, default=1
        Minimum number of texts with a word.

    Returns
    -------
    Dataset
        The texts, with the fixed splits of the Hub.

    Raises
    ------
    DataError
        If the dataset cannot be fetched, or does not fit the options.
    """
    check_missing(missing)
    hub = _open(path, config, split, revision, label)
    requested = {"text": text, "label": hub.label, "split": None, "id": id, "group": group, "time": time}
    wanted = Wanted(hub.name, requested, missing, separator, levels, taxonomy, min_df=min_df)
    return replace(read_texts(hub.tables, wanted), revision=hub.revision)


def load_hf_numbers(
    *,
    path: str,
    features: str | int | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    label: str | int | None = None,
    id: str | int | None = None,  # noqa: A002 (what the user calls it)
    group: str | int | None = None,
    time: str | int | None = None,
    separator: str | None = None,
    missing: str = "error",
) -> Dataset:
    """Load numeric columns and a label column from the Hub.

    Parameters
    ----------
    path : str
        Name of the dataset.
    features : str, int or None, default=None
        Columns of numbers or of lists of numbers, as in `features=height,width`.
    config : str or None, default=None
        Configuration to read. None means the only or default one.
    split : str or None, default=None
        Splits to read. None means training and test splits, or all if they have other names.
    revision : str or None, default=None
        Branch, tag or commit. None means the newest commit.
    label : str, int or None, default=None
        Label column. None chooses it by its name.
    id : str, int or None, default=None
        Column whose values must be unique.
    group : str, int or None, default=None
        Column for `--split grouped:COLUMN`.
    time : str, int or None, default=None
        Column for `--split time:COLUMN`.
    separator : str or None, default=None
        Mark between several labels in a cell.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.

    Returns
    -------
    Dataset
        The rows, with the fixed splits of the Hub.

    Raises
    ------
    DataError
        If the dataset cannot be fetched, or does not fit the options.
    """
    check_missing(missing)
    hub = _open(path, config, split, revision, label)
    requested = {"features": features, "label": hub.label, "id": id, "group": group, "time": time}
    return replace(read_numbers(hub.tables, hub.name, requested, missing, separator), revision=hub.revision)


def stamp_hf(*, path: str, revision: str | None = None, taxonomy: str | None = None, **_: object) -> str:
    """Return the current commit of the name on the Hub, and the stamp of the taxonomy's file."""
    return f"{find_commit(path, revision)} {stamp_files(taxonomy=taxonomy)}"


# -- commits ----------------------------------------------------------------------------------------------------------


def find_commit(name: str, revision: str | None) -> str:
    """Return the commit of a branch or tag, or the newest commit.

    Without network access, it is the newest commit in the Hub's cache.

    Raises
    ------
    DataError
        If there is no such dataset or revision, it is gated, or the Hub does not answer.
    """
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision
    hub = _client("huggingface_hub")
    missing = f"the Hub has no dataset {name!r}, or it is private"
    try:
        return str(hub.HfApi().dataset_info(name, revision=revision, timeout=30).sha)
    except hub.errors.GatedRepoError:
        raise DataError(
            f"{name!r} is gated", next_step=f"Accept its terms at {_page(name)}, then run `hf auth login`."
        ) from None
    except (hub.errors.RepositoryNotFoundError, hub.errors.HFValidationError):
        raise DataError(missing, next_step=f"Look it up at {_page('')}, or run `hf auth login`.") from None
    except hub.errors.RevisionNotFoundError:
        raise DataError(f"{name!r} has no revision {revision!r}", next_step=f"See {_page(name)}/commits.") from None
    except Exception as error:  # the client has a separate type for each failure of network, proxy or Hub
        kept = _newest_kept(name) if revision is None else ""
        if kept:
            return kept
        raise DataError(
            f"{_page(name)} does not answer ({type(error).__name__}: {error})",
            next_step="Try again with a network connection. HF_ENDPOINT names a mirror.",
        ) from error


def _newest_kept(name: str) -> str:
    """Return the commit of the most recently fetched files in the Hub's cache; empty if there is none."""
    hub = _client("huggingface_hub")
    try:
        repos = hub.scan_cache_dir().repos
    except hub.errors.CacheNotFound:
        return ""
    kept = [state for repo in repos if (repo.repo_type, repo.repo_id) == ("dataset", name) for state in repo.revisions]
    newest = max(kept, key=lambda state: state.last_modified, default=None)
    return "" if newest is None else str(newest.commit_hash)


def _page(name: str) -> str:
    """Return the web page of a dataset."""
    return f"{_client('huggingface_hub').constants.ENDPOINT}/datasets/{name}".rstrip("/")


def _client(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError:
        raise DataError(
            "data of the Hub needs its client", next_step="Run `pip install 'manyclass-harness[hf]'`."
        ) from None


# -- content ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Hub:
    """An opened dataset."""

    name: str
    revision: str
    tables: Tables
    label: str | int | None
    """The requested column, or the only column with class names."""


def _open(path: str, config: str | None, split: str | None, revision: str | None, label: str | int | None) -> _Hub:
    """Fetch missing files to the Hub's cache, and open the dataset."""
    commit = find_commit(path, revision)
    client = _client("datasets")
    client.disable_progress_bars()
    try:
        chosen = _choose_config(client, path, config, commit)
        splits = client.load_dataset(path, chosen, revision=commit)
    except DataError:
        raise
    except Exception as error:  # the client raises many types; the cause is the most informative
        cause = error.__cause__ or error
        raise DataError(
            f"the client of the Hub cannot read {path!r} ({type(cause).__name__}: {cause})",
            next_step=f"See {_page(path)}, or download its files and give them to --data.",
        ) from error
    parts = _choose_parts(path, splits, split)
    tables = [nullcontext(_table(f"hf:{path}", names, splits)) for names in parts]
    features = splits[parts[0][0]].features
    label_column = label
    if label is None:
        named = [name for name, kind in features.items() if _class_names(kind)]
        label_column = named[0] if len(named) == 1 else None
    return _Hub(f"hf:{path}", f"{_page(path)}@{commit}", tables, label_column)


def _choose_config(client: Any, path: str, config: str | None, commit: str) -> str:
    """Return the requested configuration, or the only one, or the default one of its owner."""
    known = client.get_dataset_config_names(path, revision=commit)
    if config is not None and config not in known:
        raise DataError(
            f"{path!r} has no configuration {config!r}", next_step=f"Set config= to one of {_listed(known)}."
        )
    default = client.get_dataset_default_config_name(path, revision=commit)
    chosen = config or default
    if chosen is None:
        raise DataError(
            f"{path!r} has {len(known)} configurations",
            next_step=f'Choose one, as in --data "hf:{path}(config={known[0]})": {_listed(known)}.',
        )
    return str(chosen)


def _choose_parts(path: str, splits: Mapping[str, Any], requested: str | None) -> list[list[str]]:
    """Return the splits to read: the requested ones, or training and test splits if there are both, or all."""
    if requested is not None:
        names = [name.strip() for name in requested.split("+")]
        for name in names:
            if name not in splits:
                raise DataError(
                    f"{path!r} has no split {name!r}", next_step=f"Set split= to one of {_listed(list(splits))}."
                )
    else:
        names = list(splits)
    tests = [name for name in names if PARTS.get(name) == "test"]
    trains = [name for name in names if PARTS.get(name) in ("train", "validation")]
    return [trains, tests] if trains and tests else [names]


def _listed(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > 20 else ""
    return f"{', '.join(names[:20])}{more}"


def _table(name: str, parts: Sequence[str], splits: Mapping[str, Any]) -> Table:
    """Return splits of one dataset as one table, one after the other."""
    features = splits[parts[0]].features
    columns = tuple(features)
    names = {place: _class_names(kind) for place, kind in enumerate(features.values())}
    values = {place: classes for place, classes in names.items() if classes}

    def read(places: Sequence[int]) -> Cells:
        wanted = [columns[place] for place in places]
        rows = chain.from_iterable(_rows(splits[part], wanted) for part in parts)
        for number, cells in enumerate(rows, 1):
            yield number, [_named(cell, values.get(place)) for cell, place in zip(cells, places, strict=True)]

    return Table(name, f"{' and '.join(parts)}, Hugging Face", columns, read, values)


def _rows(split: Any, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    chosen = split.select_columns(list(dict.fromkeys(columns))).with_format(None)
    for batch in chosen.iter(batch_size=ROWS_AT_ONCE):
        yield from zip(*(batch[column] for column in columns), strict=True)


def _class_names(feature: Any) -> tuple[str, ...]:
    """Return the class names for the numbers of a column, or of the lists in a column; empty for other columns."""
    inner = getattr(feature, "feature", feature)
    return tuple(getattr(inner, "names", None) or ())


def _named(cell: Any, names: Sequence[str] | None) -> Any:
    """Return a cell with class numbers replaced by names; -1 means no class on the Hub."""
    if names is None or cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, list):
        return [_named(one, names) for one in cell]
    return names[cell] if 0 <= cell < len(names) else None
