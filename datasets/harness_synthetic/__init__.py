"""Synthetic datasets made from a seed: quick, without a download, identical on all machines."""
