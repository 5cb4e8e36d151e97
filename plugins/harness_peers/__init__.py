"""Learners of other tools, so that they meet ours by the same clock: one file each, imported by their trials alone."""
