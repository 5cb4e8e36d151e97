"""Learners as models: fitted, saved, loaded, asked and explained, as the table in the docs says.

`pytest --update-snapshots` of this file measures every learner, and writes the facts behind the table. Learners whose
environment is not built keep theirs. Afterwards `python docs/generate.py` writes the table.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import harness
from internals import discover, environment_for
from small_titles import titles
from snapshots import VARIABLE

FACTS = Path(__file__).resolve().parents[3] / "docs" / "assets" / "models.json"
HOME = os.environ.get("HARNESS_PEERS_HOME", "")
DISTRIBUTION = "manyclass-harness"
SPECS = {
    entry.spec.name: entry.spec for entry in discover((), ()).learners if entry.origin.distribution == DISTRIBUTION
}
GIVEN = {
    "blend": "blend(pa, perceptron)",
    "fasttext": "fasttext(lr=1.0, epoch=25)",
    "fasttext-hs": "fasttext-hs(lr=1.0, epoch=25)",
}
"""Settings of learners whose defaults learn nothing from so few rows, or that need others."""
NOT_RUN = {"transformer"}
"""Needs a folder with a pretrained model."""
CHANCE, NOTHING_LEARNED = 0.4, {"dummy", "random-tree", "vw-log-multi", "vw-recall-tree"}


def expression_of(spec):
    return GIVEN.get(spec.name) or (f"{spec.name}(pa)" if spec.wraps else spec.name)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a file of titles whose codes are paths in a tree."""
    path = tmp_path_factory.mktemp("data") / "titles.csv"
    texts, codes = titles(300)
    with path.open("w", newline="") as file:
        rows = [(text, f"{code[0]}/{code}") for text, code in zip(texts, codes, strict=True)]
        csv.writer(file).writerows([("title", "code"), *rows])
    return path


@pytest.mark.parametrize("name", sorted(set(SPECS) - NOT_RUN))
def test_a_learner_fits_predicts_and_explains_as_the_table_says(name, data, tmp_path, monkeypatch):
    spec = SPECS[name]
    if spec.environment:
        if not HOME:
            pytest.skip("HARNESS_PEERS_HOME names no data home with environments: `tox -e peers` builds them")
        monkeypatch.setenv("HARNESS_DATA_HOME", HOME)
        if environment_for(spec.environment).find() is None:
            pytest.skip(f"the environment of {name} is not built in {HOME}")
    fitted = harness.fit(expression_of(spec), str(data), representation="words", out=tmp_path / "m")
    model = harness.load_model(tmp_path / "m")
    texts, codes = titles(40, seed=3)
    predicted = model.predict(texts)
    assert (predicted == fitted.predict(texts)).all()
    if name not in NOTHING_LEARNED:
        assert np.mean([path.endswith(code) for path, code in zip(predicted, codes, strict=True)]) > CHANCE
    explanation = model.explain("night nurse at school")
    assert {word.text for word in explanation.words} >= {"nurse", "school"}
    facts = {
        "here": not spec.environment,
        "confidence": explanation.confidence is not None,
        "explained": explanation.method,
    }
    if os.environ.get(VARIABLE):
        known = json.loads(FACTS.read_text()) if FACTS.exists() else {}
        FACTS.write_text(json.dumps(dict(sorted({**known, name: facts}.items())), indent=1) + "\n")
    assert json.loads(FACTS.read_text())[name] == facts


def test_the_table_has_every_learner():
    assert set(json.loads(FACTS.read_text())) == set(SPECS) - NOT_RUN
