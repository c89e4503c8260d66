"""A router that delays packets and keeps a rate, in user space, as Mahimahi's shells do: for hosts
whose kernel has no netem. To be started in the namespace of the router of `two_hosts`.

Whatever arrives at c1 or s1 is sent to a TUN device, read here, and written back when it is due;
the kernel then routes it to where it goes. The arguments are each direction's delay in seconds, its
rate in bit/s and the bytes that its queue holds. It says "ready", and works until standard input
is closed.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
ETHERNET_BYTES = 14
"""netem counts them as well."""
ROUTES = """
ip link set t0 up mtu 1500
for each in all default t0 c1 s1; do echo 0 > /proc/sys/net/ipv4/conf/$each/rp_filter; done
ip rule add iif c1 lookup 100
ip rule add iif s1 lookup 100
ip route add default dev t0 table 100
"""


class Direction:
    """What one direction holds: packets wait for the link, then for the delay."""

    def __init__(self, delay_s: float, rate_bit_s: float, queue_bytes: float) -> None:
        self.delay_s = delay_s
        self.byte_s = 8 / rate_bit_s
        self.longest_wait_s = queue_bytes * self.byte_s
        self.free_at_s = 0.0

    def due_s(self, packet: bytes, now_s: float) -> float | None:
        """Say when a packet leaves; None where the queue is full."""
        start_s = max(now_s, self.free_at_s)
        if start_s - now_s > self.longest_wait_s:
            return None
        self.free_at_s = start_s + (len(packet) + ETHERNET_BYTES) * self.byte_s
        return self.free_at_s + self.delay_s


def main(delay_s: float, rate_bit_s: float, queue_bytes: float) -> None:
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"t0", IFF_TUN | IFF_NO_PI))
    subprocess.run(["sh", "-ec", ROUTES], check=True, stdin=subprocess.DEVNULL)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    directions: dict[bytes, Direction] = {}
    held: list[tuple[float, int, bytes]] = []
    number = 0
    while True:
        wait_s = max(0.0, held[0][0] - time.monotonic()) if held else None
        readable, _, _ = select.select([tun, sys.stdin], [], [], wait_s)
        if sys.stdin in readable:
            return
        while tun in readable:
            try:
                packet = os.read(tun, 65536)
            except BlockingIOError:
                break
            towards = packet[16:20]  # the IPv4 header's destination
            if towards not in directions:
                directions[towards] = Direction(delay_s, rate_bit_s, queue_bytes)
            due_s = directions[towards].due_s(packet, time.monotonic())
            if due_s is not None and packet[0] >> 4 == 4:
                number += 1
                heapq.heappush(held, (due_s, number, packet))
        while held and held[0][0] <= time.monotonic():
            os.write(tun, heapq.heappop(held)[2])


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
