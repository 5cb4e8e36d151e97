"""Trials on many machines: a Dask cluster, whose every worker runs them through the local executor, limits and all.

`executor` is the host's side, which acts on events: who is there (`lookout`, `roster`), what is heard of trials
(`attempts`); `handing` decides who gets which. `working` is what runs on a worker, at its `stations`. What travels
between the two is in `messages`; data and code go ahead of a trial, once, as `parcels`.

dask.distributed is imported here only, and only when a cluster is asked for.
"""
