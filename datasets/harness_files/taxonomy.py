"""Taxonomies from labels that are paths, or from a file of parents and children, of paths, or of JSON.

A file may give a node several parents. The first one in the file is the parent for learners that need a tree.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np

from harness import Taxonomy
from harness.errors import DataError
from harness.sdk.outcomes import tree_from_parents
from harness.sdk.reading.lines import read_text
from harness.sdk.reading.raw import open_raw
from harness_files.places import find_file, option_of

ROOT = ""
"""Name of the root if the file does not name one, or has several nodes without a parent."""

NUMBERS = ("weight", "load", "missed", "entered")
"""Columns of numbers by node: v_z, f_z, and the costs c_z of missing the node and of entering it wrongly."""
Numbers = dict[str, float]
Edges = Iterator[tuple[str, str, str, Numbers]]
"""Place, parent, child, numbers of the child."""


@dataclass
class _Nodes:
    """The nodes of a file: all parents, the place of each edge, and numbers."""

    parents: dict[str, list[str]] = field(default_factory=dict)
    where: dict[tuple[str, str], str] = field(default_factory=dict)
    """By node and parent."""
    numbers: dict[str, Numbers] = field(default_factory=dict)

    def add(self, place: str, above: str, below: str, numbers: Numbers) -> None:
        """Add an edge, unless it is known, and numbers; DataError if a number differs from an earlier one."""
        if (below, above) not in self.where:
            self.parents.setdefault(below, []).append(above)
            self.where[below, above] = place
        known = self.numbers.setdefault(below, {})
        for name, value in numbers.items():
            if known.setdefault(name, value) != value:
                raise DataError(f"{place}: {below!r} has the {name} {value:g}, but {known[name]:g} above")

    @property
    def names(self) -> set[str]:
        return set(self.parents).union(*self.parents.values())


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
    parents = {node: [above] for node, above in parent.items()}
    return _taxonomy(parents, [node_of[name] for name in names])


def from_file(path: str, met_at: Mapping[str, str], names: tuple[str, ...], encoding: str | None = None) -> Taxonomy:
    """Return the taxonomy in a file, with every class at the node of its name.

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
        If the file has a cycle or is no taxonomy, or a class is not in it.
    """
    found = _Nodes()
    for place, above, below, numbers in _edges(path, encoding):
        found.add(place, above, below, numbers)
    if not found.parents:
        raise DataError(f"{path}: the taxonomy is empty: expected lines 'parent,child' or paths, or JSON")
    nodes = found.names
    for name in names:
        if name not in nodes:
            near = get_close_matches(name, nodes, n=3)
            hint = f"It has {len(nodes):,} nodes."
            if near:
                hint = f"Did you mean {' or '.join(map(repr, near))}?"
            raise DataError(f"{met_at[name]}: the label {name!r} is not in the taxonomy {path}. {hint}")
    _check_cycles(path, found)
    return _with_numbers(_taxonomy(found.parents, list(names)), found.numbers)


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
    """Yield the edges of lines with parent and child; a header may name them in another order, and numbers."""
    reader, first, second = csv.reader(lines, delimiter=separator, strict=True), 0, 1
    columns: dict[str, int] = {}
    try:
        for row in reader:
            place = f"{path}, line {reader.line_num}"
            cells = list(map(str.strip, row))
            header = list(map(str.lower, cells))
            if reader.line_num == 1 and {"parent", "child"} <= set(header):
                first, second = header.index("parent"), header.index("child")
                columns = {name: header.index(name) for name in NUMBERS if name in header}
            elif any(cells):
                is_headed = bool(columns) or (first, second) != (0, 1)
                if len(cells) <= max(first, second) or (len(cells) > 2 and not is_headed):
                    raise DataError(f"{place}: expected parent{separator}child, found {len(cells)} columns")
                if not cells[second]:
                    raise DataError(f"{place}: the child is empty")
                given = {name: cells[at] for name, at in columns.items() if at < len(cells) and cells[at]}
                numbers = {name: _number(place, name, cell) for name, cell in given.items()}
                yield place, cells[first], cells[second], numbers
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def _number(place: str, name: str, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise DataError(f"{place}: the {name} is {cell!r}, expected a number from 0")
    return number


def _path_edges(path: str, lines: Iterable[str]) -> Edges:
    """Yield the edges of lines with nodes from the top down, separated by spaces, as in the LSHTC challenges."""
    for number, line in enumerate(lines, 1):
        nodes = line.split()
        if len(nodes) == 1:
            yield f"{path}, line {number}", ROOT, nodes[0], {}
        for above, below in pairwise(nodes):
            yield f"{path}, line {number}", above, below, {}


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
        yield f"{path}, {child!r}", above, child, {}


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
        yield f"{path}, {tree['name']!r}", above, str(tree["name"]), {}
        yield from _nested_edges(path, str(tree["name"]), tree.get("children") or [])
    elif isinstance(tree, dict):
        for name, below in tree.items():
            yield f"{path}, {name!r}", above, name, {}
            yield from _nested_edges(path, name, below if below is not None else [])
    elif isinstance(tree, str | int):
        yield f"{path}, {str(tree)!r}", above, str(tree), {}
    else:
        raise DataError(f"{path}: {tree!r} below {above!r} is not a node: expected names, lists and objects")


def _check_cycles(path: str, found: _Nodes) -> None:
    """Raise DataError if a node is above itself."""
    fine: set[str] = set()
    for start in found.parents:
        walked: dict[str, Iterator[str]] = {start: iter(found.parents[start])}  # the nodes from the start up
        while walked:
            node = next(reversed(walked))
            above = next(walked[node], None)
            if above is None:
                fine.add(node)
                walked.popitem()
            elif above in walked:
                way = list(walked)
                cycle = [*way[way.index(above) :], above]
                place = found.where[cycle[0], cycle[1]]
                raise DataError(f"{place}: the taxonomy {path} goes in a circle: {' below '.join(cycle)}")
            elif above in found.parents and above not in fine:
                walked[above] = iter(found.parents[above])


def _taxonomy(parents: Mapping[str, list[str]], class_nodes: list[str]) -> Taxonomy:
    """Return the taxonomy, root first: the only node without a parent, or ROOT if it is a class or there are several.

    ROOT is no parent of a node that has another one.
    """
    above = {node: [name for name in names if name != ROOT] or [ROOT] for node, names in parents.items()}
    nodes = dict.fromkeys([*(name for names in above.values() for name in names), *above])
    nodes.pop(ROOT, None)
    tops = [name for name in nodes if above.get(name, [ROOT]) == [ROOT]]
    root = ROOT
    if len(tops) == 1 and tops[0] not in class_nodes:
        root = tops[0]
        nodes.pop(root)
    first = {name: above.get(name, [ROOT])[0] for name in nodes}
    more = [(name, other) for name in nodes for other in above.get(name, [ROOT])[1:]]
    return tree_from_parents(root, first, class_nodes, more=more)


def _with_numbers(taxonomy: Taxonomy, numbers: Mapping[str, Numbers]) -> Taxonomy:
    """Return the taxonomy with the weights and costs that the file gives; others are 1 and 1/2."""
    given = {name for own in numbers.values() for name in own}
    weights = costs = None
    if "weight" in given:
        weights = np.array([numbers.get(name, {}).get("weight", 1.0) for name in taxonomy.node_names])
    if given & {"load", "missed", "entered"}:
        costs = np.empty((len(taxonomy.node_names), 2))
        for place, name in enumerate(taxonomy.node_names):
            own = numbers.get(name, {})
            costs[place] = [own.get("load", 1.0) * own.get(cost, 0.5) for cost in ("missed", "entered")]
    return replace(taxonomy, weights=weights, costs=costs)
