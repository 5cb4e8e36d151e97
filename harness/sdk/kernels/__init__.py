"""Compiled building blocks that plugins share. They take arrays, give arrays and know no estimator.

`rows` is the index of feature -> (class, weight) edges, `edges` its plain form, `instances` the input. `scoring` and
`topk` read the index for learners whose weights have any sign, `touched` for those whose weights are above 0, `dense`
for both where classes are few, and `prefetching` asks for memory ahead of all of them. `upkeep` is what befalls a row
of weights above 0. Each learner's update has a file of its own. numba appears in this folder only;
nothing here starts a thread.
"""
