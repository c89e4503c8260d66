"""An endpoint by the contract of the QUIC interop runner that speaks no QUIC at all.

What the contract sees of it is a file. Its argument says what it does: `right`, or one of the ways
to be wrong.
"""

import os
import socket
import sys
import urllib.parse
from pathlib import Path

UNSUPPORTED = 127
PIECE_BYTES = 1000


def serve() -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("", 443))
    while True:
        name, client = listener.recvfrom(PIECE_BYTES)
        content = Path("/www", name.decode()).read_bytes()
        for start in range(0, len(content), PIECE_BYTES):
            listener.sendto(content[start : start + PIECE_BYTES], client)
        listener.sendto(b"", client)


def fetch(way: str) -> None:
    asked = urllib.parse.urlsplit(os.environ["REQUESTS"])
    name = asked.path.lstrip("/")
    ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ours.sendto(name.encode(), (asked.hostname, asked.port))
    content = b""
    while piece := ours.recv(PIECE_BYTES):
        content += piece
    if way == "takes-it":
        content = Path("/www", name).read_bytes()
    if way == "wrong-bytes":
        content = bytes([content[0] ^ 1]) + content[1:]
    if way == "hangs":
        ours.recv(PIECE_BYTES)
    if way != "leaves-nothing":
        Path("/downloads", name).write_bytes(content)


def main() -> int:
    (way,) = sys.argv[1:]
    known = os.environ["TESTCASE"] == "transfer" and Path("/certs/cert.pem").is_file()
    if way == "unsupported" or not known:
        return UNSUPPORTED
    Path(os.environ["QLOGDIR"], "trace.qlog").write_text("{}")
    if os.environ["ROLE"] == "server":
        serve()
    fetch(way)
    return 0


sys.exit(main())
