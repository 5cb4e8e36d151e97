"""Compiled building blocks that plugins share. They take arrays, give arrays and know no estimator.

`rows` is the index of feature -> (class, weight) edges, `instances` the input, `scoring` and `topk` read the index,
and each learner's update has a file of its own. numba appears in this folder only; nothing here starts a thread.
"""
