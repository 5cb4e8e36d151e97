"""Fixtures for table tests: the trials of one learner."""

import pytest


@pytest.fixture
def run_of(make_record):
    """Return the trials of one learner with these values of R1."""

    def make(label, values, **fields):
        return [make_record(label, seed, r1=value, **fields) for seed, value in enumerate(values)]

    return make
