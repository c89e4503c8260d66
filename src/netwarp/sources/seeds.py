"""The seeds with which source documents are reproduced.

Each release has its own, so that no study was made to suit it: whoever chooses replicates, sizes or
levels cannot have seen what they give with the seed of the release to come.
"""

from hashlib import sha256

from netwarp.version import __version__

LARGEST = 2**31


def release_seed(version: str = __version__) -> int:
    """Return the default seed of `netwarp reproduce`, which follows from the version alone."""
    return fresh_seeds(f"netwarp {version}", 1)[0]


def fresh_seeds(origin: object, count: int) -> list[int]:
    """Return distinct seeds that follow from a text or a number, as many as asked for.

    More of them begin with the same ones, so that what was run with fewer is kept.
    """
    found: dict[int, None] = {}
    step = 0
    while len(found) < count:
        digest = sha256(f"{origin}\0{step}".encode()).digest()
        found[int.from_bytes(digest[:8]) % LARGEST] = None
        step += 1
    return list(found)
