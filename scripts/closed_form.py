"""What the textbooks say a transfer takes, to hold the guest against."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

ETHERNET_BYTES = 14
MTU_BYTES = 1500
# Bytes of content in a full packet. TCP: IP, TCP, timestamps. TLS: a 16 KiB record adds 22 bytes
# (RFC 8446, 5.2). SCTP: IP, common header, DATA header; 16 KiB messages are cut up one by one, and
# the short last packet of each costs a little more. QUIC (RFC 9000, 17.3):
# IP, UDP, short header with an 8-byte connection id and packet number, STREAM header, AEAD tag.
PAYLOAD_BYTES = {
    "tcp": 1448.0,
    "tls": 1448.0 * 16384 / (16384 + 22),
    "sctp": 1452.0,
    "quic": 1472.0 - 33,
}
CONNECT_RTTS = {"tcp": 1, "tls": 2, "sctp": 2, "quic": 1}
# SCTP: a packet may be sent while less than the window, here 4380 bytes, is in flight
# (RFC 9260, 6.1, rule B).
INITIAL_WINDOW_PACKETS = {"tcp": 10, "tls": 10, "sctp": 4, "quic": 10}
# Slow start doubles the window in a round trip when every packet that arrives opens it by one;
# the kernel's SCTP opens it by one for every SACK, and sends one for two packets.
GROWTH = {"tcp": 2.0, "tls": 2.0, "sctp": 1.5, "quic": 2.0}


def lossless_completion_s(
    transport: str, *, size_bytes: int, rate_bit_s: float, rtt_s: float
) -> float:
    """Time from dialling to the last byte: set-up, request, slow start, and the rest at full rate.

    While a window lasts less than a round trip, the bottleneck idles for the difference; after
    that it is never idle (Cardwell, Savage, Anderson, "Modeling TCP latency", 2000, without loss).
    """
    packets = ceil(size_bytes / PAYLOAD_BYTES[transport])
    packet_s = (MTU_BYTES + ETHERNET_BYTES) * 8 / rate_bit_s
    idle_s = 0.0
    window = float(INITIAL_WINDOW_PACKETS[transport])
    sent = 0.0
    while window * packet_s < rtt_s and sent + window < packets:
        idle_s += rtt_s - window * packet_s
        sent += window
        window *= GROWTH[transport]
    return (CONNECT_RTTS[transport] + 1) * rtt_s + packets * packet_s + idle_s


def pftk_goodput_bit_s(
    *, loss: float, rtt_s: float, mss_bytes: int, rto_s: float = 0.3, acked: int = 1
) -> float:
    """Steady-state rate of Reno, Padhye, Firoiu, Towsley, Kurose 1998, equation 32.

    Args:
        loss: probability that a packet is lost.
        rtt_s: round-trip time.
        mss_bytes: content of a packet.
        rto_s: retransmission time-out; Linux: RTT plus at least 200 ms.
        acked: packets a cumulative ACK covers; the formula's b. Linux opens its window by what is
            acknowledged (RFC 3465), as if it were 1.
    """
    sharp = rtt_s * sqrt(2 * acked * loss / 3)
    time_outs = rto_s * min(1, 3 * sqrt(3 * acked * loss / 8)) * loss * (1 + 32 * loss**2)
    return mss_bytes * 8 / (sharp + time_outs)


def uniform_share(delay_s: float, *, mean_s: float, spread_s: float) -> float:
    """Return the share of delays up to `delay_s` that are uniform within `spread_s` of a mean."""
    return min(max((delay_s - mean_s + spread_s) / (2 * spread_s), 0.0), 1.0)


def in_order_share(delay_s: float, *, mean_s: float, spread_s: float, interval_s: float) -> float:
    """Return the share of delays up to `delay_s` of packets that are sent every `interval_s`, draw
    uniform delays independently, and do not overtake.

    A packet arrives when the last of it and all before it would: its delay is the largest of
    D(0), D(1) - T, D(2) - 2 T …, which are independent, so their shares multiply.
    """
    share, earlier_s = 1.0, 0.0
    while delay_s + earlier_s < mean_s + spread_s:
        share *= uniform_share(delay_s + earlier_s, mean_s=mean_s, spread_s=spread_s)
        earlier_s += interval_s
    return share


def quantile_s(
    share: Callable[[float], float], wanted: float, mean_s: float, spread_s: float
) -> float:
    """Return the delay up to which there is a share of all, within `spread_s` of a mean."""
    low_s, high_s = mean_s - spread_s, mean_s + spread_s
    for _ in range(60):
        middle_s = (low_s + high_s) / 2
        low_s, high_s = (middle_s, high_s) if share(middle_s) < wanted else (low_s, middle_s)
    return high_s
