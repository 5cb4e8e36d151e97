"""Titles of a few trades with codes, some noisy, and a model of them."""

import random

TRADES = {"11": "nurse ward hospital", "12": "nurse school child", "21": "welder steel pipe", "22": "baker bread oven"}
NOISE = "senior junior assistant chief night lead"
WRONG = 0.15
"""Share of titles with the code of another trade: no model can be right on all."""


def titles(rows=400, seed=0):
    """Return texts and their codes."""
    chance = random.Random(seed)
    texts, codes = [], []
    for _ in range(rows):
        code = chance.choice(list(TRADES))
        words = [chance.choice(NOISE.split()), *chance.sample(TRADES[code].split(), 2)]
        texts.append(" ".join(words))
        codes.append(chance.choice(list(TRADES)) if chance.random() < WRONG else code)
    return texts, codes
