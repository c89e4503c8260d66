"""The sections of a study file: their keys, and the types of the values.

Tables become sections. A workload's keys are in its own folder of `netwarp.workloads`; those that
several workloads of a study have beside them are in `competing.py`. `properties.py` makes keys of
path properties, `profiles.py` has the named paths, `inheritance.py` says what a second path takes
over, `events.py` orders all that happens in time,
`mahimahi.py` reads rate traces, and `diagnose.py` says what is wrong with a value.
"""
