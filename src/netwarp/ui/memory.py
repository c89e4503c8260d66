"""Keeps the memory of the process that serves the pages from growing with what was asked.

The command line collects garbage rarely, since a command ends soon. The server goes on for hours:
the results of each question become cyclic garbage, and the C library keeps what the largest one
needed until it is asked to return it.
"""

import ctypes
import gc

COLLECT_AFTER = 10_000
"""Number of containers that are made before the youngest ones are searched for garbage."""
M_ARENA_MAX = -8
"""The parameter of mallopt(3) for the number of heaps (malloc.h of the GNU C library)."""


def share_one_heap() -> None:
    """Have all threads allocate from one heap; to be called before there are any.

    The GNU C library gives up to eight threads per CPU heaps of their own, each of which keeps what
    the largest question that it answered needed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)


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
