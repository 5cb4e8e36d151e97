"""Fixtures for comparisons with the papers: an index as a matrix, and the invariants of every index."""

from index_fixtures import assert_sound, dense

__all__ = ["assert_sound", "dense"]
