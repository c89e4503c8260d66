"""Prevents the memory of the process that serves the pages from growing with the number of
comparisons.

The command line collects garbage rarely, because a command ends soon. The server runs for hours:
the results of each comparison become cyclic garbage, and the C library keeps the memory that the
largest one needed until it is told to return it.
"""

import ctypes
import gc

COLLECT_AFTER = 10_000
"""Number of new container objects after which the youngest ones are searched for garbage."""
M_ARENA_MAX = -8
"""The parameter of mallopt(3) for the number of heaps (malloc.h of the GNU C library)."""


def share_one_heap() -> None:
    """Make all threads allocate memory from one heap; to be called before there are any threads.

    The GNU C library gives up to eight threads per CPU separate heaps, each of which keeps the
    memory that its largest comparison needed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)


def keep_what_is_imported() -> None:
    """Exclude all present objects from garbage collection, which runs more often from now on. To be
    called when all modules have been imported.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def return_memory() -> None:
    """Free cyclic garbage, and return free memory to the system."""
    gc.collect()
    # A C library without it (musl) returns memory by itself.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
