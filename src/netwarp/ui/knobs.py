"""The knobs of the page, with which a user changes options of `netwarp compare`: which options have
one, in which form, and in which order.

A knob's name, values, help and error messages are those of its option. A slider only offers some
values; any other can be typed, and is checked by the study.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from netwarp.options import COMPARE, Option
from netwarp.options.networks import SHAPES, USUAL_STOP, Misfit, misfits
from netwarp.path_profiles import PROFILES
from netwarp.path_properties import PATH_PROPERTIES, PathProperty
from netwarp.transports import ON_ONE_PATH, TRANSPORTS
from netwarp.workloads import WORKLOADS
from netwarp.workloads.bulk.section import USUAL_SIZE

OPTIONS: Mapping[str, Option] = {
    row.name: row
    for row in COMPARE
    if row.name == "expect" or (row.defines_study and row.name not in ("file", "kernel"))
}
"""The options that an address may have. Options that name files of this machine are left to the
command line.
"""

KINDS: Mapping[str, str] = {
    "bulk": "A file", "page": "A web page", "stream": "A film", "flow": "Messages, a call",
    "rr": "Requests",
}  # fmt: skip
"""The kinds of workload that a page offers, in words; the first one is used if no option sets
another.
"""
NETWORKS: Mapping[str, Mapping[str, Misfit]] = {
    shape or "": misfits(shape) for shape in (None, *SHAPES)
}
"""For each shape of network, and for two hosts without one: the options that are refused with it,
each with the reason."""


def kinds_of(row: Option) -> list[str]:
    """Return the kinds of workload to which an option applies."""
    section, _, key = row.key.partition(".")
    if section == "transport":
        is_racer = key == "kind"  # versions of HTTP have transports of their own
        return [kind for kind in KINDS if not (is_racer and WORKLOADS[kind].section.races_http)]
    if section not in ("workload", "topology"):
        return list(KINDS)
    of_no_option, *others = KINDS
    asked_for = others if row.workload else KINDS
    having = [kind for kind in asked_for if section == "workload" and key in WORKLOADS[kind].keys]
    # Options that no workload has belong to a network, which has no other contents.
    return having or [of_no_option]


def implied_kinds() -> list[tuple[str, str]]:
    """Return the options of an address that imply a kind of workload, each with the kind, in order
    of precedence.
    """
    return [(name, row.workload) for name, row in OPTIONS.items() if row.workload]


def networks_without(name: str) -> dict[str, str]:
    """Return the shapes of networks with which an option is refused, each with the reason; the
    shape "" means two hosts. Reasons name options by the labels of their knobs.
    """
    return {shape: with_labels(of[name][0]) for shape, of in NETWORKS.items() if name in of}


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A control of the page that sets an option, such as a slider."""

    option: str
    """Name of the option."""
    label: str
    offers: Sequence[str] = ()
    """Values that the knob offers; "" means that the option is not given."""
    shows: str = "slider"
    """How the option is shown: slider, choice, several (boxes to check), or text."""

    of_kinds: Mapping[str, str] = field(default_factory=dict)
    """Further values that the knob offers, each with the kind of workload to which it applies."""
    known: Sequence[str] = ()
    """All values that the option accepts. The page adds a box for one that is typed."""
    usual: str = ""
    """The value that is used if the option is not given, if there is one."""
    needs: Sequence[str] = ()
    """Options of which at least one must be given; otherwise `usual` does not apply."""
    gives: Sequence[str] = ()
    """Options whose values this one sets. The page empties them when this knob is turned, because
    they would have precedence."""

    @property
    def row(self) -> Option:
        """The option's row in the table of options."""
        return OPTIONS[self.option]


def _title(key: str) -> str:
    row = next(row for row in PATH_PROPERTIES if row.key == key)
    return row.titles[key]


def _path(key: str, offers: str, shows: str = "slider", **others: Any) -> Knob:
    return Knob(option=key, label=_title(key), offers=offers.split(" "), shows=shows, **others)


