"""Word counts of a dataset by its default representation, columns in word order."""

import numpy as np

from harness_representations.words import Words
from internals import parse


def counts_of(data):
    words = Words(**parse(data.counting).params)
    counts = words.fit_transform(data.texts)
    return counts[:, np.argsort(words.get_feature_names_out())]
