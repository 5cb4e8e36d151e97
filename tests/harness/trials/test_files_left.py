"""A learner that uses up the files of its process has no result: nothing could be measured of it."""

import os
import resource

import pytest

from harness.errors import ContractError
from harness.trials.measure import check_files_left


def test_a_process_that_may_open_no_more_files_is_noticed():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        with pytest.raises(ContractError, match="left no file that its process may still open"):
            check_files_left()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    check_files_left()
