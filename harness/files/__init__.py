"""Files: atomic writes, locks, and the data home."""
