#!/usr/bin/env python3
"""Prints what TCP carries where a loss takes a bundle of segments: a control of quic-toy's numbers.

    netwarp exec --server 'sleep 9999' --ready file:/bin/sh -- lost_bundles.py 10 7 [single]

Two hosts share a link of so many Mbit/s with Mininet's queues: htb and, within it, netem that loses
so many per cent, on each host's own device. What a host hands down is lost whole: bundles of
segments (TSO), or with `single` packets. Printed are Mbit/s from the first second to the thirtieth.
"""

import contextlib
import socket
import subprocess
import sys
import time

ADDRESSES = {"sender": "10.0.0.1", "receiver": "10.0.0.2"}
PORT = 9000
SECONDS = 30
BLOCK = 1 << 16


def main() -> None:
    """Measure, or be one of both ends."""
    if sys.argv[1] == "receiver":
        receive()
    elif sys.argv[1] == "sender":
        send()
    else:
        carry(*sys.argv[1:])


def carry(rate: str, loss: str, *single: str) -> None:
    """Build the link, and send over it for a little longer than is counted."""
    build(rate, loss, is_single=bool(single))
    receiver = subprocess.Popen(["ip", "netns", "exec", "receiver", sys.argv[0], "receiver"])
    time.sleep(0.2)
    subprocess.run(["ip", "netns", "exec", "sender", sys.argv[0], "sender"], check=True)
    receiver.wait()


def build(rate: str, loss: str, *, is_single: bool) -> None:
    """Make two network namespaces with a veth pair between them."""
    for host in ADDRESSES:
        run(f"ip netns add {host}")
    run("ip -n sender link add wire type veth peer name wire netns receiver")
    for host, address in ADDRESSES.items():
        run(f"ip -n {host} addr add {address}/24 dev wire")
        run(f"ip -n {host} link set wire up {'gso_max_segs 1' if is_single else ''}")
        run(f"tc -n {host} qdisc add dev wire root handle 5: htb default 1")
        run(f"tc -n {host} class add dev wire parent 5: classid 5:1 htb rate {rate}mbit burst 15k")
        lost = f"loss {loss}%" if float(loss) else ""
        run(f"tc -n {host} qdisc add dev wire parent 5:1 handle 10: netem delay 12us {lost}")


def run(command: str) -> None:
    """Run a command, which must succeed."""
    subprocess.run(command.split(), check=True, stderr=subprocess.DEVNULL)


def send() -> None:
    """Send as much as goes."""
    end = time.monotonic() + SECONDS + 2
    with socket.create_connection((ADDRESSES["receiver"], PORT)) as connection:
        while time.monotonic() < end:
            try:
                connection.send(bytes(BLOCK))
            except OSError:
                return


def receive() -> None:
    """Note each second what has come, and print the mean rate between first and last note."""
    connection, _ = socket.create_server((ADDRESSES["receiver"], PORT)).accept()
    connection.settimeout(0.5)
    came, start = 0, time.monotonic()
    notes: list[int] = []
    while len(notes) < SECONDS:
        with contextlib.suppress(TimeoutError):
            came += len(connection.recv(BLOCK))
        notes += [came] * (int(time.monotonic() - start) - len(notes))
    print(f"{8 * (notes[-1] - notes[0]) / (SECONDS - 1) / 1e6:.2f}")


if __name__ == "__main__":
    main()
