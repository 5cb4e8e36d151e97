"""Datasets in the data home: download, import, parse, store as arrays, verify and remove them."""
