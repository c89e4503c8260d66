"""Checks of packets: each passes what its case is about, and names what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from netwarp.interop.checks import check, kbit_s
from netwarp.interop.packets import V1, V2, Datagram
from netwarp.interop_cases import CASES, CaseName


def datagram(*long: str, end: str, **values: Any) -> Datagram:
    """Make a datagram with packets of these types with a long header."""
    from_client = end == "client"
    usual: dict[str, Any] = {
        "time_s": 0.0, "payload_bytes": 1200, "is_ipv6": False, "ecn": 0, "has_short": not long,
        "versions": (V1,) * len(long), "scids": ("c1" if from_client else "s1",) * len(long),
        "tokens": (), "retry_tokens": (), "packet_numbers": (0,), "lengths": (1200,),
        "has_key_phase": False, "crypto_end": 0, "begins_crypto": False, "reports_ecn": False,
        "is_undecrypted": False, "handshake_types": (), "ciphersuites": (), "alpn": (),
        "max_streams_bidi": None,
    }  # fmt: skip
    types: Any = long
    return Datagram(from_client=from_client, long_types=types, **{**usual, **values})


HELLO = datagram("initial", end="client", begins_crypto=True, ciphersuites=(0x1303,))
ANSWER = datagram(
    "initial", "handshake", end="server", handshake_types=(2, 8, 11), alpn=("h3",),
    max_streams_bidi=100, crypto_end=8000,
)  # fmt: skip
FINISHED = datagram("handshake", end="client")
DATA = [datagram(end="client"), datagram(end="server")]
USUAL = [HELLO, ANSWER, FINISHED, *DATA]
SECOND = [
    replace(HELLO, scids=("c2",)),
    replace(ANSWER, scids=("s2", "s2"), handshake_types=(2, 8)),
]
RETRY = datagram("retry", end="server", retry_tokens=("aa",))
AGAIN = replace(HELLO, tokens=("aa",), packet_numbers=(1,))
EARLY = datagram("0rtt", end="client", scids=("c2",), lengths=(9000,))
MARKED = [replace(each, ecn=2, reports_ecn=True) for each in USUAL]
OF_V2 = [HELLO, *(replace(each, versions=(V2,) * len(each.long_types)) for each in USUAL[1:])]
RIGHT: dict[CaseName, list[Datagram]] = {
    "handshake": USUAL,
    "transfer": USUAL,
    "longrtt": [HELLO, *USUAL],
    "chacha20": USUAL,
    "multiplexing": USUAL,
    "retry": [HELLO, RETRY, AGAIN, *USUAL[1:]],
    "resumption": [*USUAL, *SECOND],
    "zerortt": [*USUAL, *SECOND, EARLY],
    "http3": USUAL,
    "keyupdate": [*USUAL, *(replace(each, has_key_phase=True) for each in DATA)],
    "ecn": MARKED,
    "ipv6": [replace(each, is_ipv6=True) for each in USUAL],
    "v2": OF_V2,
}
WRONG: list[tuple[CaseName, list[Datagram], str]] = [
    ("handshake", [], "no packet"),
    ("handshake", [HELLO, RETRY, AGAIN, *USUAL[1:]], "sent a Retry"),
    ("handshake", [*USUAL, *SECOND], "began 2 handshakes, not 1"),
    ("handshake", OF_V2, "0x6b3343cf, not 0x1 alone"),
    ("longrtt", [HELLO, replace(HELLO, begins_crypto=False), *USUAL[1:]], "1 times, not twice"),
    ("chacha20", [replace(HELLO, ciphersuites=(0x1301, 0x1303)), *USUAL[1:]], "0x1301, 0x1303"),
    ("multiplexing", [HELLO, replace(ANSWER, max_streams_bidi=2000), *DATA], "2000 streams"),
    ("multiplexing", [HELLO, replace(ANSWER, max_streams_bidi=None), *DATA], "could not be read"),
    ("retry", USUAL, "no Retry with a token"),
    ("retry", [HELLO, RETRY, *USUAL[1:]], "had the token of the Retry"),
    ("retry", [HELLO, RETRY, replace(AGAIN, packet_numbers=(0,)), *USUAL[1:]], "began again"),
    ("resumption", [*USUAL, SECOND[0], replace(ANSWER, scids=("s2", "s2"))], "resumed none"),
    ("zerortt", [*USUAL, *SECOND], "no early data"),
    ("zerortt", [*USUAL, *SECOND, EARLY, *[DATA[0]] * 9], "bytes in 1-RTT packets"),
    ("http3", [HELLO, replace(ANSWER, alpn=("hq-interop",)), *DATA], "not h3"),
    ("keyupdate", USUAL, "the client and the server sent no packet with the next keys"),
    ("ecn", USUAL, "the client marked no packet"),
    ("ecn", [replace(each, reports_ecn=False) for each in MARKED], "reported none"),
    ("ipv6", [*USUAL, replace(HELLO, is_ipv6=True)], "5 of 6 datagrams went over IPv4"),
    ("v2", USUAL, "the server's Initial packets have the versions 0x1"),
]


@pytest.mark.parametrize("case", RIGHT)
def test_what_a_case_is_about_passes(case: CaseName) -> None:
    assert check(case, RIGHT[case], []) is None


@pytest.mark.parametrize(("case", "sent", "words"), WRONG)
def test_what_is_missing_is_said(case: CaseName, sent: list[Datagram], words: str) -> None:
    assert words in (check(case, sent, []) or "")


def test_a_reason_says_how_many_packets_could_not_be_read() -> None:
    unread = [*USUAL, replace(DATA[0], is_undecrypted=True)]
    assert (check("keyupdate", unread, []) or "").endswith(
        "; 1 of 6 datagrams could not be decrypted"
    )
    assert check("transfer", unread, []) is None


def test_a_case_with_a_check_of_its_own_has_a_right_and_a_wrong_example() -> None:
    wrong = {case for case, _, _ in WRONG}
    with_own = {case for case in CASES if CASES[case].client is None and case != "transfer"}
    with_own -= {"amplificationlimit", "goodput"}
    assert with_own <= wrong
    assert with_own <= set(RIGHT)


@pytest.mark.parametrize(
    ("answers", "words"),
    [(3, None), (4, None), (5, "more than four times")],
)
def test_a_server_is_bound_by_what_it_has_received(answers: int, words: str | None) -> None:
    at_server = [HELLO, *[ANSWER] * answers, FINISHED]
    found = check("amplificationlimit", USUAL, at_server)
    assert found is None if words is None else words in (found or "")


def test_a_server_with_a_short_chain_shows_nothing_of_the_limit() -> None:
    at_server = [HELLO, replace(ANSWER, crypto_end=900), FINISHED]
    assert "not the long chain" in (check("amplificationlimit", USUAL, at_server) or "")


def test_goodput_is_the_file_over_the_time_of_the_servers_packets() -> None:
    sent = [*USUAL, datagram(end="server", time_s=2.0), datagram(end="client", time_s=9.0)]
    assert kbit_s("goodput", sent) == pytest.approx(10 * (1 << 20) * 8 / 2.0 / 1000)
    assert kbit_s("goodput", USUAL) is None
