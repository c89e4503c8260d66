"""Reads the QUIC packets of a captured run with tshark, which decrypts them with the secrets in the
capture.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from netwarp.errors import BackendError
from netwarp.interop.padding import without_padding

CAPTURE = "capture.pcapng"
AS_SENT = ("client-side-in", "server-side-in")
"""Interfaces of a capture with the packets as the ends sent them, before any is lost."""
AT_SERVER = ("server-side-in", "server-side-out")
"""Interfaces of a capture with what the server sent, and what reached it."""
FROM_CLIENT = frozenset({"client-side-in", "server-side-out"})
PacketType = Literal["initial", "0rtt", "handshake", "retry", "negotiation", "other"]
_TYPES: dict[str, PacketType] = {"0": "initial", "1": "0rtt", "2": "handshake", "3": "retry"}
_TYPES_V2: dict[str, PacketType] = {"1": "initial", "2": "0rtt", "3": "handshake", "0": "retry"}
V1 = 1
V2 = 0x6B3343CF
_FIELDS = (
    "frame.time_epoch", "frame.interface_name", "frame.len", "ip.dsfield.ecn", "ipv6.tclass.ecn",
    "quic.header_form", "quic.version", "quic.long.packet_type", "quic.long.packet_type_v2",
    "quic.scid", "quic.token", "quic.retry_token", "quic.packet_number", "quic.key_phase",
    "quic.packet_length", "quic.crypto.offset", "quic.crypto.length", "quic.ack.ect0_count",
    "quic.decryption_failed", "tls.handshake.type", "tls.handshake.ciphersuite",
    "tls.handshake.extensions_alpn_str", "tls.quic.parameter.initial_max_streams_bidi",
)  # fmt: skip
_INTERFACE_BLOCK, _PACKET_BLOCK = 1, 6
_IF_NAME = 2
_IPV4_HEADERS_BYTES, _IPV6_HEADERS_BYTES = 14 + 20 + 8, 14 + 40 + 8
"""Bytes of Ethernet, IP and UDP headers; IP packets of the hosts have no options."""
_PACKET_AT = 28
"""Offset of the packet in its block (draft-ietf-opsawg-pcapng, section 4.3)."""
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Datagram:
    """A UDP datagram with one or more QUIC packets. Each list has a value for each packet or frame
    that has one, in order.
    """

    time_s: float
    from_client: bool
    payload_bytes: int
    is_ipv6: bool
    ecn: int
    """The IP header's ECN field: 0 none, 1 ECT(1), 2 ECT(0), 3 CE."""
    long_types: tuple[PacketType, ...]
    """Types of the datagram's packets with a long header."""
    has_short: bool
    """Whether a packet has a short header (1-RTT)."""
    versions: tuple[int, ...]
    scids: tuple[str, ...]
    tokens: tuple[str, ...]
    retry_tokens: tuple[str, ...]
    packet_numbers: tuple[int, ...]
    lengths: tuple[int, ...]
    """Lengths of the datagram's packets in bytes."""
    has_key_phase: bool
    """Whether the 1-RTT packet has the bit Key Phase set."""
    crypto_end: int
    """Largest offset at which a CRYPTO frame ends."""
    begins_crypto: bool
    """Whether a CRYPTO frame has the stream's first byte."""
    reports_ecn: bool
    """Whether an ACK frame has ECN counts."""
    is_undecrypted: bool
    handshake_types: tuple[int, ...]
    """Types of TLS handshake messages."""
    ciphersuites: tuple[int, ...]
    alpn: tuple[str, ...]
    max_streams_bidi: int | None
    """Transport parameter initial_max_streams_bidi (RFC 9000, 18.2); None if it is not there."""


def require_tshark() -> None:
    """Check that tshark is installed.

    Raises:
        BackendError: it is not installed.
    """
    if shutil.which("tshark") is None:
        raise BackendError(
            "checks read packets with tshark, which is missing: `apt-get install tshark`"
        )


def datagrams(run: Path, interfaces: Collection[str] = AS_SENT) -> list[Datagram]:
    """Return a run's QUIC datagrams in order of time.

    Args:
        run: the run's directory.
        interfaces: names of the capture's interfaces whose packets are wanted.

    Raises:
        BackendError: tshark is missing, or fails.
        OSError: there is no capture.
    """
    require_tshark()
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as chosen:
        with (run / CAPTURE).open("rb") as capture:
            _copy_interfaces(capture, chosen, interfaces)
        chosen.flush()
        command = [
            "tshark", "-n", "-r", chosen.name, "-d", "udp.port==443,quic", "--disable-protocol",
            "http3", "-Y", "quic && !icmp && !icmpv6", "-T", "fields", "-E", "aggregator=;",
            *(word for name in _FIELDS for word in ("-e", name)),
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
            )
        except (subprocess.SubprocessError, OSError) as error:
            raise BackendError(f"tshark cannot read {run / CAPTURE}: {error}") from None
    return [_datagram(line) for line in done.stdout.splitlines()]


