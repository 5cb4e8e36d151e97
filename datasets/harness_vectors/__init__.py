"""Data sets of plain feature vectors: handwritten digits."""
