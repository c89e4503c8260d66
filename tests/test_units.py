"""Quantities with units, both ways."""

from decimal import Decimal

import pytest

from netwarp.units import (
    QueueLength,
    UnitError,
    format_duration,
    format_size,
    older_sizes_in_bytes,
    parse_duration_ns,
    parse_queue,
    parse_rate_bit_s,
    parse_ratio,
    parse_size_bytes,
)


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("100ms", 100_000_000),
        ("0.1ms", 100_000),
        ("1.5s", 1_500_000_000),
        ("250us", 250_000),
        ("250µs", 250_000),
        ("7ns", 7),
        ("2 min", 120_000_000_000),
        ("24h", 86_400_000_000_000),
        ("0ms", 0),
        (0, 0),
    ],
)
def test_durations_are_exact_nanoseconds(text: object, duration_ns: int) -> None:
    assert parse_duration_ns(text) == duration_ns


@pytest.mark.parametrize(
    ("text", "rate_bit_s"),
    [
        ("50mbit", 50_000_000),
        ("50Mbit/s", 50_000_000),
        ("1.5gbit", 1_500_000_000),
        ("8bit", 8),
        ("unlimited", None),
    ],
)
def test_rates_are_decimal_bits_per_second(text: str, rate_bit_s: int | None) -> None:
    assert parse_rate_bit_s(text) == rate_bit_s


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("10MB", 10_000_000), ("64kB", 64_000), ("64KiB", 65_536), ("4MiB", 4_194_304), ("1B", 1)],
)
def test_sizes_are_decimal_unless_binary_is_written(text: str, size_bytes: int) -> None:
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "ratio"), [("5%", 0.05), ("0.1 %", 0.001), ("100%", 1.0), ("0%", 0.0), (0, 0.0)]
)
def test_percentages_are_ratios(text: object, ratio: float) -> None:
    assert parse_ratio(text) == ratio


@pytest.mark.parametrize(
    ("text", "queue"),
    [
        ("1bdp", QueueLength(Decimal(1), "bdp")),
        ("0.25BDP", QueueLength(Decimal("0.25"), "bdp")),
        ("64kB", QueueLength(Decimal(64_000), "bytes")),
        ("1000p", QueueLength(Decimal(1000), "packets")),
    ],
)
def test_queues_are_bdps_bytes_or_packets(text: str, queue: QueueLength) -> None:
    assert parse_queue(text) == queue


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (parse_duration_ns, "-5ms", "negative"),
        (parse_duration_ns, "100", "the unit is missing"),
        (parse_duration_ns, "100mbit", 'unknown unit "mbit"'),
        (parse_duration_ns, "0.5ns", "finer than a nanosecond"),
        (parse_duration_ns, "fast", "not a duration"),
        (parse_duration_ns, True, "not a duration"),
        (parse_duration_ns, "999999999999h", "too large"),
        (parse_rate_bit_s, "0mbit", "at least 8bit"),
        (parse_rate_bit_s, "50MB", 'unknown unit "MB"'),
        (parse_rate_bit_s, "50mbps", 'unknown unit "mbps"'),
        (parse_size_bytes, "0B", "at least 1B"),
        (parse_size_bytes, "1.5B", "finer than one byte"),
        (parse_size_bytes, "10Mb", '"Mb" are megabits'),
        (parse_size_bytes, "1.5Gb", '"Gb" are gigabits'),
        (parse_size_bytes, "64 kb", '"kb" are kilobits'),
        (parse_queue, "64kb", '"kb" are kilobits'),
        (parse_ratio, "120%", "more than 100 %"),
        (parse_ratio, "-1%", "negative"),
        (parse_ratio, 0.05, "the unit is missing"),
        (parse_ratio, False, "not a percentage"),
        (parse_queue, "0p", "at least one packet"),
        (parse_queue, "1.5p", "finer than one packet"),
        (parse_queue, "1bit", 'unknown unit "bit"'),
    ],
)
def test_what_cannot_be_read_says_why_and_what_would_be_right(
    parse: object, text: object, reason: str
) -> None:
    assert callable(parse)
    with pytest.raises(UnitError) as caught:
        parse(text)
    assert reason in caught.value.reason
    assert caught.value.remedy.startswith("write ")


def test_a_size_in_bits_is_told_what_it_is_in_bytes() -> None:
    with pytest.raises(UnitError, match=r'write "1\.25MB", or "10MB" for bytes'):
        parse_size_bytes("10Mb")
    assert parse_size_bytes("10mb") == parse_size_bytes("10MB")


@pytest.mark.parametrize("text", ["100ms", "1.5s", "250us", "7ns", "0s", "0.001234567s"])
def test_durations_survive_the_round_trip(text: str) -> None:
    duration_ns = parse_duration_ns(text)
    assert parse_duration_ns(format_duration(duration_ns)) == duration_ns


def test_quantities_are_written_as_people_write_them() -> None:
    assert format_duration(100_000_000) == "100ms"
    assert format_size(10_000_000) == "10MB"
    assert format_size(4 << 20) == "4MiB"
    assert format_size(0) == "0B"
    assert str(parse_queue("64kB")) == "64kB"
    assert str(parse_queue("0.25bdp")) == "0.25bdp"


@pytest.mark.parametrize("text", ["١٠ms", "1٠ms", "²ms", "1" * 5_000_000 + "ms", 2**70, -(2**70)])
def test_what_no_quantity_needs_is_refused_at_once(text: object) -> None:
    """Python reads digits of any script, and millions of them."""
    for parse in (parse_duration_ns, parse_rate_bit_s, parse_size_bytes, parse_ratio, parse_queue):
        with pytest.raises(UnitError):
            parse(text)


def test_sizes_of_an_older_study_are_bytes_as_they_were() -> None:
    kept = {
        "title": "10 Mb of it",
        "workload": {"size": "10Mb"},
        "factors": {"path.queue": ["1kb"]},
    }
    read = older_sizes_in_bytes(kept)
    assert read["title"] == kept["title"]
    assert (read["workload"]["size"], read["factors"]["path.queue"]) == ("10MB", ["1kB"])
