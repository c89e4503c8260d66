"""ns-3 on the jobs A to D: what it needs, and how it is asked."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import TracebackType

from bench import guests
from bench.lines import FAST, Transfer
from bench.measured import Cost
from netwarp.backends.ns3.backend import Ns3Backend
from netwarp.errors import BackendError

# Above twice the bandwidth-delay product. ns-3 searches its list of SACK blocks from the start, so
# larger ones cost more time than the whole of the rest.
NS3_TCP = {"kind": "tcp", "model": "ns3", "buffer": "4MiB", "label": "ns-3"}
# What is called for the first time is compiled first, for five CPU seconds.
FIRST = Transfer("ns-3: its first transfer", NS3_TCP, "100kB", FAST, direction="up")


class Ns3:
    """netwarp's backend for ns-3, which does one job after the other in one process."""

    name = "ns-3"
    note = "ns-3: its process, bindings loaded"

    def __init__(self) -> None:
        self.backend = Ns3Backend()
        try:
            self.backend.check(jobs=1)
        except BackendError as error:
            raise SystemExit(str(error)) from None
        print("ns-3: loading its bindings", file=sys.stderr)
        guests.run(self.backend, FIRST)

    def __enter__(self) -> Ns3:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.backend.stop()

    def run(self, line: Transfer, seed: int) -> Cost:
        """Simulate one job; CPU time is that of the process, which has its bindings loaded."""
        return replace(guests.run(self.backend, mirrored(line), seed), peak_mib=None)


def mirrored(line: Transfer) -> Transfer:
    """Give the same job the other way round: in ns-3 contents go up, and losses with them."""
    path = {key: value for key, value in line.path.items() if key != "loss"}
    if line.path.get("loss", "0%") != "0%":
        path["loss_up"] = line.path["loss"]
    return replace(line, transport=NS3_TCP, path=path, direction="up")
