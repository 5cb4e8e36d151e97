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


LATTICES = {
    "parent and child": "r,a\nr,s\nr,t\ns,b\ns,c\nt,c\n",
    "repeated lines": "r,a\nr,s\nr,t\ns,b\ns,c\nt,c\ns,c\nt,c\n",
    "paths": "r a\nr s b\nr t\nr s c\nr t c\n",
    "nested": '{"r": {"a": {}, "s": {"b": null, "c": []}, "t": ["c"]}}',
    "also at the top": "r,a\nr,s\nr,t\ns,b\n,c\ns,c\nt,c\n",
}


@pytest.mark.parametrize("form", LATTICES)
def test_a_node_may_have_several_parents_in_every_format(write, form):
    lattice = load(path=write("t.csv", ROWS), taxonomy=write("tree.txt", LATTICES[form])).taxonomy
    assert edges(lattice) == {"r": None, "a": "r", "s": "r", "t": "r", "b": "s", "c": "s"}
    names = lattice.node_names
    assert [(names[node], names[above]) for node, above in lattice.more_parents.tolist()] == [("c", "t")]
    assert not lattice.is_tree
    assert load(path=write("t.csv", ROWS), taxonomy=write("tree.txt", FORMS["paths"])).taxonomy.is_tree


def test_columns_of_a_table_give_weights_and_costs_of_nodes(write):
    text = "child,parent,weight,load,missed,entered\na,r,2,,,\nb,r,,3,1,\nc,r,,,,0.25\nc,s,,,,\ns,r,0,10,0.1,0.2\n"
    taxonomy = load(path=write("t.csv", ROWS), taxonomy=write("tree.csv", text)).taxonomy
    assert dict(zip(taxonomy.node_names, taxonomy.weights.tolist(), strict=True)) == {
        "r": 1, "a": 2, "b": 1, "c": 1, "s": 0
    }  # fmt: skip
    assert dict(zip(taxonomy.node_names, taxonomy.costs.tolist(), strict=True)) == {
        "r": [0.5, 0.5], "a": [0.5, 0.5], "b": [3, 1.5], "c": [0.5, 0.25], "s": [1, 2]
    }  # fmt: skip
    plain = load(path=write("t.csv", ROWS), taxonomy=write("tree.csv", FORMS["child and parent"])).taxonomy
    assert (plain.weights, plain.costs, plain.more_parents) == (None, None, None)


def test_several_top_nodes_get_a_common_root(write):
    tree = load(path=write("t.csv", ROWS), taxonomy=write("tree.json", '{"a": {}, "s": ["b", "c"]}')).taxonomy
    assert edges(tree) == {"": None, "a": "", "s": "", "b": "s", "c": "s"}


def test_a_class_may_be_an_inner_node_but_not_the_root(write):
    tree = load(path=write("t.csv", ROWS), taxonomy=write("tree.csv", "a,b\nb,c\n")).taxonomy
    assert edges(tree) == {"": None, "a": "", "b": "a", "c": "b"}


BAD = [
    ("r,a\nr,b\n", "t.csv, line 4: the label 'c' is not in the taxonomy tree.txt"),
    ("r,a\nr,bb\nr,c\n", "the label 'b' is not in the taxonomy tree.txt. Did you mean 'bb'?"),
    ("a,b\nb,c\nc,a\n", "goes in a circle"),
    ("r,a\nr,b\nr,c\nc,c\n", "tree.txt, line 4: the taxonomy tree.txt goes in a circle: c below c"),
    ("r,a\nr,s\ns,b\ns,c\nc,s\n", "tree.txt, line 5: the taxonomy tree.txt goes in a circle: s below c below s"),
    ("parent,child,load\nr,a,1\nr,b,\nr,c,2\ns,c,3\n", "tree.txt, line 5: 'c' has the load 3, but 2 above"),
    ("parent,child,weight\nr,a,-1\nr,b,\nr,c,\n", "tree.txt, line 2: the weight is '-1', expected a number from 0"),
    ("parent,child,missed\nr,a,x\nr,b,\nr,c,\n", "tree.txt, line 2: the missed is 'x', expected a number from 0"),
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
