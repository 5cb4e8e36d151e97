"""A transformer in its environment where that is built: a tiny BERT with random weights."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

import harness
from harness import run
from harness.errors import SpecError
from harness_peers.plugin import TRANSFORMERS
from internals import Session, environment_for, find_checked, run_checks

HOME = os.environ.get("HARNESS_PEERS_HOME", "")
"""A data home in which the environments have been built, for all these tests."""
MAKES_A_BERT = """
import sys
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

folder, *known = sys.argv[1:]
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *known]
tokens = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
tokens.pre_tokenizer = pre_tokenizers.Whitespace()
tokens.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
special = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]")
PreTrainedTokenizerFast(tokenizer_object=tokens, **special).save_pretrained(folder)
torch.manual_seed(1)
size = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, initializer_range=0.2)
BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=40, **size)).save_pretrained(folder)
"""
TRADES = {
    "cook": "soup pan oven",
    "smith": "iron forge anvil",
    "sailor": "ship mast rope",
    "weaver": "loom wool thread",
}
TEXTS = [f"{a} {b}" for words in TRADES.values() for a in words.split() for b in words.split() for _ in range(2)]
LABELS = [trade for trade in TRADES for _ in range(18)]
CHECKED_WORDS = [f"word{n}" for n in range(60)]
SETTINGS = "epochs=8, batch=8, learning_rate=0.003"


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Return the folder of an untrained model whose vocabulary has the words of these tests."""
    if not HOME:
        pytest.skip("HARNESS_PEERS_HOME names no data home with environments: `tox -e peers` builds them")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_DATA_HOME", HOME)
        found = environment_for(TRANSFORMERS).find()
    if found is None:
        pytest.skip(f"the environment of transformer is not built in {HOME}")
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    words = sorted({word for text in TEXTS for word in text.split()})
    made = [found.python, "-c", MAKES_A_BERT, folder, *words, *CHECKED_WORDS]
    subprocess.run(list(map(str, made)), check=True, capture_output=True)
    return folder


@pytest.fixture
def trained(bert, tmp_path, monkeypatch):
    """Return the records of this learner on texts of four trades."""
    monkeypatch.setenv("HARNESS_DATA_HOME", HOME)

    def train(*learners, **settings):
        given = {"data": (TEXTS, LABELS), "trials": 1, "build": False, "progress": False, "out": tmp_path / "out"}
        return run(list(learners), **given | settings).records

    return train


def transformer(folder, settings=SETTINGS):
    return f"transformer(folder={str(folder)!r}, {settings})"


def test_it_learns_from_texts_ranks_them_and_is_measured(bert, trained):
    (record,) = trained(transformer(bert), metrics=["r1", "r5", "aurc"])
    assert record.status == "ok", record.message
    assert record.representation == "texts"
    assert record.scores["r1"] > 0.8
    assert record.scores["r5"] == 1.0  # all four classes are ranked
    assert record.scores["aurc"] is not None  # from the scores of the ranks
    assert record.index_bytes > 4 * record.index_size > 0  # 32-bit weights, a header and a vocabulary
    assert record.stage_seconds is not None
    assert {"torch", "transformers"} <= record.versions.keys()
    assert record.fit_cpu_seconds < 1.5 * record.fit_seconds + 0.2  # one thread


