"""The options of a server and a client that are any programs."""

from __future__ import annotations

from dataclasses import replace

from netwarp.options.row import Option, Panel, Takes
from netwarp.options.running import REPLICATES

PROGRAMS: tuple[Option, ...] = (
    Option(
        name="server", help="The server, as a line for the shell.", metavar="CMD",
        panel=Panel.STUDY, key="workload.server",
    ),
    Option(
        name="ready",
        help="When the server is ready: listening (at any port), port:8080, line:REGEX that it"
        " prints, or file:/PATH. Default: listening.",
        metavar="WHEN", panel=Panel.STUDY, key="workload.ready",
    ),
    Option(
        name="env",
        help="A variable for both programs, who have none of yours. Repeatable.",
        metavar="NAME=VALUE", takes=Takes.TEXTS, panel=Panel.STUDY, key="workload.environment",
    ),
    Option(
        name="memory",
        help="Memory of the programs and of the files they write. Default: 1GiB.",
        metavar="SIZE", panel=Panel.STUDY, key="workload.memory",
    ),
    Option(
        name="start_date",
        help="The date, in UTC, at which programs start in virtual time. Default: 2027-01-01.",
        metavar="DATE", panel=Panel.STUDY, key="workload.start_date",
    ),
    Option(
        name="shared",
        help="Let both hosts see the files that either writes, and its Unix sockets. Default: each"
        " has its own, and only the path connects them.",
        takes=Takes.FLAG, panel=Panel.STUDY, key="workload.shared",
    ),
    Option(
        name="keep",
        help="Keep what the programs write, in written/ of each run's directory.",
        takes=Takes.FLAG, panel=Panel.STUDY, key="workload.keep",
    ),
    Option(
        name="congestion",
        help="Congestion control of the hosts' TCP. Default: cubic.",
        metavar="NAME", panel=Panel.STUDY, key="transport.congestion",
    ),
)  # fmt: skip
REPEATED = replace(
    REPLICATES,
    least=2,
    help="Run so often, each time with another seed; in virtual time the first seed twice: programs"
    " that then differ are called not repeatable.",
)
