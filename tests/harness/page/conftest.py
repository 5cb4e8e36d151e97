"""What tests of the page share: records of a small comparison, and the part that is made of them."""

import pytest

from harness.groups import group_records
from harness.page import PartRequest, make_part
from tabling import INDEX, MACHINES, R1, SIZE, TRAIN

METRICS = {metric.name: metric for metric in (R1, TRAIN, INDEX, SIZE)}


def no_answers(record):
    """No trial has kept its ranks."""


@pytest.fixture(scope="session")
def trials_of(make_record):
    """The trials of one learner: from `r1` on a little less in each, and from `train` seconds on a little more."""

    def make(label, r1, train, n=10, **fields):
        made = []
        for seed in range(n):
            scores = {"r1": r1 - 0.001 * seed, "train": train * (1 + 0.01 * seed), "index": 1000.0 * (seed + 1)}
            made.append(make_record(label, seed, **scores, **fields))
        return made

    return make


@pytest.fixture(scope="session")
def part_of():
    """The part of the page that some records make."""

    def make(records, shown=(R1, TRAIN), more=(INDEX,), read_answers=no_answers, **options):
        lines, find_metric = group_records(records), METRICS.__getitem__
        return make_part(PartRequest("mine", lines, shown, more, MACHINES, find_metric, read_answers, **options))

    return make
