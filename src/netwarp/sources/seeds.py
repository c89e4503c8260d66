"""The seeds with which source documents are reproduced.

Each release has its own seed, so that no study can have been tuned to it: when replicates, sizes
and levels are chosen, the results with the next release's seed are unknown.
"""

from hashlib import sha256

from netwarp.version import __version__

LARGEST = 2**31


def release_seed(version: str = __version__) -> int:
    """Return the default seed of `netwarp reproduce`, which depends only on netwarp's version."""
    return fresh_seeds(f"netwarp {version}", 1)[0]


def fresh_seeds(origin: object, count: int) -> list[int]:
    """Return this many distinct seeds, derived from a text or a number.

    A longer list begins with the shorter one, so that runs with the earlier seeds are kept.
    """
    found: dict[int, None] = {}
    step = 0
    while len(found) < count:
        digest = sha256(f"{origin}\0{step}".encode()).digest()
        found[int.from_bytes(digest[:8]) % LARGEST] = None
        step += 1
    return list(found)
