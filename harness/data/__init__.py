"""Data sets in the data home: fetched, taken in, parsed, kept as arrays, checked and cleared."""
