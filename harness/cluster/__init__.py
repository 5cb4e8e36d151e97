"""The cluster executor: runs trials on the workers of a Dask cluster, where the local executor enforces all limits.

The host is the machine on which the user starts a run. There, `connect` connects to the cluster, `executor` handles
events in a loop, `queue` holds the jobs, `workers` is the registry of workers, and `send` calls functions on workers
and sends them artifacts. On a worker, `worker` runs jobs, and `receive` stores artifacts. Both sides use `messages` and
`artifacts`. Only this package imports dask.distributed, and only for runs on a cluster.
"""
