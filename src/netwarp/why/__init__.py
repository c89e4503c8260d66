"""Explains how long transfers take: each limit on them is removed by itself, with the same seeds.

`lifts.py` is the table of limits, and of how each is removed (lifted). `answer.py` lifts them one
at a time, `contrast.py` does so in two cells, and `swap.py` divides a difference among factors.
`experiment.py` carries the runs out.
"""
