"""The ``[topology]`` section: the hosts of a study that has more than two."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netwarp.fields import DurationNs, KeyValueError, Kind, Section

MOST_PAIRS = 500
Pairs = Annotated[
    int, Field(ge=1, le=MOST_PAIRS, strict=True), Kind(f"a whole number from 1 to {MOST_PAIRS}")
]


class TopologySection(Section):
    """Hosts and routers, in place of one client and one server. Each `[[workload]]` says between
    which hosts it is, by `from` and `to`.

    `dumbbell`: clients `client1`, `client2`, … behind one router and servers `server1`, `server2`,
    … behind another. The link between the routers is what `[path]` describes (rate, queue,
    discipline, loss, traces, outages), and the report's path; it adds no delay. Each pair of hosts
    has a round-trip time of its own, on the links to its hosts, which have no rate. A queue in BDPs
    is sized by the longest round-trip time of the workloads.
    """

    shape: Literal["dumbbell"]
    """The shape of the network."""
    pairs: Pairs | None = None
    """Number of clients, and of servers. Default: as many as `rtts`."""
    rtts: tuple[DurationNs, ...] = ()
    """Round-trip time of each pair, the first one's first: `["20ms", "160ms"]`. Default: all pairs
    have `path.rtt`. As a factor, each level is such a list."""

    @property
    def hosts(self) -> int:
        """The number of clients, and of servers."""
        return self.pairs or len(self.rtts)

    @model_validator(mode="after")
    def _refuse_another_number(self) -> Self:
        if self.pairs is None and not self.rtts:
            reason, remedy = "nothing says how many there are", "give pairs, or rtts"
            raise KeyValueError("pairs", None, reason, remedy)
        if self.rtts and self.hosts != len(self.rtts):
            reason = f"there are {self.hosts} pairs"
            raise KeyValueError("rtts", len(self.rtts), reason, "give one for each pair")
        if len(self.rtts) > MOST_PAIRS:
            reason = f"there are at most {MOST_PAIRS} pairs"
            raise KeyValueError("rtts", len(self.rtts), reason, "give fewer")
        return self
