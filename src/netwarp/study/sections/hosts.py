"""The ``[[host]]``, ``[[router]]`` and ``[[link]]`` tables of a study that describes its own
network.
"""

from typing import Annotated, Literal

from pydantic import Field

from netwarp.fields import DurationNs, Kind, Section, Switch
from netwarp.study.sections.topology import MOST_HOSTS
from netwarp.study.tables import Table

Count = Annotated[
    int, Field(ge=1, le=MOST_HOSTS, strict=True), Kind(f"a whole number from 1 to {MOST_HOSTS}")
]
HostName = Annotated[
    str,
    Field(pattern="^[a-z][a-z0-9]{0,11}$"),
    Kind("up to 12 lower-case letters and digits, a letter first, with the number if it has one"),
]
LinkName = Annotated[
    str,
    Field(pattern="^[a-z][a-z0-9_-]{0,31}$"),
    Kind("up to 32 lower-case letters, digits, `_` and `-`, a letter first"),
]


class HostSection(Section):
    """A host, or several hosts with the same name and a number. Each has one link.

    A factor names its count by its name: `"host.NAME.count"`.
    """

    name: HostName
    """The host's name; with `count`, the name of each host ends in a number: `client1`,
    `client2`.
    """
    count: Count | None = None
    """Number of hosts that the table stands for. Default: one, whose name has no number."""


class RouterSection(Section):
    """A router, which forwards packets. Networks are trees: between two hosts there is one route.

    A factor names any key of it but its name by the router's name: `"router.NAME.nat_ports"`.
    """

    name: HostName
    """The router's name, by which links name it; no host or other router has the same."""
    nat: Switch = False
    """Whether the router translates addresses (NAT): packets to the outside, which is reached over
    its only link to another router, get the router's address and one of its ports as source (the
    kernel's masquerading)."""
    nat_ports: Literal["kept", "random"] | None = None
    """The outer port of a new mapping: the host's own port if it is free, or a random one. Default:
    `kept`."""
    nat_timeout: DurationNs | None = None
    """Whole seconds without a packet after which a mapping of UDP or of an established TCP
    connection is forgotten. Default: the kernel's, 30 s for UDP, 120 s if packets went both ways
    for more than 2 s, and five days for TCP."""
    icmp: Literal["sent", "dropped"] = "sent"
    """Whether the router sends ICMP messages. `dropped`: it sends none, so that a sender does not
    learn that a packet was too big for the next link (a link's `mtu`) and was dropped: a black hole
    of path MTU discovery. Default: `sent`."""


class LinkSection(Section):
    """A link between two hosts or routers. In addition to these keys it has those of `[path]`,
    except `second` and `handovers`: `_up` is from the first of the two to the second, `_down` is
    the opposite direction. A timeline is `[[link.timeline]]`. `ip` is the same on all links: that
    of the first one that has it.

    Packets are delayed, lost and queued at routers, never on a sender: if the link impairs packets
    that a host sends, a further router is put between the host and the link.

    A factor names any key of it by the link's name: `"link.NAME.rate"`. The first link is the
    report's path, and a queue in BDPs is sized by the longest round-trip time of the workloads
    whose content crosses the link in its direction.
    """

    between: tuple[str, str] = Field(strict=False)
    """The hosts or routers at the link's ends: `["client", "left"]`. The name of several hosts
    makes a link for each of them, in pairs if both ends have as many."""
    name: LinkName | None = None
    """The link's name in factors and metrics, which ends in a number if the table stands for
    several links. Default: the names of its ends: `client1-left`."""


TABLES = ("host", "router", "link")
"""The lists of tables that describe a network."""
OWN_KEYS = frozenset({"between", "name"})
"""Keys of a link that are not also keys of a path."""


def names_of_tables(study: Table, kind: str) -> tuple[str, ...]:
    """Return the names of a study's hosts, routers or links."""
    written = study.find(kind).value
    tables = (
        [each for each in written if isinstance(each, Table)] if isinstance(written, list) else []
    )
    names = [each.text("name") for each in tables]
    return tuple(name for name in names if name is not None)
