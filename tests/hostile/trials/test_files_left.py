"""A learner that uses up the file descriptors of its process has no result."""

import os
import resource

import pytest

from harness.errors import ContractError
from internals import check_files_left
from messages import naming


def test_a_process_without_free_file_descriptors_is_detected():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        with pytest.raises(ContractError, match=naming("file", "process")):
            check_files_left()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    check_files_left()
