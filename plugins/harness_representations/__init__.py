"""Representations: texts to counts of words or of runs of characters, counts to weights, weights to vectors."""
