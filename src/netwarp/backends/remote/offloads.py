"""Reads which segmentation offloads are on at the network device that has an address."""

import array
import fcntl
import socket
import struct
from ipaddress import ip_address
from pathlib import Path

SIOCGIFCONF, SIOCETHTOOL = 0x8912, 0x8946
"""Requests of ioctl(2): netdevice(7) and linux/sockios.h."""
COMMANDS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
"""`ETHTOOL_GTSO`, `_GGSO` and `_GGRO` of linux/ethtool.h, which any user may request."""
_INET6_ADDRESSES = Path("/proc/net/if_inet6")
_ROOM_BYTES = 16 << 10
_INTERFACE = struct.Struct("@16s4x4s16x")
"""A name and an IPv4 address, as `SIOCGIFCONF` lists them."""


def offloads(address: str) -> tuple[str, ...]:
    """Return the offloads that are on at the device of a local address; empty if unknown.

    Args:
        address: an IPv4 or IPv6 address of this host.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        device = _device(asking, address)
        if device is None:
            return ()
        return tuple(name for name, command in COMMANDS.items() if _is_on(asking, device, command))


def _device(asking: socket.socket, address: str) -> bytes | None:
    """Return the name of the device that has an address; None if no device has."""
    wanted = ip_address(address.partition("%")[0])
    if wanted.version == 4:
        addresses = _ipv4_addresses(asking)
    elif _INET6_ADDRESSES.is_file():
        lines = [line.split() for line in _INET6_ADDRESSES.read_text().splitlines()]
        addresses = {bytes.fromhex(line[0]): line[-1].encode() for line in lines}
    else:
        addresses = {}
    return addresses.get(wanted.packed)


def _ipv4_addresses(asking: socket.socket) -> dict[bytes, bytes]:
    room = array.array("B", bytes(_ROOM_BYTES))
    asked = struct.pack("@iL", _ROOM_BYTES, room.buffer_info()[0])
    (filled_bytes, _) = struct.unpack("@iL", fcntl.ioctl(asking, SIOCGIFCONF, asked))
    listed = _INTERFACE.iter_unpack(room.tobytes()[:filled_bytes])
    return {address: name.rstrip(b"\0") for name, address in listed}


def _is_on(asking: socket.socket, device: bytes, command: int) -> bool:
    value = array.array("I", [command, 0])
    try:
        fcntl.ioctl(asking, SIOCETHTOOL, struct.pack("@16sL16x", device, value.buffer_info()[0]))
    except OSError:
        return False  # a device that does not support the request
    return bool(value[1])
