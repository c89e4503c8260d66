"""Examines this machine: whether it has what netwarp needs, and the speed of its CPU.

`doctor.py` says what is missing, `speed.py` what this CPU carries, `load.py` what others take of
it, `conformance.py` holds a stack's program to the role protocol.
"""
