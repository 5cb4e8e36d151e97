"""Syntax of the texts that users write: expressions, splits, durations, sizes."""
