"""The ``[topology]`` section: the hosts of a study that has more than two, as a shape by name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netwarp.fields import DurationNs, KeyValueError, Kind, Section

MOST_HOSTS = 1000
MOST_PAIRS = MOST_HOSTS // 2
MOST_IN_A_ROW = 100
Pairs = Annotated[
    int, Field(ge=1, le=MOST_PAIRS, strict=True), Kind(f"a whole number from 1 to {MOST_PAIRS}")
]
Hosts = Annotated[
    int, Field(ge=2, le=MOST_HOSTS, strict=True), Kind(f"a whole number from 2 to {MOST_HOSTS}")
]
Senders = Annotated[
    int,
    Field(ge=1, le=MOST_HOSTS - 1, strict=True),
    Kind(f"a whole number from 1 to {MOST_HOSTS - 1}"),
]
InARow = Annotated[
    int,
    Field(ge=1, le=MOST_IN_A_ROW, strict=True),
    Kind(f"a whole number from 1 to {MOST_IN_A_ROW}"),
]
Shape = Literal["dumbbell", "star", "incast", "chain", "parking-lot"]
SIZES: Mapping[Shape, str] = {
    "dumbbell": "pairs",
    "star": "hosts",
    "incast": "senders",
    "chain": "hops",
    "parking-lot": "bottlenecks",
}
"""The key of the size, for each shape."""
WITH_RTTS: tuple[Shape, ...] = ("dumbbell", "star", "incast")
"""Shapes whose hosts can have different round-trip times."""


class TopologySection(Section):
    """Hosts and routers, instead of one client and one server. Each `[[workload]]` names its two
    hosts by `from` and `to`.

    `dumbbell`: clients `client1`, `client2`, … behind one router and servers `server1`, `server2`,
    … behind another. The link between the routers is what `[path]` describes (rate, queue,
    discipline, loss, traces, outages), and the report's path; it adds no delay. Each pair of hosts
    has its own round-trip time, on the links to its hosts, which have no rate limit.

    `incast`: `sender1`, `sender2`, … and one `receiver` at a switch. The link of the receiver is
    what `[path]` describes, with its round-trip time; those of the senders have no rate limit, and
    the round-trip times of `rtts` if those are given.

    `star`: `host1`, `host2`, … at one switch. The link of each is what `[path]` describes, with its
    round-trip time: packets from one host to another cross two of them.

    `chain`: `client`, a row of routers, and `server`. Each link between two routers is what
    `[path]` describes, with its round-trip time.

    `parking-lot`: the same row, with a host at each end of each link: `left1` and `right1` are at
    the routers before and behind the first one. Traffic from `left1` to `right1` crosses that
    between `client` and `server` there.

    A queue in BDPs is sized by the longest round-trip time of the workloads whose content crosses
    the link in its direction.
    Other networks are written as `[[host]]`, `[[router]]` and `[[link]]`.
    """

    shape: Shape
    """The shape of the network."""
    pairs: Pairs | None = None
    """Of a `dumbbell`: number of clients, and of servers. Default: as many as `rtts`."""
    hosts: Hosts | None = None
    """Of a `star`: number of hosts. Default: as many as `rtts`."""
    senders: Senders | None = None
    """Of an `incast`: number of senders. Default: as many as `rtts`."""
    hops: InARow | None = None
    """Of a `chain`: number of links between its routers."""
    bottlenecks: InARow | None = None
    """Of a `parking-lot`: number of links between its routers, each with cross traffic."""
    rtts: tuple[DurationNs, ...] = ()
    """Round-trip time of each pair, or of the link of each host or sender, the first one's first:
    `["20ms", "160ms"]`. Default: all have `path.rtt`. As a factor, each level is such a list."""

    @property
    def size(self) -> int:
        """The number of pairs, hosts, senders or links between routers."""
        asked: int | None = getattr(self, SIZES[self.shape])
        return asked or len(self.rtts)

    @model_validator(mode="after")
    def _refuse_sizes_of_other_shapes(self) -> Self:
        own = SIZES[self.shape]
        for key in SIZES.values():
            if key != own and getattr(self, key) is not None:
                reason = f"the size of a {self.shape} is its {own}"
                raise KeyValueError(key, getattr(self, key), reason, f"give {own}")
        if self.rtts and self.shape not in WITH_RTTS:
            reason = f"each link of a {self.shape} has the round-trip time of [path]"
            raise KeyValueError("rtts", None, reason, "give path.rtt")
        return self

    @model_validator(mode="after")
    def _refuse_another_number(self) -> Self:
        own = SIZES[self.shape]
        most = {"pairs": MOST_PAIRS, "hosts": MOST_HOSTS}.get(own, MOST_HOSTS - 1)
        if getattr(self, own) is None and not self.rtts:
            reason = "nothing says how many there are"
            remedy = f"give {own}, or rtts" if self.shape in WITH_RTTS else f"give {own}"
            raise KeyValueError(own, None, reason, remedy)
        if self.rtts and self.size != len(self.rtts):
            reason = f"there are {self.size} {own}"
            raise KeyValueError("rtts", len(self.rtts), reason, f"give one for each of the {own}")
        if len(self.rtts) > most or self.size < (2 if own == "hosts" else 1):
            reason = f"there are at most {most} {own}"
            raise KeyValueError("rtts", len(self.rtts), reason, "give fewer")
        return self
