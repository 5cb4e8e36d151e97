"""The card of a model: its training data and its quality; the card of an older release names what is not known."""

import json
import re
import shutil

import pytest

import harness
from harness.errors import ModelError
from internals import card_to_html, card_to_text, read_card, seal_of
from small_titles import WRONG, titles

NO_CALIBRATOR = {"calibrator": {}, "accuracy": 1.0, "expected_calibration_error": 0.0}


def forge(folder, **changes):
    """Change the manifest and its checksum; a value of None removes the key."""
    plain = json.loads((folder / "manifest.json").read_text()) | changes
    plain = {key: value for key, value in plain.items() if value is not None}
    (folder / "manifest.json").write_text(json.dumps(plain | {"sha256": seal_of(plain)}))


@pytest.fixture
def copied(kept_model, tmp_path):
    return shutil.copytree(kept_model, tmp_path / "copy")


def test_the_card_has_the_data_the_accuracy_and_the_use(kept_model):
    text = card_to_text(read_card(kept_model))
    for part in ("pa (manyclass-harness)", "400 rows, 4 classes", "words", "held-out rows", f"{kept_model} "):
        assert part in text.replace("\n", " ")
    assert "80 held-out rows, fewer than 500" in " ".join(text.split())


def test_the_figures_are_those_of_the_held_out_rows(kept_model):
    held_out = harness.load_model(kept_model).manifest.held_out
    assert sum(one.rows for one in held_out.by_frequency) == 80
    right = sum(one.right for one in held_out.by_frequency)
    assert right / 80 == pytest.approx(1 - WRONG, abs=0.1)
    assert sum(one.rows for one in held_out.confusions) == 80 - right
    assert all(one.rows <= one.of for one in held_out.confusions)
    rows = [one.rows for one in held_out.confusions]
    assert rows == sorted(rows, reverse=True)


def test_a_model_of_an_older_release_is_loaded_and_its_card_says_what_is_not_known(copied, model):
    forge(copied, held_out=None)
    text = card_to_text(read_card(copied))
    assert text.count("not known") == 2
    assert "Mean calibration error" in text
    assert harness.load_model(copied).predict(["nurse"]).tolist() == model.predict(["nurse"]).tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"reliability": {"rows": 80}},
        {"reliability": {"rows": 10**400, "brier": 0.1, "expected_calibration_error": 0.1, "bins": []}},
        {"held_out": {"has_scores": "yes"}},
        {"held_out": {"has_scores": True, "by_frequency": [{"least": 1}]}},
        {"held_out": {"has_scores": True, "labels": NO_CALIBRATOR}},
        {
            "held_out": {
                "has_scores": True,
                "levels": [NO_CALIBRATOR | {"calibrator": {"kind": "constant", "share": 0.5}}],
            }
        },
    ],
)
def test_damaged_figures_are_rejected_by_card_and_model(copied, changes):
    forge(copied, **changes)
    for read in (read_card, harness.load_model):
        with pytest.raises(ModelError, match="model"):
            read(copied)


def test_a_taxonomy_with_a_cycle_is_rejected(copied):
    import hashlib

    classes = json.loads((copied / "classes.json").read_text())
    classes["taxonomy"] = {"parent": [-1, 2, 1], "class_node": [1, 1, 2, 2], "node_names": []}
    content = json.dumps(classes).encode()
    (copied / "classes.json").write_bytes(content)
    files = json.loads((copied / "manifest.json").read_text())["files"]
    files["classes.json"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    forge(copied, files=files)
    for read in (read_card, harness.load_model):
        with pytest.raises(ModelError, match="cycle"):
            read(copied)


def test_names_are_text_on_the_page_and_nothing_is_loaded(tmp_path):
    texts, codes = titles()
    hostile = [f"<img src=//x onerror=alert(1)>{code}<!--[body]-->" for code in codes]
    harness.fit("pa", (texts, hostile), representation="words", out=tmp_path / "m")
    page = card_to_html(read_card(tmp_path / "m"))
    assert "<img" not in page
    assert "&lt;img src=//x" in page
    assert page.count("<body>") == 1
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=.http", page)
    assert "light-dark(" in page


def test_the_card_of_an_updated_model_says_why_class_frequencies_are_missing(copied):
    plain = json.loads((copied / "manifest.json").read_text())
    without = plain["held_out"] | {"by_frequency": []}
    forge(copied, held_out=without)
    assert "not measured: no held-out rows" in " ".join(card_to_text(read_card(copied)).split())
    forge(copied, held_out=without, data=plain["data"] | {"updates": [{"rows": 10}]})
    text = " ".join(card_to_text(read_card(copied)).split())
    assert "not measured: an updated model does not have the class counts of its first training" in text
