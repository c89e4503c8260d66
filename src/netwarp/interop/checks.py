"""Checks of a run's packets: whether the packets on the wire are those that the test case is about.

Each check returns a sentence about what was wrong, or None. These are the interop runner's checks
(`testcases_quic.py`), of the packets as both ends sent them, before the path affects them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netwarp.interop.packets import V1, V2, Datagram
from netwarp.interop_cases import CASES, CaseName

CHACHA20 = 0x1303
"""TLS_CHACHA20_POLY1305_SHA256 (RFC 8446, B.4)."""
CERTIFICATE = 11
"""Type of the TLS message Certificate (RFC 8446, B.3)."""
MOST_STREAMS = 1000
"""Largest stream limit that counts in the case `multiplexing`, in which a server has to raise its
limit.
"""
LEAST_CHAIN_BYTES = 7500
"""Minimum number of CRYPTO bytes of a server that has sent the long certificate chain."""
CE = 3
Check = Callable[[Sequence[Datagram]], str | None]


def check(case: CaseName, sent: Sequence[Datagram], at_server: Sequence[Datagram]) -> str | None:
    """Return what was wrong in a run whose files have arrived, judged by its packets; None if
    nothing was.

    Args:
        case: the test case.
        sent: the datagrams as the ends sent them.
        at_server: the datagrams that the server sent, and those that reached it.
    """
    if not sent:
        return "no packet of QUIC was on the wire"
    wrong = _wrong(case, sent, at_server)
    unread = sum(each.is_undecrypted for each in sent)
    if wrong is None or unread == 0:
        return wrong
    return f"{wrong}; {unread} of {len(sent)} datagrams could not be decrypted"


def _wrong(case: CaseName, sent: Sequence[Datagram], at_server: Sequence[Datagram]) -> str | None:
    """Return what was wrong in a run of a test case, by its packets; None if nothing was."""
    if (wrong := _handshakes(sent, case)) is not None:
        return wrong
    for each in _OF_CASE.get(case, (_version,)):
        if (wrong := each(sent)) is not None:
            return wrong
    return _amplification(at_server) if case == "amplificationlimit" else None


def kbit_s(case: CaseName, sent: Sequence[Datagram]) -> float | None:
    """Return the goodput in kbit/s as the interop runner computes it: the file's size over the time
    from the first to the last of the server's 1-RTT packets.
    """
    times = [each.time_s for each in sent if each.has_short and not each.from_client]
    if len(times) < 2 or times[-1] == times[0]:
        return None
    return sum(CASES[case].file_bytes) * 8 / (times[-1] - times[0]) / 1000


def _of(sent: Sequence[Datagram], kind: str, *, from_client: bool) -> list[Datagram]:
    return [each for each in sent if each.from_client == from_client and kind in each.long_types]


def _scids(sent: Sequence[Datagram], kind: str) -> dict[str, None]:
    """Return the connection IDs of the server in packets of a type, in order."""
    found: dict[str, None] = {}
    for each in _of(sent, kind, from_client=False):
        for type_, scid in zip(each.long_types, each.scids, strict=False):
            if type_ == kind:
                found[scid] = None
    return found


def _handshakes(sent: Sequence[Datagram], case: CaseName) -> str | None:
    found, wanted = len(_scids(sent, "initial")), CASES[case].connections
    if found != wanted:
        return f"the server began {found} handshakes, not {wanted}"
    return None


def _version(sent: Sequence[Datagram]) -> str | None:
    initials = _of(sent, "initial", from_client=False)
    versions = {version for each in initials for version in each.versions}
    if versions != {V1}:
        return f"the server's Initial packets have the versions {_hex(versions)}, not 0x1 alone"
    return None


def _hex(versions: set[int]) -> str:
    return ", ".join(map(hex, sorted(versions))) or "none"


def _no_retry(sent: Sequence[Datagram]) -> str | None:
    return "the server sent a Retry" if _of(sent, "retry", from_client=False) else None


def _hello_again(sent: Sequence[Datagram]) -> str | None:
    hellos = [each for each in _of(sent, "initial", from_client=True) if each.begins_crypto]
    # A ClientHello may be sent in several datagrams, and only one of them has its beginning.
    if len(hellos) < 2:
        return f"the client sent the beginning of its ClientHello {len(hellos)} times, not twice"
    return None


def _chacha20(sent: Sequence[Datagram]) -> str | None:
    hellos = _of(sent, "initial", from_client=True)
    offered = {suite for each in hellos for suite in each.ciphersuites}
    if offered != {CHACHA20}:
        return f"the client offered the cipher suites {_hex(offered)}, not ChaCha20 alone"
    return None


def _stream_limit(sent: Sequence[Datagram]) -> str | None:
    limits = [each.max_streams_bidi for each in sent if not each.from_client]
    given = [each for each in limits if each is not None]
    if not given:
        return "the server's transport parameters could not be read"
    if max(given) > MOST_STREAMS:
        return f"the server allowed {max(given)} streams at once, more than {MOST_STREAMS}"
    return None


def _retry(sent: Sequence[Datagram]) -> str | None:
    """Check a Retry: the server sends a token, and the client's next packet has it. Return what is
    wrong.
    """
    tokens = {
        token for each in _of(sent, "retry", from_client=False) for token in each.retry_tokens
    }
    if not tokens:
        return "the server sent no Retry with a token"
    before = -1
    for each in _of(sent, "initial", from_client=True):
        number = each.packet_numbers[0] if each.packet_numbers else -1
        if not each.tokens:
            before = max(before, number)
        elif tokens & set(each.tokens):
            if number <= before:
                return f"the client's packet numbers began again after the Retry, at {number}"
            return None
    return "no Initial packet of the client had the token of the Retry"


def _resumed(sent: Sequence[Datagram]) -> str | None:
    """Check that the second handshake resumed the session, because it has no certificate. Return
    what is wrong.
    """
    first, *later = _scids(sent, "handshake")
    with_certificate = {
        scid
        for each in _of(sent, "handshake", from_client=False)
        if CERTIFICATE in each.handshake_types
        for scid in each.scids
    }
    if first not in with_certificate:
        return "the server sent no certificate in the first handshake"
    if with_certificate & set(later):
        return "the server sent a certificate in the second handshake, which therefore resumed none"
    return None


def _early(sent: Sequence[Datagram]) -> str | None:
    """Check that most requests were sent as early data. Return what is wrong."""
    early_bytes = _bytes_of(sent, "0rtt")
    if early_bytes == 0:
        return "the client sent no early data"
    late_bytes = sum(
        each.lengths[-1] for each in sent if each.from_client and each.has_short and each.lengths
    )
    of_case = CASES["zerortt"]
    most_bytes = of_case.name_bytes * len(of_case.file_bytes) // 2
    if late_bytes > most_bytes:
        return (
            f"the client sent {late_bytes} bytes in 1-RTT packets, more than {most_bytes}, and"
            f" {early_bytes} as early data"
        )
    return None


def _bytes_of(sent: Sequence[Datagram], kind: str) -> int:
    return sum(
        length
        for each in _of(sent, kind, from_client=True)
        for type_, length in zip(each.long_types, each.lengths, strict=False)
        if type_ == kind
    )


def _http3(sent: Sequence[Datagram]) -> str | None:
    chosen = {name for each in sent if not each.from_client for name in each.alpn}
    if chosen != {"h3"}:
        return f"the server chose the application protocols {sorted(chosen) or 'none'}, not h3"
    return None


def _key_update(sent: Sequence[Datagram]) -> str | None:
    changed = {each.from_client for each in sent if each.has_key_phase}
    missing = [name for end, name in ((True, "client"), (False, "server")) if end not in changed]
    if missing:
        return f"the {' and the '.join(missing)} sent no packet with the next keys"
    return None


def _ecn(sent: Sequence[Datagram]) -> str | None:
    """Check that both ends mark packets as ECN-capable, and report the marks that they receive.
    Return what is wrong.
    """
    for end, name, peer in ((True, "client", "server"), (False, "server", "client")):
        marks = {each.ecn for each in sent if each.from_client == end}
        if not marks & {1, 2}:
            return f"the {name} marked no packet as capable of ECN"
        if CE in marks:
            return f"the {name} sent packets marked as congested"
        if not any(each.reports_ecn for each in sent if each.from_client != end):
            return f"the {peer} reported none of the {name}'s marks"
    return None


def _ipv6(sent: Sequence[Datagram]) -> str | None:
    over_ipv4 = sum(not each.is_ipv6 for each in sent)
    return f"{over_ipv4} of {len(sent)} datagrams went over IPv4" if over_ipv4 else None


def _amplification(at_server: Sequence[Datagram]) -> str | None:
    """Check how many bytes the server sent before the client's first Handshake packet, with the
    runner's tolerance. Return what is wrong.
    """
    ends = [each.crypto_end for each in _of(at_server, "handshake", from_client=False)]
    if max(ends, default=0) < LEAST_CHAIN_BYTES:
        return f"the server sent {max(ends, default=0)} bytes of handshake, not the long chain"
    allowed = 0
    for each in at_server:
        if each.from_client:
            if "handshake" in each.long_types:
                return None
            allowed += 4 * each.payload_bytes
            continue
        allowed -= each.payload_bytes
        if allowed < 0:
            return (
                "the server sent more than four times what it had received, where three are allowed"
            )
    return "no Handshake packet of the client reached the server"


def _v2(sent: Sequence[Datagram]) -> str | None:
    """Check that the connection changed from QUIC version 1 to version 2. Return what is wrong."""
    of = {
        (end, kind): {
            version
            for each in _of(sent, kind, from_client=end)
            for type_, version in zip(each.long_types, each.versions, strict=False)
            if type_ == kind
        }
        for end in (True, False)
        for kind in ("initial", "handshake")
    }
    if V1 not in of[True, "initial"]:
        return f"the client's Initial packets have the versions {_hex(of[True, 'initial'])}"
    if V2 not in of[False, "initial"]:
        return f"the server's Initial packets have the versions {_hex(of[False, 'initial'])}"
    for end, name in ((True, "client"), (False, "server")):
        if of[end, "handshake"] != {V2}:
            found = _hex(of[end, "handshake"])
            return f"the {name}'s Handshake packets have the versions {found}, not 2 alone"
    return None


_OF_CASE: Mapping[CaseName, tuple[Check, ...]] = {
    "handshake": (_version, _no_retry),
    "longrtt": (_version, _hello_again),
    "chacha20": (_version, _chacha20),
    "multiplexing": (_version, _stream_limit),
    "retry": (_version, _retry),
    "resumption": (_version, _resumed),
    "zerortt": (_version, _early),
    "http3": (_version, _http3),
    "keyupdate": (_version, _key_update),
    "ecn": (_version, _ecn),
    "ipv6": (_version, _ipv6),
    "v2": (_v2,),
}
