"""Fixtures for page tests: records of a small comparison, and the page content made from them."""

from dataclasses import replace

import pytest

from internals import PartRequest, group_records, make_part
from small_tables import INDEX, MACHINES, R1, TRAIN


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
    """Return the page content of some records; `answers_of` returns the answers of a record, or None."""

    def make(records, shown=(R1, TRAIN), more=(INDEX,), answers_of=None, test="sign", **options):
        records = [replace(record, key=f"k{number}") for number, record in enumerate(records)]
        found = {record.key: answers_of(record) for record in records} if answers_of else {}
        answers = {key: one for key, one in found.items() if one is not None}
        return make_part(
            PartRequest("mine", group_records(records), shown, more, MACHINES, answers, test=test, **options)
        )

    return make
