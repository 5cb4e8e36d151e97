"""One trial, from the rows of a dataset to scores: split, tune, represent, warm up, fit, rank, measure."""
