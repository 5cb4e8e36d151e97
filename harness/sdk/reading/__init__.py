"""Readers for loaders of datasets: raw and compressed files, lines of text, tables, sparse rows."""