def test_it_satisfies_the_contract(bert, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", HOME)
    session = Session()
    ends = list(run_checks(find_checked(transformer(bert), session.catalog), session, 300.0, 3600.0))
    failed = [(result.name, result.end.reason) for result in ends if result.end.status == "failed"]
    assert ends
    assert failed == []


def test_a_fitted_model_needs_the_pretrained_one_no_more(bert, tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", HOME)
    copied = shutil.copytree(bert, tmp_path / "bert")
    fitted = harness.fit(transformer(copied), (TEXTS, LABELS), out=tmp_path / "m")
    shutil.rmtree(copied)
    assert (tmp_path / "m" / "learner" / "model" / "model.safetensors").stat().st_size > 10_000
    loaded = harness.load_model(tmp_path / "m")
    assert (loaded.predict(TEXTS) == LABELS).mean() > 0.8
    assert np.allclose(loaded.decision_function(TEXTS), fitted.decision_function(TEXTS), atol=1e-5)
    assert {word.text for word in loaded.explain("soup pan").words} == {"soup", "pan"}


def test_its_weights_depend_on_the_seed_only(bert, trained):
    seed_1 = "one=" + transformer(bert, "epochs=1, random_state=1")
    again = "again=" + transformer(bert, "epochs=1, random_state=1, max_length=39")  # longer than all texts: the same
    seed_2 = "two=" + transformer(bert, "epochs=1, random_state=2")
    records = trained(seed_1, again, seed_2, metrics=["aurc", "r1", "index"])
    first, same, other = ([record.scores[name] for name in ("aurc", "r1", "index")] for record in records)
    assert first == same
    assert first != other


def test_texts_without_known_words_are_reported(bert, trained):
    (record,) = trained(transformer(bert, "epochs=1"), data=([text.upper() for text in TEXTS], LABELS))
    assert record.status == "ok", record.message
    assert any("knows no word" in warning for warning in record.warnings)


def test_a_text_longer_than_the_models_limit_is_truncated(bert, trained):
    longest = [" ".join([text] * 40) for text in TEXTS]
    (record,) = trained(transformer(bert, "epochs=1, max_length=500"), data=(longest, LABELS))
    assert record.status == "ok", record.message


def spoiled(bert, tmp_path, *, without=(), config=None):
    """Return a copy of the model with a file missing or changed."""
    folder = tmp_path / "spoiled"
    folder.mkdir()
    for file in bert.iterdir():
        if file.name not in without:
            (folder / file.name).write_bytes(file.read_bytes())
    if config is not None:
        (folder / "config.json").write_text(config)
    return folder


BAD_FOLDERS = {
    "none": (lambda bert, tmp_path: "", "folder '' is not there"),
    "missing": (lambda bert, tmp_path: tmp_path / "nowhere", "is not there"),
    "a name on the Hub": (lambda bert, tmp_path: "bert-base-uncased", "is not there"),
    "no config": (lambda *places: spoiled(*places, without=["config.json"]), "config.json is missing"),
    "no weights": (lambda *places: spoiled(*places, without=["model.safetensors"]), "has no weights"),
    "unreadable config": (lambda *places: spoiled(*places, config="{"), "AutoConfig cannot read it"),
    "unknown kind": (lambda *places: spoiled(*places, config=json.dumps({"model_type": "abacus"})), "abacus"),
}


@pytest.mark.parametrize("case", BAD_FOLDERS)
def test_a_folder_without_a_model_is_rejected_before_training(case, bert, trained, tmp_path):
    make, words = BAD_FOLDERS[case]
    with pytest.raises(SpecError, match=words):
        trained(transformer(make(bert, tmp_path)))
    assert not (tmp_path / "out" / "records.jsonl").exists()


def test_the_model_folder_is_required(trained):
    with pytest.raises(SpecError, match=r"'transformer' needs a value for 'folder': --set transformer\.folder=VALUE"):
        trained("transformer")


@pytest.mark.parametrize("setting", ["epochs=0", "batch=0", "learning_rate=0", "max_length=0"])
def test_a_number_out_of_range_is_rejected_before_training(setting, bert, trained):
    with pytest.raises(SpecError, match=setting):
        trained(transformer(bert, setting))


def test_damaged_weights_fail_the_trial_and_the_folder_is_named(bert, trained, tmp_path):
    folder = spoiled(bert, tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    (record,) = trained(transformer(folder))
    assert record.status == "error"
    assert "spoiled" in record.message
    assert "cannot read it" in record.message
