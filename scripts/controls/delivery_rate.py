#!/usr/bin/env python3
"""Prints the share of the first of two flows by two measures: a control of l4s-tests' numbers.

    netwarp exec --server 'sleep 9999' --ready file:/bin/sh -- \
        delivery_rate.py 50 160 10 fq_codel

Two uploads of CUBIC with these round-trip times in ms share so many Mbit/s: single packets, netem's
delay before htb with a discipline, as in the source. Counted are the 60 s that end a second before
the end of 180 s: the share in per cent of the goodput, and that of the means of TCP_INFO's delivery
rate, which is sampled every 50 ms as flent does and is what the source has.
"""

import random
import socket
import struct
import subprocess
import sys
import threading
import time

SERVER = "10.0.0.9"
PORT = 9000
SECONDS, COUNTED_S, STEP_S = 180, 60, 0.05
BLOCK = bytes(1 << 17)
BYTES_ACKED, DELIVERY_RATE = 120, 160
"""Offsets in `struct tcp_info` (include/uapi/linux/tcp.h)."""


def main() -> None:
    """Build the network, run both flows, and print both shares."""
    if sys.argv[1] == "receiver":
        receive()
    elif sys.argv[1] == "sender":
        send()
    else:
        build(*sys.argv[1:])
        receiver = in_host("server", "receiver")
        time.sleep(0.2)
        senders = [in_host(f"client{place}", "sender") for place in (1, 2)]
        measured = [[float(each) for each in sender.communicate()[0].split()] for sender in senders]
        receiver.wait()
        for name, first, second in zip(("goodput", "delivery rate"), *measured, strict=True):
            print(f"{name} {100 * first / (first + second):.2f} %")


def in_host(host: str, role: str) -> subprocess.Popen[str]:
    """Start one end of a flow in a network namespace."""
    command = ["ip", "netns", "exec", host, sys.argv[0], role]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def build(rate: str, near_ms: str, far_ms: str, *discipline: str) -> None:
    """Make clients, a namespace with each client's delay, a router and a server, on one subnet."""
    for host in ("client1", "client2", "delay1", "delay2", "router", "server"):
        run(f"ip netns add {host}")
        run(f"ip netns exec {host} sysctl -qw net.ipv4.tcp_ecn=3")
    connect("router", "out", "server", "wire")
    run(f"ip -n server addr add {SERVER}/24 dev wire")
    for place, rtt_ms in ((1, near_ms), (2, far_ms)):
        connect(f"client{place}", "wire", f"delay{place}", "near")
        connect(f"delay{place}", "far", "router", f"from{place}")
        run(f"ip -n client{place} addr add 10.0.0.{place}/24 dev wire")
        bridge(f"delay{place}", "near", "far")
        for device in ("near", "far"):
            delay = f"netem delay {float(rtt_ms) / 2}ms limit 10000"
            run(f"tc -n delay{place} qdisc add dev {device} root {delay}")
    bridge("router", "out", "from1", "from2")
    run("tc -n router qdisc add dev out root handle 1: htb default 1")
    run(f"tc -n router class add dev out parent 1: classid 1:1 htb rate {rate}mbit")
    run(f"tc -n router qdisc add dev out parent 1:1 {' '.join(discipline)}")


def connect(host: str, device: str, other: str, other_device: str) -> None:
    """Connect two namespaces by a veth pair that takes single packets."""
    run(f"ip -n {host} link add {device} type veth peer name {other_device} netns {other}")
    run(f"ip -n {host} link set {device} up gso_max_segs 1")
    run(f"ip -n {other} link set {other_device} up gso_max_segs 1")


def bridge(host: str, *devices: str) -> None:
    """Bridge devices of a namespace."""
    run(f"ip -n {host} link add name bridge type bridge")
    for device in devices:
        run(f"ip -n {host} link set {device} master bridge")
    run(f"ip -n {host} link set bridge up")


def run(command: str) -> None:
    """Run a command, which must succeed."""
    subprocess.run(command.split(), check=True, stderr=subprocess.DEVNULL)


def send() -> None:
    """Send as much as goes, and print goodput and mean delivery rate, both in bytes/s."""
    time.sleep(random.random() / 10)  # noqa: S311
    start = time.monotonic()
    with socket.create_connection((SERVER, PORT)) as connection:
        sampling = threading.Thread(target=sample, args=(connection, start))
        sampling.start()
        while sampling.is_alive():
            connection.send(BLOCK)


def sample(connection: socket.socket, start: float) -> None:
    """Sample TCP_INFO during the time that counts, and print what it says."""
    time.sleep(start + SECONDS - 1 - COUNTED_S - time.monotonic())
    acked, rates = [], []
    begin = end = time.monotonic()
    while time.monotonic() < start + SECONDS - 1:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        acked.append(struct.unpack_from("Q", info, BYTES_ACKED)[0])
        rates.append(struct.unpack_from("Q", info, DELIVERY_RATE)[0])
        end = time.monotonic()
        time.sleep(STEP_S)
    known = [each for each in rates if each]
    print((acked[-1] - acked[0]) / (end - begin), sum(known) / len(known))


def receive() -> None:
    """Read what both flows send, until they end."""
    with socket.create_server((SERVER, PORT)) as listening:
        readers = [threading.Thread(target=read, args=listening.accept()[:1]) for _ in range(2)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()


def read(connection: socket.socket) -> None:
    """Read until the end."""
    while connection.recv(1 << 20):
        pass


if __name__ == "__main__":
    main()
