"""Building blocks of compiled learners. They take arrays, give arrays and know no estimator.

`rows` is the index of feature -> (class, weight) edges, `edges` its plain form, `instances` the input. `scoring`,
`topk` and `ranking` read the index for learners whose weights have any sign, `touched` for those whose weights are
above 0, `dense` for both where classes are few, and `prefetching` asks for memory ahead of all of them. Where classes
are many, `frequent` puts the features that know most of them into a matrix, of which `bounds` and `bounded_ranking`
read little. `vectors` learns from dense rows and ranks them. `moves` changes the weights of many classes along one
instance; `ovr_perceptron` is a whole learner that two plugins share. `compiling` says how all this is compiled,
`freshness` when it must be anew. What one plugin alone uses is in `kernels` of that plugin; nowhere else is numba, and
nothing here starts a thread.
"""
