"""Two hosts for tests of runs between them: network namespaces with a router in between.

They are of a user namespace of their own where the tests are not root's, and go with the last
process in them.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROUTER = Path(__file__).parent / "delaying_router.py"
NETWARP = Path(sys.prefix) / "bin" / "netwarp"
TIMEOUT_S = 120
CLIENT, SERVER = "10.9.1.1", "10.9.2.1"
BUILD = f"""
set -e
ip link set lo up
unshare --net sleep infinity & client=$!
unshare --net sleep infinity & server=$!
for each in $client $server; do
  until [ "$(readlink /proc/$each/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
done
ip link add c0 type veth peer name c1
ip link add s0 type veth peer name s1
ip link set c0 netns $client
ip link set s0 netns $server
ip addr add 10.9.1.254/24 dev c1
ip addr add 10.9.2.254/24 dev s1
ip link set c1 up
ip link set s1 up
echo 1 > /proc/sys/net/ipv4/ip_forward
in_client() {{ nsenter --net=/proc/$client/ns/net "$@"; }}
in_server() {{ nsenter --net=/proc/$server/ns/net "$@"; }}
in_client ip addr add {CLIENT}/24 dev c0
in_client ip link set c0 up
in_client ip link set lo up
in_client ip route add default via 10.9.1.254
in_server ip addr add {SERVER}/24 dev s0
in_server ip link set s0 up
in_server ip link set lo up
in_server ip route add default via 10.9.2.254
echo ready $client $server $$
cat > /dev/null
kill $client $server
"""


class Hosts:
    """Two hosts and a router, each a network namespace; gone when their processes are."""

    def __init__(
        self, builder: subprocess.Popen[str], client: str, server: str, router: str
    ) -> None:
        self.builder = builder
        self.client = client
        self.server = server
        self.router = router

    def on(self, host: str, *command: str | Path) -> list[str | Path]:
        """Give the command line that runs a program on one of the hosts."""
        return [
            "nsenter",
            f"--target={host}",
            "--user",
            "--preserve-credentials",
            "--net",
            *command,
        ]


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Make the namespaces; skips with the reason where this host allows none."""
    unshared = ["unshare", "--user", "--map-root-user", "--net", "--kill-child", "sh", "-c", BUILD]
    builder = subprocess.Popen(
        unshared, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert builder.stdout is not None
    assert builder.stderr is not None
    word, *processes = builder.stdout.readline().split() or [""]
    if word != "ready":
        builder.kill()
        _, why = builder.communicate()
        pytest.skip(f"this host allows no namespaces with a router: {why.strip()}")
    yield Hosts(builder, *processes)
    builder.communicate(input="", timeout=20)


class Served:
    """`netwarp serve` on one host, and an environment for its paired client."""

    def __init__(self, process: subprocess.Popen[str], address: str, place: Path) -> None:
        self.process = process
        self.address = address
        self.environ = {**os.environ, "NETWARP_IDENTITY": str(place / "client")}
        self.told: list[str] = []


def serve(command: list[str | Path], address: str, place: Path, *options: str) -> Served:
    temporary = place / "tmp"
    temporary.mkdir(exist_ok=True)
    environ = {
        **os.environ, "NETWARP_IDENTITY": str(place / "server"), "TMPDIR": str(temporary)
    }  # fmt: skip
    process = subprocess.Popen(
        [
            *command, NETWARP, "serve", "--listen", f"{address}:0", "--data-port",
            str(free_port()), *options,
        ],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ, cwd=place,
    )  # fmt: skip
    return Served(process, address, place)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def pair(served: Served, command: list[str | Path]) -> str:
    """Pair as the server says; give where it listens."""
    assert served.process.stdout is not None
    while "to pair" not in (line := served.process.stdout.readline()):
        assert line, "the server ended"
        served.told.append(line)
    where, token = line.split()[-2:]
    where = where.replace("HOST", served.address)
    done = subprocess.run(
        [*command, NETWARP, "pair", where, token],
        capture_output=True, text=True, check=False, env=served.environ, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return where


def stop(served: Served) -> None:
    served.process.send_signal(signal.SIGINT)
    rest, _ = served.process.communicate(timeout=20)
    served.told.append(rest)


@contextmanager
def delaying(hosts: Hosts, delay_s: float, rate_bit_s: int, queue_bytes: int) -> Iterator[None]:
    """Have the router delay packets each way, and keep a rate."""
    path = [str(each) for each in (delay_s, rate_bit_s, queue_bytes)]
    command = hosts.on(hosts.router, sys.executable, ROUTER, *path)
    router = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert router.stdout is not None
    if router.stdout.readline() != "ready\n":
        _, why = router.communicate()
        pytest.skip(f"this host allows no TUN device: {why.strip()}")
    try:
        yield
    finally:
        router.communicate(input="", timeout=20)
