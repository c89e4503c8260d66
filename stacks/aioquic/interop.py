"""aioquic by the contract of the QUIC interop runner, over HTTP/0.9 (`hq-interop`)."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from urllib.parse import urlparse

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicFileLogger
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import CipherSuite

from kit import anywhere

HQ = "hq-interop"
UNSUPPORTED = 127
# aioquic marks nothing for ECN.
TEST_CASES = (
    "handshake", "transfer", "multiconnect", "chacha20", "retry", "resumption", "zerortt", "keyupdate", "v2",
)  # fmt: skip
WINDOW_BYTES = 64 << 20
SERVED, DOWNLOADED = Path("/www"), Path("/downloads")
V1, V2 = QuicProtocolVersion.VERSION_1, QuicProtocolVersion.VERSION_2


def main():
    case = os.environ.get("TESTCASE", "")
    if case not in TEST_CASES:
        print(f"the test case {case!r} is not supported", file=sys.stderr)
        return UNSUPPORTED
    asyncio.run(server(case) if os.environ["ROLE"] == "server" else client(case))
    return 0


def configuration(*, is_client):
    made = QuicConfiguration(
        is_client=is_client,
        alpn_protocols=[HQ],
        max_data=WINDOW_BYTES,
        max_stream_data=WINDOW_BYTES,
    )
    if secrets := os.environ.get("SSLKEYLOGFILE"):
        made.secrets_log_file = open(secrets, "a", buffering=1)
    if logs := os.environ.get("QLOGDIR"):
        made.quic_logger = QuicFileLogger(logs)
    return made


async def server(case):
    of_server = configuration(is_client=False)
    of_server.load_cert_chain("/certs/cert.pem", "/certs/priv.key")
    if case == "v2":
        of_server.supported_versions = [V2, V1]
    tickets = {}

    def answer(reader, writer):
        asyncio.ensure_future(answer_one(reader, writer))

    await serve(
        listening_address(), 443, configuration=of_server, stream_handler=answer, retry=case == "retry",
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
    )  # fmt: skip
    await asyncio.Future()


def listening_address():
    """Return the address of any interface: of IPv6 where the host has no way over IPv4."""
    # The first line is a heading.
    has_ipv4 = len(Path("/proc/net/route").read_text().splitlines()) > 1
    return "0.0.0.0" if has_ipv4 else "::"


async def answer_one(reader, writer):
    request = (await reader.readline()).decode().split()
    path = SERVED / Path(request[1]).name
    writer.write(path.read_bytes())
    writer.write_eof()


async def client(case):
    requests = os.environ["REQUESTS"].split()
    tickets = []
    if case == "multiconnect":
        for request in requests:
            await fetch(case, [request], tickets)
    elif case in ("resumption", "zerortt"):
        await fetch(case, requests[:1], tickets)
        await fetch(case, requests[1:], tickets, is_early=case == "zerortt")
    else:
        await fetch(case, requests, tickets)


async def fetch(case, requests, tickets, *, is_early=False):
    """Download files over one connection."""
    of_client = configuration(is_client=True)
    of_client.verify_mode = (
        0  # The runner does not tell clients which authority has signed its certificates.
    )
    of_client.server_name = urlparse(requests[0]).hostname
    of_client.session_ticket = tickets[-1] if tickets else None
    if case == "chacha20":
        of_client.cipher_suites = [CipherSuite.CHACHA20_POLY1305_SHA256]
    if case == "v2":
        of_client.original_version, of_client.supported_versions = V1, [V2, V1]
    else:
        of_client.supported_versions = [V1]
    connection = QuicConnection(configuration=of_client, session_ticket_handler=tickets.append)
    server = urlparse(requests[0])
    found = socket.getaddrinfo(server.hostname, server.port, type=socket.SOCK_DGRAM)
    address = min(found, key=lambda each: each[0] != socket.AF_INET)[4]
    endpoint, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(connection), local_addr=(anywhere(address[0]), 0)
    )
    protocol.connect(address, transmit=not is_early)
    if not is_early:
        await protocol.wait_connected()
    if case == "keyupdate":
        await protocol.ping()
        protocol.request_key_update()
    await asyncio.gather(*(download(protocol, urlparse(request).path) for request in requests))
    protocol.close()
    await protocol.wait_closed()
    endpoint.close()


async def download(protocol, path):
    reader, writer = await protocol.create_stream()
    writer.write(f"GET {path}\r\n".encode())
    writer.write_eof()
    (DOWNLOADED / Path(path).name).write_bytes(await reader.read())
