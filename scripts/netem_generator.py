"""netem's random numbers, computed again: which packets the kernel drops for a seed.

With random loss alone, `netem_enqueue` (net/sched/sch_netem.c) draws once for each packet that is
offered, and drops those whose draw is at most the loss, as a share of 2^32 − 1. The generator is
Tausworthe's (L'Ecuyer 1999), as lib/random32.c has it, seeded as `prandom_seed_state` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

MASK = 0xFFFF_FFFF
# prandom_seed_state's least values, and a, b, c, d of lib/random32.c's TAUSWORTHE, a row each.
LEAST = (2, 8, 16, 128)
STEPS = (
    (6, 13, 0xFFFF_FFFE, 18),
    (2, 27, 0xFFFF_FFF8, 2),
    (13, 21, 0xFFFF_FFF0, 7),
    (3, 12, 0xFFFF_FF80, 13),
)


def draws(seed: int) -> Iterator[int]:
    """Give the 32-bit numbers that follow from a 64-bit seed."""
    folded = ((seed >> 32) ^ (seed << 10) ^ seed) & MASK
    state = [folded + least if folded < least else folded for least in LEAST]
    while True:
        state = [
            (((each & c) << d) & MASK) ^ ((((each << a) & MASK) ^ each) >> b)
            for each, (a, b, c, d) in zip(state, STEPS, strict=True)
        ]
        yield state[0] ^ state[1] ^ state[2] ^ state[3]


def drops(seed: int, packets: int, loss_ratio: float) -> int:
    """Count how many of so many packets are lost."""
    bound = round(loss_ratio * MASK)
    return sum(draw <= bound for draw in islice(draws(seed), packets))
