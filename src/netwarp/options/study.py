"""The options that define a study: the transports, the workload, and the path."""

from collections.abc import Iterator
from dataclasses import replace

from netwarp.options.row import Option, Panel, Takes
from netwarp.options.running import EXPECT, OUT, REPLICATES
from netwarp.path_properties import PATH_PROPERTIES, PathProperty
from netwarp.transports import ON_ONE_PATH, TRANSPORTS, congestion_controls_in_words


def _levels(
    name: str,
    help_text: str,
    key: str,
    *,
    workload: str = "",
    levels: str = "",
    is_common: bool = True,
) -> Option:
    """Return an option that takes a list of levels of a key."""
    return Option(
        name=name, help=help_text, metavar="LIST", takes=Takes.LEVELS, panel=Panel.STUDY, key=key,
        workload=workload, type=levels, is_common=is_common,
    )  # fmt: skip


RACING: tuple[Option, ...] = (
    _levels(
        "transport",
        f"Transports to compare: {', '.join(TRANSPORTS)}. The others are compared with the first."
        f" Default: {','.join(ON_ONE_PATH)}.",
        "transport.kind",
    ),
    _levels(
        "congestion",
        f"Congestion control. {congestion_controls_in_words().replace('`', '')}. Default: the first"
        " of them.",
        "transport.congestion",
    ),
    Option(
        name="file", help="The file to send.", metavar="PATH", takes=Takes.PATH, panel=Panel.STUDY,
        key="workload.file",
    ),
    _levels(
        "size", "Size of generated content, instead of a file. Default: 10MB.", "workload.size"
    ),
    _levels(
        "chunks",
        "Parts of the content that are sent at the same time. Default: 1.",
        "workload.chunks",
        levels="Whole",
    ),
    _levels(
        "dial",
        "How connections are opened: sequential or parallel. Default: sequential.",
        "workload.dial",
        is_common=False,
    ),
    _levels(
        "streams",
        "Streams of an SCTP association. Default: 1.",
        "transport.streams",
        levels="Whole",
        is_common=False,
    ),
    _levels(
        "resume", "Send twice; how the second resumes the first: none, 1rtt, 0rtt.",
        "transport.resume", is_common=False,
    ),
    _levels(
        "page",
        "A web page in place of a file: nam-2021, web-30, web-80, web-150. Compares versions of"
        " HTTP, each over its own transport.",
        "workload.page",
        workload="page",
    ),
    _levels(
        "http", "Versions of HTTP: 1.1, 2, 3. Default: 2,3.", "workload.http", workload="page"
    ),
    _levels(
        "client", "Program that loads the page: netwarp or chromium.", "workload.client",
        workload="page", is_common=False,
    ),
    _levels(
        "server", "Program that serves the page: netwarp, caddy or nginx.", "workload.server",
        workload="page", is_common=False,
    ),
    _levels(
        "stream",
        "A film in three qualities in place of a file, and by what its player chooses among them:"
        " delay, link_delay, throughput, bola. Compares stalls, the wait for the first picture, and"
        " the bit rate played.",
        "workload.rule",
        workload="stream",
    ),
    _levels(
        "watch", "How long the film is watched. Default: 20s.", "workload.watch",
        workload="stream", is_common=False,
    ),
    _levels(
        "requests",
        "Requests in place of a file, one each --interval, with responses of this size, such as"
        " 2kB. Compares latencies.",
        "workload.response",
        workload="rr",
    ),
    _levels(
        "flow",
        "A flow of messages in place of a file, at this payload rate. Compares delays, jitter and"
        " losses.",
        "workload.rate",
        workload="flow",
    ),
    _levels(
        "interval",
        "Time between a flow's messages, instead of a rate, or between requests: 20ms.",
        "workload.interval", workload="flow", is_common=False,
    ),
    _levels(
        "payload", "Size of a flow's messages. Default: 1200B.", "workload.payload",
        workload="flow", is_common=False,
    ),
    _levels(
        "duration", "How long a flow's messages, or requests, are sent. Default: 10s.",
        "workload.duration", workload="flow", is_common=False,
    ),
    _levels(
        "arrivals",
        "When a flow's messages, or requests, are due: constant, poisson. Default: constant.",
        "workload.arrivals", workload="flow", is_common=False,
    ),
    _levels(
        "rtts",
        "Flows in place of a file, each between hosts of its own, that share the path: the"
        " round-trip time of each, such as 20ms,160ms. Compares their shares.",
        "topology.rtts",
        is_common=False,
    ),
    _levels(
        "shape",
        "Hosts in place of one client and one server, with their number: dumbbell:4 or"
        " parking-lot:2, whose flows share links until --stop; incast:16, whose senders send --size"
        " (default 256kB) to one receiver; chain:3, links in a row that --size crosses.",
        "topology.shape",
        is_common=False,
    ),
    Option(
        name="stop", help="When flows that share links end. Default: 30s.", metavar="TIME",
        panel=Panel.STUDY, key="workload.stop", is_common=False,
    ),
    Option(
        name="direction",
        help="down: server to client; up: client to server; both: at the same time, as in a call."
        " Default: down.",
        metavar="down|up|both", panel=Panel.STUDY, key="workload.direction",
    ),
    Option(
        name="verify", help="Hash the content at both ends.", takes=Takes.FLAG, panel=Panel.STUDY,
        key="workload.verify", default=True, is_common=False,
    ),
)  # fmt: skip


def _options_of(row: PathProperty) -> Iterator[Option]:
    """Yield the options of a path property; there are three if each direction has the property."""
    helps = [row.option_help]
    if row.directions == "down":
        helps += ["… server to client, the default.", "… client to server."]
    elif row.directions == "both":
        helps += ["… server to client only.", "… client to server only."]
    for key, text in zip(row.keys, helps, strict=True):
        yield Option(
            name=key, help=text, metavar="LIST", takes=Takes.LEVELS, panel=Panel.PATH,
            key=f"path.{key}", type=row.type, is_common=row.is_common and key == row.key,
        )  # fmt: skip


PATH: tuple[Option, ...] = tuple(option for row in PATH_PROPERTIES for option in _options_of(row))


PROGRAMS: tuple[Option, ...] = (
    Option(
        name="server", help="The server's command, as a line for the shell.", metavar="CMD",
        panel=Panel.STUDY, key="workload.server",
    ),
    Option(
        name="ready",
        help="When the server is ready: listening (at any port), port:8080, line:REGEX that it"
        " prints, or file:/PATH. Default: listening.",
        metavar="WHEN", panel=Panel.STUDY, key="workload.ready", type="Ready",
    ),
    Option(
        name="env",
        help="Environment variable of both programs, which do not inherit yours. Repeatable.",
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
        name="timeout",
        help="Seconds of the run's clock after which the programs are ended and the run has failed."
        " Default: 86400.",
        metavar="S", takes=Takes.WHOLE, least=1, panel=Panel.STUDY, key="limits.virtual_s",
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
EXPECTED = replace(
    EXPECT,
    help="With --replicates, a bound that the runs have to keep, such as 'run_time_s < 2.5 s'. If"
    " the client exits with 0, the exit status is 1 where it does not hold, 3 where it is"
    " undecided. Repeatable.",
)
REPLACED = replace(
    OUT,
    help="Run directory. The programs are always run; an earlier run of the same command in it is"
    " replaced. Default: a new one, netwarp-out/exec-N.",
)
REPEATED = replace(
    REPLICATES,
    least=2,
    help="Number of runs, each with another seed. In virtual time the first seed is run twice;"
    " programs that then differ are reported as not repeatable.",
)
