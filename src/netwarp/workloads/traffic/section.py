"""The section ``[workload]`` with ``kind = "traffic"``: many flows of random sizes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import KeyValueError, Kind, RateBitS, RatioField
from netwarp.units import NS_PER_S, format_duration
from netwarp.wire import Direction
from netwarp.workloads.section import WorkloadSection
from netwarp.workloads.traffic.distributions import SizesName, mean_bytes, size_points

MOST_FLOWS = 20_000
FlowCount = Annotated[
    int, Field(ge=1, le=MOST_FLOWS, strict=True), Kind(f"a whole number from 1 to {MOST_FLOWS}")
]


class TrafficSection(WorkloadSection):
    """Many flows whose sizes are drawn from a distribution, from server to client, as in studies of
    data centres. The client opens a connection for each flow when the flow is due, whether or not
    earlier flows are complete, and a flow is completed when its last byte has arrived; its
    completion time counts from when it was due, the handshake included, so that a small flow by
    itself has a slowdown of 2 and not 1. Small flows are those of at most 100 kB and large ones
    those above 10 MB, whatever the scale.
    """

    compared_by: ClassVar[str] = "flow_completion_time_s_p99"
    compared: ClassVar[dict[str, tuple[str, ...]]] = {"load": ("10mbit",)}
    follows_client: ClassVar[bool] = False

    kind: Literal["traffic"]
    """Flows whose sizes and start times are random."""
    sizes: SizesName = "web-search"
    """The distribution of the flows' sizes: `web-search` (DCTCP, SIGCOMM 2010), with a mean of
    1.7 MB, half of them of at most 77 kB; or `data-mining` (VL2, SIGCOMM 2009), with a mean of
    7.5 MB, half of them of one packet, and the largest of 973 MB. Points are those of pFabric
    (SIGCOMM 2013)."""
    scale: RatioField = 1.0
    """Factor by which all sizes are multiplied, to shorten runs: `"10%"`. Default: 100%."""
    load_bit_s: RateBitS = Field(alias="load")
    """Content that is requested per second, on average: it determines how often flows begin. With
    few flows the actual load differs from it, because the largest flows have most of the bytes: the
    mean of 300 sizes of `web-search` has a standard error of 13 %."""
    count: FlowCount = 1000
    """Number of flows. Default: 1000."""
    arrivals: Literal["poisson", "constant"] = "poisson"
    """When flows are due: a Poisson process, or equal intervals. Default: poisson."""

    @property
    def content_direction(self) -> Direction:
        """Direction of the flows."""
        return "down"

    @property
    def dials_again(self) -> bool:
        """True: each flow has its own connection."""
        return True

    @property
    def interval_ns(self) -> int:
        """Mean time between two flows, in ns."""
        bits = 8 * mean_bytes(size_points(self.sizes, self.scale))
        return max(1, round(bits * NS_PER_S / (self.load_bit_s or 1)))

    @property
    def least_ns(self) -> int:
        """Expected time in ns from the start of the first flow to the start of the last one.

        The run lasts longer by the time that the last flow takes.
        """
        return self.count * self.interval_ns

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse flows that outlast the run's limit."""
        if self.least_ns >= limit_ns:
            reason = (
                f"the flows begin over {format_duration(self.least_ns)}, and the run is given up"
                f" after {limit_ns // NS_PER_S}s"
            )
            remedy = "have fewer, or a larger load, or raise limits.virtual_s"
            raise KeyValueError("workload.count", self.count, reason, remedy)

    def job(self, parts: int) -> wire.Traffic:
        """Return the workload part of the job."""
        interval_ns = self.interval_ns
        arrivals: wire.Arrivals = (
            wire.PoissonArrivals(kind="poisson", interval_ns=interval_ns)
            if self.arrivals == "poisson"
            else wire.ConstantArrivals(kind="constant", interval_ns=interval_ns)
        )
        return wire.Traffic(
            kind="traffic",
            seed=0,
            flows=self.count,
            arrivals=arrivals,
            sizes=size_points(self.sizes, self.scale),
        )

    @model_validator(mode="after")
    def _refuse_no_load(self) -> Self:
        if not self.load_bit_s:
            reason = "flows begin by the load that they make up"
            raise KeyValueError("load", None, reason, 'give a rate, such as "10mbit"')
        if self.scale <= 0:
            raise KeyValueError("scale", self.scale, "flows have a size", 'such as "10%"')
        return self
