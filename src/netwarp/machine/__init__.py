"""Examines this machine: whether it has what netwarp needs, and the speed of its CPU.

`doctor.py` finds what is missing, `speed.py` measures at which rates this CPU can transfer data,
`load.py` estimates the load by other processes, and `conformance.py` checks a stack's program
against the role protocol.
"""
