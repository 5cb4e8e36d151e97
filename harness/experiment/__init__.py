"""Experiments: read options and files, look up names, and plan trials."""
