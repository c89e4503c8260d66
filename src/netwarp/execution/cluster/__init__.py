"""Runs on the workers of a Dask cluster: jobs and finished runs are transferred as plain data.

On this machine run `connection.py`, `coordinator.py`, `batches.py` (which runs share a task),
`handed_in.py` (the batches that were sent to the cluster) and `workers.py` (which workers can carry
runs out). `worker.py` runs on the workers, and `message.py` defines the messages that workers
return.
"""
