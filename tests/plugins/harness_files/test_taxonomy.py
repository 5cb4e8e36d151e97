"""Taxonomy files: all formats give the same tree, and an invalid tree is reported with file and line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness_files.table import load_table as load
from harness_files.taxonomy import from_paths

ROWS = "text,label\nx,a\ny,b\nz,c\n"
FORMS = {
    "parent and child": "parent,child\nr,a\nr,s\ns,b\ns,c\n",
    "child and parent": "child\tparent\tnote\na\tr\t1\ns\tr\t2\nb\ts\t3\nc\ts\t4\n",
    "no names": "r,a\nr,s\n\ns,b\ns,c\n",
    "paths": "r a\nr s b\nr s c\n",
    "edges": "r a\nr s\ns b\ns c\n",
    "parent map": '{"a": "r", "b": "s", "c": "s", "s": "r"}',
    "parent map with root": '{"r": null, "a": "r", "b": "s", "c": "s", "s": "r"}',
    "nested": '{"r": {"a": {}, "s": {"b": null, "c": []}}}',
    "nested lists": '{"r": ["a", {"s": ["b", "c"]}]}',
    "names and children": '{"name": "r", "children": [{"name": "a"}, {"name": "s", "children": ["b", "c"]}]}',
}


def edges(taxonomy):
    names = taxonomy.node_names
    return {names[node]: names[above] if above >= 0 else None for node, above in enumerate(taxonomy.parent)}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_taxonomy(write, form):
    tree = load(path=write("t.csv", ROWS), taxonomy=write("tree.txt", FORMS[form])).taxonomy
    assert edges(tree) == {"r": None, "a": "r", "s": "r", "b": "s", "c": "s"}
    assert [tree.node_names[node] for node in tree.class_node] == ["a", "b", "c"]
    assert tree.parent[0] == -1


def test_several_top_nodes_get_a_common_root(write):
    tree = load(path=write("t.csv", ROWS), taxonomy=write("tree.json", '{"a": {}, "s": ["b", "c"]}')).taxonomy
    assert edges(tree) == {"": None, "a": "", "s": "", "b": "s", "c": "s"}


def test_a_class_may_be_an_inner_node_but_not_the_root(write):
    tree = load(path=write("t.csv", ROWS), taxonomy=write("tree.csv", "a,b\nb,c\n")).taxonomy
    assert edges(tree) == {"": None, "a": "", "b": "a", "c": "b"}


BAD = [
    ("r,a\nr,b\n", "t.csv, line 4: the label 'c' is not in the taxonomy tree.txt"),
    ("r,a\nr,bb\nr,c\n", "the label 'b' is not in the taxonomy tree.txt. Did you mean 'bb'?"),
    ("r,a\nr,b\nr,c\nq,a\n", "tree.txt, line 4: 'a' has the parent 'q', but 'r' in tree.txt, line 1"),
    ('{"a": {"b": {}}, "c": {"b": {}}}', "'b' has the parent 'c', but 'a' in"),
    ("a,b\nb,c\nc,a\n", "goes in a circle"),
    ("r,a\nr,b\nr,c\nc,c\n", "has the parent 'c', but 'r'"),
    ("a,a\nr,b\nr,c\n", "goes in a circle: a below a"),
    ("r,a,x\n", "tree.txt, line 1: expected parent,child, found 3 columns"),
    ("r,\n", "tree.txt, line 1: the child is empty"),
    ("\n", "the taxonomy is empty"),
    ('{"a": "r", "a": "s"}', "'a' stands twice in one object"),
    ('{"a": ', "tree.txt: Expecting value"),
    ('{"a": {"b": 1.5}}', "1.5 below 'b' is not a node"),
    (b"r,\xff\n", "tree.txt, line 1: byte 3 (0xff) is not utf-8"),
]


@pytest.mark.parametrize(("text", "trouble"), BAD, ids=[trouble[:40] for _, trouble in BAD])
def test_an_invalid_taxonomy_raises_an_error_with_file_and_line(write, text, trouble):
    with pytest.raises(DataError) as caught:
        load(path=write("t.csv", ROWS), taxonomy=write("tree.txt", text))
    assert trouble in str(caught.value)


parts = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)


@given(st.lists(parts.map("/".join), min_size=1, max_size=10, unique=True))
def test_the_path_of_a_class_lists_its_ancestors(names):
    tree = from_paths(tuple(names), "/", {})
    for name, class_node in zip(names, tree.class_node, strict=True):
        way, node = [], class_node
        while node >= 0:
            way.append(tree.node_names[node])
            node = tree.parent[node]
        beginnings = ["/".join(name.split("/")[:depth]) for depth in range(len(name.split("/")), 0, -1)]
        assert way in (beginnings, [*beginnings, ""])
