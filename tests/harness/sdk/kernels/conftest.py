"""Fixtures of the kernels' tests: an index as a matrix, and what every index obeys."""

from index_fixtures import assert_sound, dense

__all__ = ["assert_sound", "dense"]
