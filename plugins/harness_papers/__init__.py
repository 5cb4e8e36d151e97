"""Experiments that reproduce the papers, as experiment files."""
