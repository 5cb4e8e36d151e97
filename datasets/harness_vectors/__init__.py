"""Datasets of feature vectors: digits, spoken and printed letters, pictures."""
