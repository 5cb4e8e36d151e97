"""Compiled building blocks of learners: functions of arrays, without estimators.

| module | content |
|---|---|
| `instances` | input rows |
| `rows`, `edges` | the index of feature -> (class, weight) edges, and its packed form |
| `score`, `rank` | scores and ranking, for weights of any sign |
| `touched` | the same for weights above 0 |
| `dense` | ranking with few classes |
| `bounds`, `bounded_rank` | ranking with many classes, by upper bounds |
| `class_scores` | scores of given classes |
| `vectors` | training and ranking on dense rows |
| `moves` | updates of many classes along one instance |
| `one_vs_rest` | the one-vs-rest perceptron, which two plugins share |
| `random_numbers` | random numbers inside kernels |
| `compile` | compilation and its cache |

Compiled functions name their arguments alike: `rows` is the index W, `instances` the input, `i` an instance, `f` a
feature, `c` a class, `x` a value. `features` and `values` are those of one instance. `base` has the score of each class
without features, `scores` has room for all classes, and `ranked` for the best ones; -1 pads. Names in capitals,
such as `ROWS`, are numba types of named tuples.

A kernel that one plugin uses is in `kernels` of that plugin. numba is imported nowhere else, and no kernel starts a
thread.
"""
