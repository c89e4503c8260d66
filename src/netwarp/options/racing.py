"""The options that say who races, and what travels."""

from __future__ import annotations

from netwarp.options.row import Option, Panel, Takes
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
    return Option(
        name=name, help=help_text, metavar="LIST", takes=Takes.LEVELS, panel=Panel.STUDY, key=key,
        workload=workload, type=levels, is_common=is_common,
    )  # fmt: skip


RACING: tuple[Option, ...] = (
    _levels(
        "transport",
        f"Who races: of {', '.join(TRANSPORTS)}. The first is the one compared against."
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
    _levels("size", "Or so many bytes. Default: 10MB.", "workload.size"),
    _levels(
        "chunks",
        "Parts the content is cut into, sent at once. Default: 1.",
        "workload.chunks",
        levels="Whole",
    ),
    _levels(
        "dial",
        "Connections opened sequential or parallel. Default: sequential.",
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
        "resume", "Send twice; the second uses of the first: none, 1rtt, 0rtt.", "transport.resume",
        is_common=False,
    ),
    _levels(
        "page",
        "A web page in place of a file: nam-2021, web-30, web-80, web-150. Versions of HTTP race,"
        " each over its own transport.",
        "workload.page",
        workload="page",
    ),
    _levels(
        "http", "Versions of HTTP: 1.1, 2, 3. Default: 2,3.", "workload.http", workload="page"
    ),
    _levels(
        "client", "Who loads the page: netwarp or chromium.", "workload.client", workload="page",
        is_common=False,
    ),
    _levels(
        "server", "Who serves the page: netwarp, caddy or nginx.", "workload.server",
        workload="page", is_common=False,
    ),
    _levels(
        "flow",
        "A flow of messages in place of a file: so many payload bits a second. Delays, jitter and"
        " losses race.",
        "workload.rate",
        workload="flow",
    ),
    _levels(
        "interval", "Or a message of the flow so often, such as 20ms.", "workload.interval",
        workload="flow", is_common=False,
    ),
    _levels(
        "payload", "Bytes of a flow's message. Default: 1200B.", "workload.payload",
        workload="flow", is_common=False,
    ),
    _levels(
        "duration", "How long a flow's messages are sent. Default: 10s.", "workload.duration",
        workload="flow", is_common=False,
    ),
    _levels(
        "arrivals", "When a flow's messages are due: constant, poisson. Default: constant.",
        "workload.arrivals", workload="flow", is_common=False,
    ),
    Option(
        name="direction", help="down: server to client; up: client to server. Default: down.",
        metavar="down|up", panel=Panel.STUDY, key="workload.direction",
    ),
    Option(
        name="verify", help="Hash the content at both ends.", takes=Takes.FLAG, panel=Panel.STUDY,
        key="workload.verify", default=True, is_common=False,
    ),
)  # fmt: skip
