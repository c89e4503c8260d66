"""Counters of what limited a sender: in ticks longer than samples, and after the last sample."""

from __future__ import annotations

from netwarp.metrics.counted_limits import counted_between, shares_after
from netwarp.wire import ConnectionSamples, Stats

MS = 1_000_000


def samples(*rows: tuple[int, int, int, int], has_sent_all: bool = False) -> ConnectionSamples:
    """Return samples, each with its time and the counters busy, window and send buffer, in ms."""
    at_ms, busy_ms, rwnd_ms, sndbuf_ms = zip(*rows, strict=True)
    zeros = (0,) * len(rows)
    return ConnectionSamples(
        record="connection_samples",
        side="server",
        server_port=4433,
        at_ns=tuple(each * MS for each in at_ms),
        cwnd_bytes=zeros,
        ssthresh_bytes=zeros,
        rtt_ns=zeros,
        unacked_bytes=zeros,
        acked_bytes=zeros,
        retrans_packets=zeros,
        pacing_rate_bit_s=zeros,
        busy_ns=tuple(each * MS for each in busy_ms),
        rwnd_limited_ns=tuple(each * MS for each in rwnd_ms),
        sndbuf_limited_ns=tuple(each * MS for each in sndbuf_ms),
        has_sent_all=(has_sent_all,) * len(rows),
    )


def at_end(busy_ms: int, rwnd_ms: int, sndbuf_ms: int) -> Stats:
    return Stats(
        retransmitted_packets=0,
        smoothed_rtt_ns=0,
        min_rtt_ns=0,
        congestion_window_bytes=0,
        busy_ns=busy_ms * MS,
        receive_window_limited_ns=rwnd_ms * MS,
        send_buffer_limited_ns=sndbuf_ms * MS,
    )


def test_ticks_longer_than_the_samples_lose_nothing() -> None:
    """A sender that the window limits all the time, sampled every 5 ms at HZ = 100."""
    seen = samples(*((5 * n, 5 * n // 10 * 10, 5 * n // 10 * 10, 0) for n in range(101)))
    found = counted_between(seen)
    assert sum(each.busy_ns for each in found) == 495 * MS
    assert sum(each.rwnd_ns for each in found) == 495 * MS
    assert all(each.rwnd_ns == 5 * MS for each in found[2:])


def test_parts_are_no_longer_than_the_whole() -> None:
    (found,) = counted_between(samples((0, 0, 0, 0), (100, 80, 60, 40)))
    assert (found.busy_ns, found.rwnd_ns, found.sndbuf_ns) == (80 * MS, 60 * MS, 20 * MS)


def test_the_counters_at_the_end_say_what_came_after_the_last_sample() -> None:
    seen = samples((0, 0, 0, 0), (100, 100, 0, 0))
    assert shares_after(seen, at_end(300, 150, 30)) == (0.75, 0.15)
    assert shares_after(seen, at_end(100, 0, 0)) == (0.0, 0.0)


def test_without_them_the_sender_was_limited_as_before_the_last_sample() -> None:
    rows = ((0, 0, 0, 0), (100, 100, 80, 10))
    assert shares_after(samples(*rows), None) == (0.8, 0.1)
    assert shares_after(samples(*rows, has_sent_all=True), None) == (0.0, 0.0)
    assert shares_after(samples(rows[0]), None) == (0.0, 0.0)
