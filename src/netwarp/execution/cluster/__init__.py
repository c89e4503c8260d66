"""Runs on the workers of a Dask cluster: jobs and finished runs travel as data."""