def _datagram(line: str) -> Datagram:
    """Return the datagram in one line of tshark's output."""
    values = dict(zip(_FIELDS, line.split("\t"), strict=False))

    def several(name: str) -> list[str]:
        return [each for each in values.get(name, "").split(";") if each]

    versions = tuple(int(each, 0) for each in several("quic.version"))
    ends = zip(several("quic.crypto.offset"), several("quic.crypto.length"), strict=False)
    streams = several("tls.quic.parameter.initial_max_streams_bidi")
    of_ipv6 = several("ipv6.tclass.ecn")
    headers_bytes = _IPV6_HEADERS_BYTES if of_ipv6 else _IPV4_HEADERS_BYTES
    return Datagram(
        time_s=float(values["frame.time_epoch"]),
        from_client=values["frame.interface_name"] in FROM_CLIENT,
        payload_bytes=int(values["frame.len"]) - headers_bytes,
        is_ipv6=bool(of_ipv6),
        ecn=int((of_ipv6 or several("ip.dsfield.ecn"))[0], 0),
        long_types=_types(
            versions, several("quic.long.packet_type"), several("quic.long.packet_type_v2")
        ),
        has_short="0" in several("quic.header_form") or "False" in several("quic.header_form"),
        versions=versions,
        scids=tuple(several("quic.scid")),
        tokens=tuple(several("quic.token")),
        retry_tokens=tuple(several("quic.retry_token")),
        packet_numbers=tuple(map(int, several("quic.packet_number"))),
        lengths=tuple(map(int, several("quic.packet_length"))),
        has_key_phase=any(each in ("1", "True") for each in several("quic.key_phase")),
        crypto_end=max((int(offset) + int(length) for offset, length in ends), default=0),
        begins_crypto="0" in several("quic.crypto.offset"),
        reports_ecn=bool(several("quic.ack.ect0_count")),
        is_undecrypted=bool(several("quic.decryption_failed")),
        handshake_types=tuple(int(each, 0) for each in several("tls.handshake.type")),
        ciphersuites=tuple(int(each, 0) for each in several("tls.handshake.ciphersuite")),
        alpn=tuple(several("tls.handshake.extensions_alpn_str")),
        max_streams_bidi=int(streams[0]) if streams else None,
    )  # fmt: skip


def _types(versions: tuple[int, ...], of_v1: list[str], of_v2: list[str]) -> tuple[PacketType, ...]:
    """Return the type of each packet with a long header in a datagram, which depends on its QUIC
    version.
    """
    first, second = iter(of_v1), iter(of_v2)
    found: list[PacketType] = []
    for version in versions:
        if version == 0:
            found.append("negotiation")
        elif version == V2:
            found.append(_TYPES_V2.get(next(second, ""), "other"))
        else:
            found.append(_TYPES.get(next(first, ""), "other"))
    return tuple(found)


def _copy_interfaces(capture: IO[bytes], to: IO[bytes], names: Collection[str]) -> None:
    """Copy a capture without packets of other interfaces, and without zero bytes after the last
    QUIC packet of a datagram; secrets and interfaces are kept.

    The format is pcapng, little endian (draft-ietf-opsawg-pcapng, sections 4.1 to 4.3).
    """
    wanted: list[bool] = []
    for kind, block in _blocks(capture):
        if kind == _INTERFACE_BLOCK:
            wanted.append(_interface_name(block) in names)
        if kind == _PACKET_BLOCK and not wanted[int.from_bytes(block[8:12], "little")]:
            continue
        to.write(_without_padding(block) if kind == _PACKET_BLOCK else block)


def _without_padding(block: bytes) -> bytes:
    end = _PACKET_AT + int.from_bytes(block[20:24], "little")
    return block[:_PACKET_AT] + without_padding(block[_PACKET_AT:end]) + block[end:]


def _blocks(capture: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    while len(head := capture.read(8)) == 8:
        kind, length = int.from_bytes(head[:4], "little"), int.from_bytes(head[4:], "little")
        yield kind, head + capture.read(length - 8)


def _interface_name(block: bytes) -> str:
    at = 16
    while at + 4 <= len(block) - 4:
        code, length = (int.from_bytes(block[at + i : at + i + 2], "little") for i in (0, 2))
        if code == _IF_NAME:
            return block[at + 4 : at + 4 + length].decode()
        at += 4 + -(-length // 4) * 4
    return ""
