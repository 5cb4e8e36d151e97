"""Trials on many machines: a Dask cluster, whose every worker runs them through the local executor, limits and all.

`executor` is the host's side: it gives each worker its next trial and takes in what comes back. `working` is what runs
on a worker. What travels between the two is in `messages`; data and code go ahead of a trial, once, as `parcels`.

dask.distributed is imported here only, and only when a cluster is asked for.
"""
