"""Derives all seeds of a study, by hashing.

netem's random generator has no warm-up, so small seeds that differ by one give correlated first
numbers. Each seed is therefore a hash of the study's seed, the replicate and the seed's purpose. It
depends neither on the cell nor on the transport: in one replicate all cells draw the same numbers,
so that differences between them are paired samples.
"""

from enum import IntEnum

from netwarp.wire import Direction

_MASK = 2**64 - 1
LARGEST_STUDY_SEED = 2**63 - 1
"""Largest seed that a study may have (TOML has no larger whole number)."""


class Purpose(IntEnum):
    """The purpose of a seed. The numbers enter the hash, and so the results: never change them."""

    RUN = 1
    CONTENT = 2
    PATH_DOWN = 3
    PATH_UP = 4
    REDRAW = 5
    START = 6
    HANDOVER = 7
    OUTAGE = 8


def run_seed(study_seed: int, replicate: int) -> int:
    """Return the seed of the endpoint's own random numbers."""
    return derive(study_seed, replicate, Purpose.RUN)


def content_seed(study_seed: int, replicate: int, workload: int = 0) -> int:
    """Return the seed of a workload's content; `workload` is its index in the study."""
    return derive(study_seed, replicate, Purpose.CONTENT, *((workload,) if workload else ()))


def path_seed(study_seed: int, replicate: int, path: int, direction: Direction) -> int:
    """Return netem's seed for one direction of one path."""
    purpose = Purpose.PATH_DOWN if direction == "down" else Purpose.PATH_UP
    return derive(study_seed, replicate, purpose, path)


def redraw_seed(study_seed: int, replicate: int, path: int) -> int:
    """Return the seed of the delays that `[path.redraw]` draws on one path."""
    return derive(study_seed, replicate, Purpose.REDRAW, path)


def numbered(slot: str, workload: int) -> str:
    """Return the name of a slot with the index of its workload. The first workload's slot has no
    number.
    """
    return f"{slot}{workload}" if workload else slot


def replicate_seeds(
    study_seed: int, replicate: int, paths: int, workloads: int = 1
) -> dict[str, int]:
    """Return all seeds of a replicate, by the name of their slot in a job's text.

    Args:
        study_seed: the study's seed.
        replicate: the number of the replicate, from 0.
        paths: largest number of paths in any cell.
        workloads: the number of workloads in the study.
    """
    seeds = {"run": run_seed(study_seed, replicate)}
    for workload in range(workloads):
        seeds[numbered("content", workload)] = content_seed(study_seed, replicate, workload)
    for path in range(paths):
        seeds[f"path{path}down"] = path_seed(study_seed, replicate, path, "down")
        seeds[f"path{path}up"] = path_seed(study_seed, replicate, path, "up")
        seeds[f"redraw{path}"] = redraw_seed(study_seed, replicate, path)
    return seeds


def earliest_replicate(study_seed: int, replicate: int) -> tuple[int, int]:
    """Return the seed of another study, and the number of one of its first replicates, such that
    this replicate has all seeds of the given one. The number is nearly always 0, 1 or 2, so that a
    single run can soon be repeated.

    `derive` hashes the study's seed first and the replicate second, and SplitMix64 is a bijection:
    for each replicate number there is exactly one seed. The result is the first of these that a
    study may have.
    """
    state = splitmix64(splitmix64(study_seed & _MASK)) ^ splitmix64(replicate)
    for earlier in range(replicate):
        seed = _splitmix64_inverse(_splitmix64_inverse(state ^ splitmix64(earlier)))
        if seed <= LARGEST_STUDY_SEED:
            return seed, earlier
    return study_seed, replicate


def evenly_below(bound: int, *parts: int) -> int:
    """Return a whole number that is uniform over 0 to `bound - 1`, by hashing numbers.

    It is taken from the high bits of a 64-bit hash: no number is likelier than another by more than
    one part in 2⁶⁴ ÷ bound.
    """
    return derive(*parts) * bound >> 64


def derive(*parts: int) -> int:
    """Return a hash of several numbers and their order, as one 64-bit number."""
    state = 0
    for part in parts:
        state = splitmix64(state ^ splitmix64(part & _MASK))
    return state


def splitmix64(state: int) -> int:
    """Return the first output of SplitMix64 (Steele, Lea, Flood 2014) for a state."""
    z = (state + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _splitmix64_inverse(output: int) -> int:
    """Return the state for which `splitmix64` returns this output."""
    z = _xorshift_inverse(output, 31)
    z = _xorshift_inverse(z * pow(0x94D049BB133111EB, -1, 2**64) & _MASK, 27)
    z = _xorshift_inverse(z * pow(0xBF58476D1CE4E5B9, -1, 2**64) & _MASK, 30)
    return (z - 0x9E3779B97F4A7C15) & _MASK


def _xorshift_inverse(z: int, shift: int) -> int:
    """Return the 64-bit y for which y ^ (y >> shift) is z."""
    y = z
    for _ in range(64 // shift):
        y = z ^ (y >> shift)
    return y
