"""Runs on the workers of a Dask cluster: jobs and finished runs travel as data.

On this machine are `connection.py`, `coordinator.py`, `batches.py` (which runs share a task),
`handed_in.py` (the batches that the cluster has) and `workers.py` (which workers can carry runs
out). `worker.py` runs on the worker, and `message.py` defines what it sends back.
"""
