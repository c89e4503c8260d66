"""The cells that two clocks are held against each other over, drawn at random."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

from netwarp.study import Study, study_from_mapping

SEED = 20261126
"""Chosen before anything was run: the day on which this was written."""
COUNT = 40
TRANSPORTS = ("tcp", "tls", "sctp", "quic")
QUEUES = ("1bdp", "2bdp", "4bdp")
LOSSY_SHARE = 0.5
REPLICATES_WITH_LOSS = 3
DELAYS_MS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""What a control adds to round-trip times: what CPUs and timers of a machine add, and no more."""
DRAWS = 5
"""Other random numbers of the guest's own, with which the same control runs a cell again."""


@dataclass(frozen=True)
class Cell:
    """A transfer over a path."""

    name: str
    transport: str
    rtt_ms: float
    rate_mbit: float
    loss_percent: float
    size_kb: int
    queue: str

    @property
    def replicates(self) -> int:
        """How often it is run: once where nothing is random."""
        return REPLICATES_WITH_LOSS if self.loss_percent else 1

    def study(self, extra_ms: float = 0.0) -> Study:
        """Return its study: what `netwarp compare` runs, but nothing is hashed or sampled, which
        takes CPU time.

        Args:
            extra_ms: what is added to the round-trip time.
        """
        path: dict[str, Any] = {
            "rtt": f"{self.rtt_ms + extra_ms:g}ms", "rate": f"{self.rate_mbit:g}mbit",
            "queue": self.queue,
        }  # fmt: skip
        if self.loss_percent:
            path["loss"] = f"{self.loss_percent:g}%"
        return study_from_mapping(
            {
                "title": "second clock",
                "replicates": self.replicates,
                "sampling": "off",
                "path": path,
                "transport": {"kind": self.transport},
                "workload": {"kind": "bulk", "size": f"{self.size_kb}kB", "verify": False},
            }
        )


WARM_UP = tuple(Cell(kind, kind, 20, 10, 0, 30, "2bdp") for kind in TRANSPORTS)
"""One transfer over each transport before those that count: the first one of a kernel is slower."""


def drawn_cells(seed: int = SEED, count: int = COUNT) -> list[Cell]:
    """Draw cells: all transports, losses on half of the paths, the rest even on a log scale."""
    draw = random.Random(seed)  # noqa: S311 - what is drawn is a measurement

    def between(low: float, high: float, digits: int) -> float:
        return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.{digits}g}")

    return [
        Cell(
            name=f"c{number:02d}",
            transport=draw.choice(TRANSPORTS),
            rtt_ms=between(10, 200, 3),
            rate_mbit=between(1, 20, 3),
            loss_percent=between(0.1, 3, 2) if draw.random() < LOSSY_SHARE else 0,
            size_kb=int(between(30, 1000, 3)),
            queue=draw.choice(QUEUES),
        )
        for number in range(1, count + 1)
    ]
