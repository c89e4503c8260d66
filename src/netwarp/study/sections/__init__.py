"""The sections of a study file: their keys, and the types of the values.

Tables become sections. A workload's keys are in its own folder of `netwarp.workloads`; those that
several workloads of a study have beside them are in `competing.py`. `properties.py` makes keys of
path properties, `inheritance.py` says what a path takes over from a profile or the first path,
`events.py` orders all that happens in time, `mahimahi.py` reads rate traces, and `diagnose.py` says
what is wrong with a value.
"""