GROUPS: Mapping[str, Sequence[Knob]] = {
    "The path": (
        Knob(
            option="profile", label=_title("profile"), offers=["", *PROFILES], shows="choice",
            gives=("rtt", "rate"),
        ),
        _path("rtt", " 1ms 5ms 10ms 20ms 30ms 50ms 70ms 100ms 150ms 200ms 300ms 600ms 1s"),
        _path("rate", " 1mbit 2mbit 5mbit 10mbit 20mbit 50mbit 100mbit 200mbit 500mbit 1gbit"),
        _path("loss", " 0.01% 0.1% 0.2% 0.5% 1% 2% 3% 5% 8% 10%"),
        _path(
            "queue", " 10p 0.25bdp 0.5bdp 1bdp 2bdp 4bdp 8bdp 16bdp",
            usual="1bdp", needs=("rate", "profile"),
        ),
        _path(
            "discipline", " fifo codel fq_codel cake pie fifo,fq_codel", "choice",
            usual="fifo", needs=("rate", "profile"),
        ),
        _path("jitter", " 1ms 2ms 5ms 10ms 20ms 50ms"),
    ),
    "Who races": (
        Knob(
            option="transport", label="Transports", offers=ON_ONE_PATH, shows="several",
            of_kinds={"udp": "flow"}, known=list(TRANSPORTS),
        ),
        Knob(
            option="congestion", label="Congestion control",
            offers=["", "cubic", "reno", "bbr", "cubic,bbr"], shows="choice", usual="cubic",
        ),
    ),
    "What is sent": (
        Knob(
            option="size", label="Size of the file", usual=USUAL_SIZE,
            offers=["10kB", "30kB", "100kB", "300kB", "1MB", "3MB", "10MB", "30MB", "100MB"],
        ),
        Knob(option="page", label="The page", shows="choice",
             offers=["nam-2021", "web-30", "web-80", "web-150"]),
        Knob(option="http", label="Versions of HTTP", shows="text"),
        Knob(option="stream", label="The player's rule", shows="choice",
             offers=["bola", "throughput", "delay", "link_delay", "bola,throughput"]),
        Knob(option="requests", label="Size of a response",
             offers=["64B", "500B", "2kB", "10kB", "30kB", "60kB"]),
        Knob(option="flow", label="Their payload rate",
             offers=["", "64kbit", "100kbit", "500kbit", "1mbit", "2mbit", "5mbit"]),
        Knob(option="interval", label="Time between them",
             offers=["", "1ms", "5ms", "10ms", "20ms", "50ms", "100ms", "500ms"]),
        Knob(option="direction", label="Direction", shows="choice",
             offers=["", "down", "up", "both"], usual="down"),
        Knob(option="shape", label="Network of hosts", shows="choice",
             offers=["", "dumbbell:2", "dumbbell:4", "dumbbell:8", "incast:4", "incast:16",
                     "incast:64", "parking-lot:2", "parking-lot:4", "chain:2", "chain:4"]),
        Knob(option="stop", label="Flows end after", usual=USUAL_STOP,
             offers=["2s", "5s", "10s", "20s", "30s", "60s"]),
        Knob(option="replicates", label="Replicates", usual="10",
             offers=["1", "3", "5", "10", "20", "30"]),
    ),
}  # fmt: skip
"""The knobs by the title of their group."""
START: Mapping[str, str] = {
    "transport": "tcp,quic", "size": "10MB", "rtt": "50ms", "rate": "50mbit", "loss": "1%",
    "replicates": "10",
}  # fmt: skip
"""The options with which a page begins if its address has none."""


def with_labels(text: str) -> str:
    """Return a text in which options are replaced by the labels of their knobs; options without a
    knob are not changed.
    """
    labels = {knob.option: knob.label for knobs in GROUPS.values() for knob in knobs}

    def label(found: re.Match[str]) -> str:
        name = found[1]
        return f"“{labels[name]}”" if name in labels else found[0]

    return re.sub(r"--([a-z-]+)", label, text)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Options that the page shows under one title: the option that sets a path property in both
    directions, and the options that set it in one direction.
    """

    title: str
    """The title; empty for an option by itself."""
    help: str
    """Help of the property, if its option for both directions is a knob; else empty."""
    rows: Sequence[Option]


_OF_PATH: Mapping[str, Sequence[str]] = {
    "Delay": ("delay", "jitter", "jitter_order", "distribution", "jitter_correlation", "aggregate"),
    "Rate and queue": ("rate", "queue", "discipline", "policer", "l4s_queue", "ack_filter"),
    "Losses and order": (
        "loss", "loss_correlation", "link_loss", "link_repair", "reorder", "duplicate", "corrupt",
    ),
}  # fmt: skip
"""Properties of the path by the title of their group."""
_LAST_OF_PATH = "Addresses and links"
"""The group for properties that are in no other group."""
OTHER_GROUPS = (
    "Transport and contents", "Hosts that share the path", *_OF_PATH, _LAST_OF_PATH,
    "What is asked of the runs",
)  # fmt: skip


def other_options() -> dict[str, list[Part]]:
    """Return the options without a knob, by the title of their group, for a part of the page that
    is folded at first.
    """
    shown = {knob.option for knobs in GROUPS.values() for knob in knobs}
    groups: dict[str, list[Part]] = {title: [] for title in OTHER_GROUPS}
    of_property = {key: row for row in PATH_PROPERTIES for key in row.keys}
    for row in (row for name, row in OPTIONS.items() if name not in shown):
        path = of_property.get(row.key.removeprefix("path."))
        parts = groups[_group_of(row, path)]
        if path is None:
            parts.append(Part(title="", help="", rows=[row]))
            continue
        title = path.titles[path.key]
        if not parts or parts[-1].title != title:
            own = OPTIONS[path.key].help if path.key in shown else ""
            parts.append(Part(title=title, help=own, rows=[]))
        parts[-1] = replace(parts[-1], rows=[*parts[-1].rows, row])
    return groups


def _group_of(row: Option, path: PathProperty | None) -> str:
    """Return the title of the group in which the page shows an option; `path` is the path property
    that the option sets, if any.
    """
    if path is not None:
        found = (title for title, keys in _OF_PATH.items() if path.key in keys)
        return next(found, _LAST_OF_PATH)
    if row.key.startswith("topology."):
        return "Hosts that share the path"
    if row.key.startswith(("transport.", "workload.")):
        return "Transport and contents"
    return "What is asked of the runs"
