"""Reads captures with Wireshark's own reader, a second opinion on what was on the wire."""

from __future__ import annotations

import subprocess
from pathlib import Path

CAPTURE_FILE = "capture.pcapng"
INTERFACES = ("client-side-in", "client-side-out", "server-side-in", "server-side-out")


def fields(run: Path, *names: str, only: str = "") -> list[tuple[str, ...]]:
    """Read fields of every packet that the display filter ``only`` lets pass, as tshark has them.

    A field that a packet has several times has its values joined by commas.
    """
    columns = [argument for name in names for argument in ("-e", name)]
    command = ["tshark", "-n", "-r", str(run / CAPTURE_FILE), "-Y", only, "-T", "fields", *columns]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]
