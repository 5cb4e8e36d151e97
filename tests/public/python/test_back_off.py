"""Back-off and sets of labels: the confidence of a node or a label is the rate at which it is right."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OutputCodeClassifier

import harness
from harness.errors import ModelError
from messages import naming
from small_titles import titles
from topic_model import fit_topics, new_topics, topic_rows


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    folder = tmp_path_factory.mktemp("topics")
    fit_topics(folder)
    return harness.load_model(folder / "m")


def right_nodes(found, paths):
    """Return whether each node is the root, the group or the class of the row."""
    right = []
    for name, depth, path in zip(found.names, found.depth, paths, strict=True):
        right.append(depth == 0 or name in (path, *path.split("/")))
    return np.array(right)


# -- nodes -----------------------------------------------------------------------------------------------------------


def test_nodes_are_as_often_right_as_their_confidence_says(topics):
    texts, paths = new_topics()
    for limit in (0.6, 0.8, 0.9):
        found = topics.back_off(texts, limit)
        right = right_nodes(found, paths)
        below = found.depth > 0
        assert below.mean() > 0.5
        assert found.confidence.min() >= limit
        assert right[below].mean() == pytest.approx(found.confidence[below].mean(), abs=0.03)
        for depth in (1, 2):
            at = found.depth == depth
            assert at.sum() > 100
            assert right[at].mean() == pytest.approx(found.confidence[at].mean(), abs=0.05)
    assert (topics.predict(texts) == np.array(paths)).mean() < 0.9  # the rows are hard


def test_a_lower_limit_gives_deeper_nodes(topics):
    texts, _ = new_topics()
    depths = [topics.back_off(texts, limit).depth for limit in (0.3, 0.7, 0.95)]
    assert (depths[0] >= depths[1]).all()
    assert (depths[1] >= depths[2]).all()
    assert depths[0].mean() > depths[2].mean()


def test_a_text_without_known_words_gets_the_root(topics):
    found = topics.back_off(["zzz"], 0.1)
    assert (found.depth[0], found.confidence[0], found.nodes[0]) == (0, 1.0, 0)
    assert topics.back_off([], 0.9).names.tolist() == []


@pytest.mark.parametrize("limit", [0, 1.5, float("nan")])
def test_a_limit_that_is_no_confidence_is_rejected(topics, limit):
    with pytest.raises(ModelError, match="above 0 and up to 1"):
        topics.back_off(["w1"], limit)


def test_models_that_cannot_back_off_raise_an_error_with_the_next_step(topics, model):
    with pytest.raises(ModelError, match=naming("no taxonomy", "taxonomy=tree.csv")):
        model.back_off(["nurse"], 0.9)
    older = replace(topics, manifest=replace(topics.manifest, held_out=None))
    with pytest.raises(ModelError, match=naming("older release", "Fit it again")):
        older.back_off(["w1"], 0.9)
    silent = replace(topics.manifest.held_out, has_scores=False)
    with pytest.raises(ModelError, match=naming("no scores", "harness list learners")):
        replace(topics, manifest=replace(topics.manifest, held_out=silent)).back_off(["w1"], 0.9)


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """Return a folder with a model of classes that each have two groups, of the two kinds g and h."""
    folder = tmp_path_factory.mktemp("crossed")
    texts, paths = topic_rows()
    classes = [path.partition("/")[2] for path in paths]
    pairs = [(f"{kind}{int(name[1:]) % size}", name) for name in sorted(set(classes)) for kind, size in GROUPS]
    edges = ["parent,child,weight,load", *(f"{group},{name},," for group, name in pairs), "all,g0,2,3"]
    edges += [f"all,{group},," for group in sorted({group for group, _ in pairs} - {"g0"})]
    (folder / "groups.csv").write_text("\n".join(edges))
    rows = zip(texts[:3000], classes[:3000], strict=True)
    (folder / "rows.csv").write_text("text,label\n" + "\n".join(map(",".join, rows)))
    data = f"{folder / 'rows.csv'}(taxonomy={folder / 'groups.csv'})"
    harness.fit("pa", data, representation="words", out=folder / "m")
    return folder


GROUPS = (("g", 6), ("h", 4))


def test_nodes_with_several_parents_are_as_often_right_as_their_confidence_says(crossed):
    texts, paths = topic_rows()
    model = harness.load_model(crossed / "m")
    found = model.back_off(texts[3000:], 0.8)
    classes = [int(path.partition("/c")[2]) for path in paths[3000:]]
    known = [{f"c{one}", *(f"{kind}{one % size}" for kind, size in GROUPS)} for one in classes]
    right = np.array([name in nodes for name, nodes in zip(found.names, known, strict=True)])
    for depth in (1, 2):
        at = found.depth == depth
        assert at.sum() > 100
        assert right[at].mean() == pytest.approx(found.confidence[at].mean(), abs=0.06)
    assert {name[0] for name in found.names[found.depth == 1]} == {"g", "h"}


def test_a_new_class_keeps_the_parents_weights_and_costs_of_the_others(crossed, tmp_path):
    before = harness.load_model(crossed / "m").taxonomy
    assert len(before.more_parents) == 36
    texts = [f"cheese oven {row}" for row in range(30)]
    harness.update(crossed / "m", (texts, ["g0/cheese"] * 30), out=tmp_path / "m")
    after = harness.load_model(tmp_path / "m").taxonomy
    names = after.node_names
    assert dict(zip(names, after.weights.tolist(), strict=True)) == {**dict.fromkeys(names, 1.0), "g0": 2.0}
    assert after.costs[names.index("g0")].tolist() == [1.5, 1.5]
    assert after.costs[names.index("g0/cheese")].tolist() == [0.5, 0.5]
    for taxonomy in (before, after):
        pairs = [tuple(taxonomy.node_names[node] for node in pair) for pair in taxonomy.more_parents.tolist()]
        assert sorted(pairs) == sorted((f"c{one}", f"h{one % 4}") for one in range(36))
    assert names[after.parent[after.class_node[-1]]] == "g0"


# -- sets of labels --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """Return a model of rows with one to three labels, and new rows with their labels."""
    from harness_synthetic.topics import make_topics

    data = make_topics(rows=2400, classes=12, words=12, noise=0.3, labels=3, seed=1)
    lines = []
    for row in range(data.rows):
        words = data.X[[row]].tocoo()
        text = " ".join(f"w{word}" for word in words.col)
        lines.append({"text": text, "label": [f"c{one}" for one in data.y[[row]].tocoo().col]})
    path = tmp_path_factory.mktemp("tagged") / "tagged.jsonl"
    path.write_text("\n".join(map(json.dumps, lines[:1600])))
    return harness.fit("pa", str(path), representation="words"), lines[1600:]


def test_labels_are_as_often_right_as_their_confidence_says(tagged):
    model, lines = tagged
    found = model.label_sets([line["text"] for line in lines], threshold=0.5, k=4)
    right = [
        name in line["label"] for names, line in zip(found.names, lines, strict=True) for name in names[names != ""]
    ]
    sure = found.confidence[found.positions >= 0]
    assert sure.min() >= 0.5
    assert np.mean(right) == pytest.approx(sure.mean(), abs=0.05)
    counts = (found.positions >= 0).sum(axis=1)
    assert set(counts.tolist()) > {1, 2}
    assert (np.diff(found.confidence, axis=1) <= 0).all()


def test_the_number_of_labels_is_limited(tagged):
    model, lines = tagged
    texts = [line["text"] for line in lines[:50]]
    assert model.label_sets(texts, threshold=0.01, k=2).positions.shape == (50, 2)
    assert (model.label_sets(texts, threshold=0.01, k=2).positions >= 0).all()
    assert model.label_sets(["zzz"]).names.tolist() == [[""] * 5]


def test_a_threshold_for_one_label_a_row_is_rejected(model):
    with pytest.raises(ModelError, match=naming("one label a row", "--top")):
        model.label_sets(["nurse"])


def test_a_learner_without_scores_has_neither(tmp_path):
    rows = [f"g/{code}" for code in titles()[1]]
    (tmp_path / "t.csv").write_text("text,label\n" + "\n".join(map(",".join, zip(titles()[0], rows, strict=True))))
    learner = OutputCodeClassifier(LogisticRegression(), random_state=0)
    model = harness.fit(learner, str(tmp_path / "t.csv"), representation="words")
    with pytest.raises(ModelError, match="no scores"):
        model.back_off(["nurse"], 0.9)
    with pytest.raises(ModelError, match="no scores"):
        model.label_sets(["nurse"])
