"""Texts with a taxonomy of groups and classes, some of them hard to separate, and a model of them."""

import csv
from functools import cache

import numpy as np

import harness
from harness_synthetic.topics import make_topics

TRAINED = 5000


@cache
def topic_rows():
    """Return texts and their paths `g<group>/c<class>`."""
    data = make_topics(rows=7500, classes=36, words=12, noise=0.3, seed=3)
    texts = []
    for row in range(data.rows):
        counts = data.X[[row]].tocoo()
        words = np.repeat(counts.col, counts.data.astype(int))
        texts.append(" ".join(f"w{word}" for word in words))
    return texts, [f"g{label % 6}/c{label}" for label in data.y.tolist()]


@cache
def new_topics():
    """Return texts that the model has not seen, and their paths."""
    texts, paths = topic_rows()
    return texts[TRAINED:], paths[TRAINED:]


def fit_topics(folder):
    """Fit a model on the first rows, and save it in a folder."""
    texts, paths = topic_rows()
    with (folder / "topics.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts[:TRAINED], paths[:TRAINED], strict=True)])
    return harness.fit("pa", str(folder / "topics.csv"), representation="words", out=folder / "m")
