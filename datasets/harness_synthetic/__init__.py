"""Datasets made on the spot from a seed: quick, without a download, the same on every machine."""
