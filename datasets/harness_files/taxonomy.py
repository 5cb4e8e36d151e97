"""Class trees from labels that are paths, or from a file of parents and children, of paths, or of JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from harness import Taxonomy
from harness.errors import DataError
from harness.sdk.outcomes import tree_from_parents
from harness.sdk.reading.lines import read_text
from harness.sdk.reading.raw import open_raw
from harness_files.places import find_file, option_of

ROOT = ""
"""Name of the root if the file does not name one, or has several nodes without a parent."""

Edges = Iterator[tuple[str, str, str]]
"""Place, parent, child."""


def from_paths(names: tuple[str, ...], separator: str, met_at: Mapping[str, str]) -> Taxonomy:
    """Return the tree of classes whose names are paths. Every prefix of a name is a node; classes may be inner nodes.

    Parameters
    ----------
    names : tuple of str
        The classes.
    separator : str
        Mark between the levels of a name.
    met_at : mapping of str to str
        Place of each class in the data, for error messages.

    Raises
    ------
    DataError
        If a name is not a path.
    """
    parent: dict[str, str] = {}
    node_of = {}
    for name in names:
        parts = list(map(str.strip, name.split(separator)))
        if not all(parts):
            expected = f"expected names with {separator!r} between them, none of them empty"
            raise DataError(f"{met_at[name]}: the label {name!r} is not a path: {expected}")
        for depth in range(1, len(parts) + 1):
            parent[separator.join(parts[:depth])] = separator.join(parts[: depth - 1])
        node_of[name] = separator.join(parts)
    return _tree(parent, [node_of[name] for name in names])


def from_file(path: str, met_at: Mapping[str, str], names: tuple[str, ...], encoding: str | None = None) -> Taxonomy:
    """Return the tree in a file, with every class at the node of its name.

    Parameters
    ----------
    path : str
        The file.
    met_at : mapping of str to str
        Place of each class in the data, for error messages.
    names : tuple of str
        The classes.
    encoding : str or None, default=None
        Encoding of the file. None detects it.

    Raises
    ------
    DataError
        If the file is not a tree, or a class is not in it.
    """
    parent, where = _parents(path, encoding)
    nodes = {*parent, *parent.values()}
    for name in names:
        if name not in nodes:
            near = get_close_matches(name, nodes, n=3)
            hint = f"It has {len(nodes):,} nodes."
            if near:
                hint = f"Did you mean {' or '.join(map(repr, near))}?"
            raise DataError(f"{met_at[name]}: the label {name!r} is not in the taxonomy {path}. {hint}")
    _check_cycles(path, parent, where)
    return _tree(parent, list(names))


def _parents(path: str, encoding: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parent of each node, and its place in the file; DataError for a node with two parents."""
    parent: dict[str, str] = {}
    where: dict[str, str] = {}
    for place, above, below in _edges(path, encoding):
        if below in parent and parent[below] != above:
            raise DataError(
                f"{place}: {below!r} has the parent {above!r}, but {parent[below]!r} in {where[below]}: "
                "a class tree gives each node one parent; keep one of them"
            )
        parent[below], where[below] = above, place
    if not parent:
        raise DataError(f"{path}: the taxonomy is empty: expected lines 'parent,child' or paths, or JSON")
    return parent, where


def _edges(path: str, encoding: str | None) -> Edges:
    with open_raw(find_file(path)) as stream:
        text = read_text(stream, path, encoding, option_of("NAME"))
    if text.lstrip()[:1] in ("{", "["):
        return _json_edges(path, text)
    lines = text.split("\n")
    for separator in ("\t", ",", ";"):
        if separator in text:
            return _pair_edges(path, lines, separator)
    return _path_edges(path, lines)


