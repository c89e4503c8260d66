"""The sections of a study file: their keys, and the types of the values.

Each section is a model of one table. A workload's keys are in its own folder of
`netwarp.workloads`; the keys that workloads have in addition if there are several are in
`competing.py`. `properties.py` makes the keys of path properties, `inheritance.py` determines what
a path inherits from a profile or the first path, and `events.py` orders all events in time.
`mahimahi.py` reads rate traces, and `diagnose.py` words errors in values.
"""
