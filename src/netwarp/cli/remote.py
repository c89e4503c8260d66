"""Commands about runs between two hosts: serve, pair."""

import sys

import click

from netwarp.cli.command import Argument, command
from netwarp.cli.interruption import interruption
from netwarp.errors import InputError
from netwarp.options import Option, Takes
from netwarp.units import NS_PER_S, option_value, parse_duration_ns, parse_size_bytes

DEFAULT_LISTEN = "0.0.0.0:4434"
DEFAULT_DATA_PORT = 4433
MOST_TOKEN_CHARACTERS = 1000


@command(
    Option(
        name="listen", metavar="ADDRESS:PORT",
        help="The address that clients connect to: [::]:4434 for IPv6, 192.0.2.7:4434 for one"
        " address."
        f" Default: {DEFAULT_LISTEN}.",
    ),
    Option(
        name="data_port", metavar="PORT", takes=Takes.WHOLE, least=1, most=65535,
        help="The port of transfers and probes, TCP, UDP and SCTP. It is open while a run or a"
        f" probe is under way, to the client that asked for it. Default: {DEFAULT_DATA_PORT}.",
    ),
    Option(
        name="max_time", metavar="TIME", help="The longest that a run may take. Default: 10min."
    ),
    Option(
        name="max_size", metavar="SIZE",
        help="The most content that a run may transfer. Default: 10GB.",
    ),
    Option(
        name="allow_exec", takes=Takes.FLAG,
        help="Let every paired host run any command here, as an account on sshd does: contained,"
        " but with this host's network (docs/security.md). A line is printed for each.",
    ),
    Option(
        name="allow_netem", takes=Takes.FLAG,
        help="Allow a client's study to delay, lose and limit packets that the client sends to"
        " the data port, on the device at which they arrive; needs root, and is undone when its"
        " runs are over.",
    ),
)  # fmt: skip
def serve(
    listen: str = DEFAULT_LISTEN,
    data_port: int = DEFAULT_DATA_PORT,
    max_time: str = "10min",
    max_size: str = "10GB",
    allow_exec: bool = False,
    allow_netem: bool = False,
) -> None:
    """Serve another host's runs, started there with `netwarp run STUDY --backend remote`.

    It prints a token, with which one client can pair in the next quarter of an hour; paired hosts
    may connect from then on. A client can start the server's side of one run at a time, and nothing
    else: it cannot make this host read or write a file, run a program unless --allow-exec is given,
    or impair packets unless --allow-netem is. Ctrl-C ends it.
    docs/remote.md has the commands of both hosts, docs/security.md what is defended.
    """
    from netwarp.backends.remote.admission import Limits
    from netwarp.backends.remote.connecting import parse_address
    from netwarp.backends.remote.identity import fingerprint, new_token, open_identity
    from netwarp.backends.remote.memory_group import memory_text
    from netwarp.backends.remote.server import Server
    from netwarp.backends.remote.session import Pairing, server_facts, shown_address
    from netwarp.cli.terminal import answer_console

    limits = Limits(
        content_bytes=option_value("--max-size", max_size, parse_size_bytes),
        run_s=option_value("--max-time", max_time, parse_duration_ns) / NS_PER_S,
    )
    identity, pairing = open_identity(), Pairing(new_token())
    console = answer_console(highlight=False, soft_wrap=True, markup=False)
    beside = identity.directory if allow_exec else None
    facts = server_facts(data_port, beside, allows_netem=allow_netem)
    server = Server(
        parse_address(listen, "--listen"), identity, facts, limits, pairing, console.print
    )
    _, port = server.address
    interruption.kept_text = lambda: "clients go on when it is started again"
    console.print(f"listening at {shown_address(server.address)}; data port {data_port}")
    console.print(f"this host's certificate: {fingerprint(identity.certificate)}")
    if allow_exec:
        console.print(
            "--allow-exec: every host that is paired with this one can run any command here"
        )
        console.print(f"--allow-exec: {memory_text()}")
    if allow_netem:
        console.print(
            "--allow-netem: studies of paired hosts can have this host impair what they send to"
            f" port {data_port}"
        )
    console.print(f"to pair, once, on the other host: netwarp pair HOST:{port} {pairing.token}")
    try:
        server.serve()
    finally:
        server.stop()
        server.join(2.0)


@command(
    Argument("server", "HOST:PORT", "Where `netwarp serve` listens."),
    Argument(
        "token", "[TOKEN]",
        "The token that it printed; default: NETWARP_TOKEN, or read from standard input, where"
        " other users of this host do not see it among the arguments.",
        required=False, envvar="NETWARP_TOKEN",
    ),
)  # fmt: skip
def pair(server: str, token: str | None = None) -> None:
    """Pair this host with a server, using the token that `netwarp serve` printed.

    Each stores the other's certificate in ~/.config/netwarp/remote/peers, which NETWARP_IDENTITY
    changes. A token works once. Copying identity.pem of each host into peers/ of the other does the
    same without a token.
    """
    from netwarp.backends.remote import connecting
    from netwarp.backends.remote.identity import fingerprint, open_identity
    from netwarp.cli.terminal import answer_console

    identity = open_identity()
    address = connecting.parse_address(server, "HOST:PORT")
    theirs = connecting.pair(address, token or _typed_token(), identity)
    console = answer_console(highlight=False, soft_wrap=True, markup=False)
    console.print(f"paired: {server} has certificate {theirs}")
    console.print(f"this host has certificate {fingerprint(identity.certificate)}")
    console.print(f"now: netwarp run STUDY --backend remote --server {server}")


def _typed_token() -> str:
    """Read the token from standard input, without echo on a terminal."""
    if sys.stdin.isatty():
        return str(click.prompt("token", hide_input=True, err=True))
    token = sys.stdin.readline(MOST_TOKEN_CHARACTERS).strip()
    if not token:
        raise InputError("TOKEN: not given, nor in NETWARP_TOKEN, nor a line of standard input")
    return token
