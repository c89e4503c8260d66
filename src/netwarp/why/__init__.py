"""Explains how long transfers take: each limit is lifted by itself, on the same seeds.

`lifts.py` is the table of limits, `answer.py` lifts them one at a time, `contrast.py` in two cells,
and `swap.py` divides a difference among factors. `experiment.py` carries the runs out.
"""
