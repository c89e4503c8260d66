"""The knobs of the page: which options of `netwarp compare` it shows, and in which order.

What a knob is called, what it takes, its help and its refusals are those of its option. A slider
only offers values; any other one can be typed, and the study's own checks refuse it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.options import COMPARE, Option
from netwarp.options.row import Panel
from netwarp.path_profiles import PROFILES
from netwarp.path_properties import PATH_PROPERTIES
from netwarp.transports import ON_ONE_PATH
from netwarp.workloads.bulk.section import USUAL_SIZE

OPTIONS: Mapping[str, Option] = {
    row.name: row
    for row in COMPARE
    if row.name == "expect"
    or (row.says_something_of_the_study and row.name not in ("file", "kernel"))
}
"""The options that an address may have. Files of this machine are the command line's."""

KINDS: Mapping[str, str] = {"bulk": "A file", "page": "A web page", "flow": "Messages"}
"""The kinds of workload that options ask for, in words."""


@dataclass(frozen=True, kw_only=True)
class Knob:
    """An option as the page shows it."""

    option: str
    """Name of the option."""
    label: str
    offers: Sequence[str] = ()
    """Values that are offered; an empty one leaves the option away."""
    shows: str = "slider"
    """How it is turned: slider, choice, several (boxes to check), or text."""

    usual: str = ""
    """What is run when nothing is given, where that is a value."""
    not_of: tuple[str, ...] = ()
    """Kinds of workload that refuse the option."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of workload that have the option."""
        row = OPTIONS[self.option]
        if row.workload:
            return [row.workload]
        if row.key.startswith("workload."):
            return [next(iter(KINDS))]
        return [kind for kind in KINDS if kind not in self.not_of]

    @property
    def help(self) -> str:
        """The option's help."""
        return OPTIONS[self.option].help

    @property
    def key(self) -> str:
        """The key of a study that the option sets, which is the name of its factor."""
        return OPTIONS[self.option].key

    @property
    def flag(self) -> str:
        """The option on the command line, which refusals name."""
        return OPTIONS[self.option].on_command_line[0].partition("/")[0]


def _title(key: str) -> str:
    row = next(row for row in PATH_PROPERTIES if row.key == key)
    return row.titles[key]


def _path(key: str, offers: str, shows: str = "slider") -> Knob:
    return Knob(option=key, label=_title(key), offers=offers.split(" "), shows=shows)


GROUPS: Mapping[str, Sequence[Knob]] = {
    "The path": (
        Knob(option="profile", label=_title("profile"), offers=["", *PROFILES], shows="choice"),
        _path("rtt", " 1ms 5ms 10ms 20ms 30ms 50ms 70ms 100ms 150ms 200ms 300ms 600ms 1s"),
        _path("rate", " 1mbit 2mbit 5mbit 10mbit 20mbit 50mbit 100mbit 200mbit 500mbit 1gbit"),
        _path("loss", " 0.01% 0.1% 0.2% 0.5% 1% 2% 3% 5% 8% 10%"),
        _path("queue", " 10p 0.25bdp 0.5bdp 1bdp 2bdp 4bdp 8bdp 16bdp"),
        _path("discipline", " fifo codel fq_codel cake pie", "choice"),
        _path("jitter", " 1ms 2ms 5ms 10ms 20ms 50ms"),
    ),
    "Who races": (
        Knob(
            option="transport", label="Transports", offers=ON_ONE_PATH, shows="several",
            not_of=("page",),
        ),
        Knob(
            option="congestion", label="Congestion control",
            offers=["", "cubic", "reno", "bbr", "cubic,bbr"], shows="choice",
        ),
    ),
    "What is sent": (
        Knob(
            option="size", label="Size of the file", usual=USUAL_SIZE,
            offers=["10kB", "30kB", "100kB", "300kB", "1MB", "3MB", "10MB", "30MB", "100MB"],
        ),
        Knob(option="page", label="The page", shows="choice",
             offers=["", "nam-2021", "web-30", "web-80", "web-150"]),
        Knob(option="http", label="Versions of HTTP", shows="text"),
        Knob(option="flow", label="Their payload rate",
             offers=["", "100kbit", "500kbit", "1mbit", "2mbit", "5mbit"]),
        Knob(option="replicates", label="Replicates", usual="10",
             offers=["1", "3", "5", "10", "20", "30"]),
    ),
}  # fmt: skip
"""The knobs by the title of their group."""
START: Mapping[str, str] = {
    "transport": "tcp,quic", "size": "10MB", "rtt": "50ms", "rate": "50mbit", "loss": "1%",
    "replicates": "10",
}  # fmt: skip
"""What a page shows whose address says nothing."""


def other_options() -> list[Option]:
    """Return the options that no knob turns; the page shows them folded."""
    shown = {knob.option for knobs in GROUPS.values() for knob in knobs}
    rows = [row for name, row in OPTIONS.items() if name not in shown]
    return sorted(rows, key=lambda row: list(Panel).index(row.panel))
