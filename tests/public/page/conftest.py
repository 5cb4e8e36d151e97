"""Fixtures for page tests: records of a small comparison, and the page content made from them."""

import pytest

from internals import PartRequest, group_records, make_part
from small_tables import INDEX, MACHINES, R1, SIZE, TRAIN

METRICS = {metric.name: metric for metric in (R1, TRAIN, INDEX, SIZE)}


def no_answers(record):
    """Return no saved ranks for any trial."""


@pytest.fixture(scope="session")
def trials_of(make_record):
    """Return trials of one learner with slightly decreasing `r1` and increasing `train` seconds."""

    def make(label, r1, train, n=10, **fields):
        made = []
        for seed in range(n):
            scores = {"r1": r1 - 0.001 * seed, "train": train * (1 + 0.01 * seed), "index": 1000.0 * (seed + 1)}
            made.append(make_record(label, seed, **scores, **fields))
        return made

    return make


@pytest.fixture(scope="session")
def part_of():
    """Return the page content of some records."""

    def make(records, shown=(R1, TRAIN), more=(INDEX,), read_answers=no_answers, test="sign", **options):
        lines, find_metric = group_records(records), METRICS.__getitem__
        return make_part(
            PartRequest("mine", lines, shown, more, MACHINES, find_metric, read_answers, test=test, **options)
        )

    return make
