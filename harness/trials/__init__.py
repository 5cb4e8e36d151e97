"""One trial, from rows to scores: split, tune, represent, warm up, fit, rank, measure."""
