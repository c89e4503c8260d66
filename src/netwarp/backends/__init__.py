"""Backends, the places where runs are carried out: one interface, and one module for each backend.

`base.py` is the interface: carry out one job in one directory. `registry.py` finds a backend by its
name, `needs.py` lists what a machine must have for each, and `abilities.py` what each can do to
packets. `virtual.py` boots a guest: `processes.py` starts and stops it, `watch.py` follows it,
`spinning.py` finds the program that spins in it, and `outcome.py` determines how it ended.
`native.py` runs on the host's own kernel in real time, and `replay.py` returns recorded runs.
`guest_files.py` finds kernel and endpoint; `building.py` and `stack_building.py` build
programs; `cpus.py` finds a CPU without a guest, and `scratch.py` a directory for a guest's memory.

Invariant: a backend refuses, with the reason, everything that it does not list as supported.
"""
