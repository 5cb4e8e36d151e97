"""Datasets of plain feature vectors: digits, spoken and printed letters, pictures."""