def _pair_edges(path: str, lines: Iterable[str], separator: str) -> Edges:
    """Yield the edges of lines with parent and child; a header may name them in the other order."""
    reader, first, second = csv.reader(lines, delimiter=separator, strict=True), 0, 1
    try:
        for row in reader:
            place = f"{path}, line {reader.line_num}"
            cells = list(map(str.strip, row))
            header = list(map(str.lower, cells))
            if reader.line_num == 1 and {"parent", "child"} <= set(header):
                first, second = header.index("parent"), header.index("child")
            elif any(cells):
                if len(cells) <= max(first, second) or (len(cells) > 2 and (first, second) == (0, 1)):
                    raise DataError(f"{place}: expected parent{separator}child, found {len(cells)} columns")
                if not cells[second]:
                    raise DataError(f"{place}: the child is empty")
                yield place, cells[first], cells[second]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def _path_edges(path: str, lines: Iterable[str]) -> Edges:
    """Yield the edges of lines with nodes from the top down, separated by spaces, as in the LSHTC challenges."""
    for number, line in enumerate(lines, 1):
        nodes = line.split()
        if len(nodes) == 1:
            yield f"{path}, line {number}", ROOT, nodes[0]
        for above, below in pairwise(nodes):
            yield f"{path}, line {number}", above, below


def _json_edges(path: str, text: str) -> Edges:
    try:
        tree = json.loads(text, object_pairs_hook=_distinct)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
    if isinstance(tree, dict) and all(isinstance(value, str | int | None) for value in tree.values()):
        return _child_edges(path, tree)
    return _nested_edges(path, ROOT, tree)


def _child_edges(path: str, parents: Mapping[str, Any]) -> Edges:
    """Yield the edges of {"child": "parent"}; null if a child has no parent."""
    for child, parent in parents.items():
        above = ROOT if parent is None else str(parent)
        yield f"{path}, {child!r}", above, child


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} stands twice in one object")
        found[name] = value
    return found


def _nested_edges(path: str, above: str, tree: Any) -> Edges:
    """Yield the edges of {"a": {"b": {}}}, {"a": ["b", "c"]} or {"name": "a", "children": [...]}, possibly mixed."""
    if isinstance(tree, list):
        for item in tree:
            yield from _nested_edges(path, above, item)
    elif isinstance(tree, dict) and "name" in tree and set(tree) <= {"name", "children"}:
        yield f"{path}, {tree['name']!r}", above, str(tree["name"])
        yield from _nested_edges(path, str(tree["name"]), tree.get("children") or [])
    elif isinstance(tree, dict):
        for name, below in tree.items():
            yield f"{path}, {name!r}", above, name
            yield from _nested_edges(path, name, below if below is not None else [])
    elif isinstance(tree, str | int):
        yield f"{path}, {str(tree)!r}", above, str(tree)
    else:
        raise DataError(f"{path}: {tree!r} below {above!r} is not a node: expected names, lists and objects")


def _check_cycles(path: str, parent: Mapping[str, str], where: Mapping[str, str]) -> None:
    fine: set[str] = set()
    for start in parent:
        walked: dict[str, None] = {}
        node = start
        while node in parent and node not in fine:
            if node in walked:
                cycle = [*list(walked)[list(walked).index(node) :], node]
                raise DataError(f"{where[node]}: the taxonomy {path} goes in a circle: {' below '.join(cycle)}")
            walked[node] = None
            node = parent[node]
        fine |= walked.keys()


def _tree(parent: Mapping[str, str], class_nodes: list[str]) -> Taxonomy:
    """Return the tree, root first: the only node without a parent, or ROOT if there are several or it is a class."""
    nodes = dict.fromkeys([*parent.values(), *parent])
    nodes.pop(ROOT, None)
    tops = [name for name in nodes if parent.get(name, ROOT) == ROOT]
    root = ROOT
    if len(tops) == 1 and tops[0] not in class_nodes:
        root = tops[0]
        nodes.pop(root)
    return tree_from_parents(root, {name: parent.get(name, ROOT) for name in nodes}, class_nodes)
