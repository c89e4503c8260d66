"""Keeps the memory of the process that serves the pages from growing with what was asked.

The command line collects garbage rarely, since a command ends soon. The server goes on for hours:
the results of each question become cyclic garbage, and the C library keeps what the largest one
needed until it is asked to return it.
"""

import ctypes
import gc

COLLECT_AFTER = 10_000
"""Number of containers that are made before the youngest ones are searched for garbage."""


def keep_what_is_imported() -> None:
    """Leave all objects that there are now out of searches for garbage, which are frequent from now
    on; to be called when the modules that answer have been imported.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def return_memory() -> None:
    """Free cyclic garbage, and return the memory that is free to the system."""
    gc.collect()
    # A C library without it (musl) returns memory by itself.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
