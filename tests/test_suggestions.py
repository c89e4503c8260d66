"""The word that somebody probably meant."""

from __future__ import annotations

import pytest

from netwarp.cli.commands import COMMANDS, load_command
from netwarp.metrics import METRICS
from netwarp.suggestions import OTHER_NAMES, did_you_mean, nearest
from netwarp.transports import TRANSPORTS

OPTIONS = [each for param in load_command("compare").params for each in param.opts]
UNITS = ["ns", "us", "ms", "s", "min", "h"]


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("--bandwidth", OPTIONS, "--rate"),
        ("--rate_up", OPTIONS, "--rate-up"),
        ("--transports", OPTIONS, "--transport"),
        ("--nonsense", OPTIONS, None),
        ("rn", COMMANDS, "run"),
        ("reproduct", COMMANDS, "reproduce"),
        ("smoothed_rtt_s", METRICS, "rtt_under_load_s_p50"),
        ("completion_time", METRICS, "completion_time_s"),
        ("throughput", METRICS, "goodput_bit_s"),
        ("xyz", METRICS, None),
        ("tpc", TRANSPORTS, "tcp"),
        ("http3", TRANSPORTS, "quic"),
        ("msec", UNITS, "ms"),
        ("m", UNITS, "min"),
        ("Mbit/s", ["bit", "kbit", "mbit", "gbit"], "mbit"),
        ("XB", ["b", "kb", "mb"], None),
        ("B", ["b", "kb", "mb"], "b"),
        ("x" * 100_000, METRICS, None),
        ("", METRICS, None),
    ],
)
def test_the_nearest_word(word: str, known: list[str], meant: str | None) -> None:
    assert nearest(word, known) == meant


def test_without_a_near_word_all_are_named() -> None:
    assert did_you_mean("xyz", ["tcp", "quic"]) == "known: tcp, quic"
    assert did_you_mean("xyz", []) == "known: none"


def test_what_another_name_stands_for_exists() -> None:
    options = {option.lstrip("-").replace("-", "_") for option in OPTIONS}
    units = {*UNITS, "bit", "kbit", "mbit", "gbit"}
    known = {*options, *units, *METRICS, *TRANSPORTS, *COMMANDS, "lte", "initial_window"}
    assert {meant for names in OTHER_NAMES.values() for meant in names} <= known
