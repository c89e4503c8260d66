"""Runs on the workers of a Dask cluster: jobs and finished runs travel as data.

`connection.py`, `coordinator.py`, `batches.py` (which runs share a task), `handed_in.py` and
`workers.py` (who can carry them out) are here, `worker.py` is there, and `message.py` is what is
said between.
"""
