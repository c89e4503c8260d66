"""What is concluded from datagrams, against paths and clocks that are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netwarp.backends.remote.datagrams import (
    ECHO,
    HEADERS_BYTES,
    TRAIN_BYTES,
    Datagram,
    Echo,
    clock_offset,
    matched,
    train_rate_bit_s,
)

delays = st.integers(min_value=1, max_value=10**8)


def echo(sent_ns: int, up_ns: int, held_ns: int, down_ns: int, offset_ns: int) -> Echo:
    """Give an echo over a path with these delays, to a server whose clock is ahead by so much."""
    arrived = sent_ns + up_ns + offset_ns
    returned = arrived + held_ns
    return Echo(sent_ns, arrived, returned, returned - offset_ns + down_ns)


@given(
    st.lists(st.tuples(delays, delays, delays), min_size=1, max_size=20),
    st.integers(min_value=-(10**15), max_value=10**15),
)
def test_the_offset_lies_within_the_bounds_whatever_the_delays(
    ways: list[tuple[int, int, int]], offset_ns: int
) -> None:
    echoes = [echo(i * 10**9, up, held, down, offset_ns) for i, (up, held, down) in enumerate(ways)]
    found = clock_offset(echoes)
    assert found is not None
    assert found.least_ns <= offset_ns <= found.most_ns
    assert abs(found.middle_ns - offset_ns) <= found.uncertainty_ns
    quickest_ns = min(up + down for up, _, down in ways)
    assert found.most_ns - found.least_ns <= quickest_ns
    assert [each.rtt_ns for each in echoes] == [up + down for up, _, down in ways]


def test_clocks_that_drift_leave_the_bounds_of_the_quickest() -> None:
    early, late = echo(0, 10, 0, 10, 0), echo(100, 5, 0, 5, 50)
    found = clock_offset([early, late])
    assert found is not None
    assert (found.least_ns, found.most_ns) == (45, 55)
    assert clock_offset([]) is None


def test_bounds_of_two_times_hold_between_them() -> None:
    first, second = clock_offset([echo(0, 5, 0, 5, 0)]), clock_offset([echo(0, 5, 0, 5, 20)])
    assert first is not None
    assert second is not None
    spanning = first.spanning(second)
    assert (spanning.least_ns, spanning.most_ns) == (-5, 25)


@pytest.mark.parametrize("rate_bit_s", [1_000_000, 100_000_000])
def test_a_train_tells_the_rate_of_the_link_that_spread_it(rate_bit_s: int) -> None:
    apart_ns = 8 * (TRAIN_BYTES + HEADERS_BYTES) * 10**9 // rate_bit_s
    found = train_rate_bit_s([apart_ns * index for index in range(48)])
    assert found == pytest.approx(rate_bit_s, rel=0.001)


def test_too_short_a_train_tells_nothing() -> None:
    assert train_rate_bit_s([]) is None
    assert train_rate_bit_s([1, 2]) is None
    assert train_rate_bit_s([7, 7, 7]) is None


def test_answers_count_once_and_by_our_own_note_of_when_we_asked() -> None:
    answer = Datagram(b"t" * 16, ECHO, 1, sent_ns=999, arrived_ns=50, returned_ns=51)
    unasked = Datagram(b"t" * 16, ECHO, 2)
    echoes = matched({1: 10}, [(answer, 90), (answer, 95), (unasked, 96)])
    assert echoes == [Echo(10, 50, 51, 90)]
