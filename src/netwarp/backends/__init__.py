"""Where runs happen: one interface, one module for each place.

`base.py` is the interface: carry out one job in one directory. `registry.py` has the backends by
name, `needs.py` what a machine must have for each, `abilities.py` what each can do to packets.
`virtual.py` boots a guest: `processes.py` starts and stops it, `watch.py` follows it, `spinning.py`
names what spins in it, `outcome.py` reads off how it ended. `native.py` runs on the host's own
kernel in real time, `replay.py` gives recorded runs again. `guest_files.py` finds kernel, shim and
endpoint, `building.py` and `stack_building.py` build, `cpus.py` finds a CPU without a guest,
`scratch.py` memory for one.

Invariant: what a backend does not name as something that it can do is refused, with the reason.
"""
