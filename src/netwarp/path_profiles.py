"""Path profiles: round-trip time and rates of typical access networks, each with its source.

They are published or measured examples; other networks of the same kind are different. A study's
own values take precedence over a profile's.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PathProfile:
    """A path profile: round-trip time and rates of a typical access network."""

    rtt: str
    rate_down: str
    rate_up: str
    year: int
    """Year of the numbers; networks of the same kind have become faster since."""
    source: str
    """Source of the numbers."""


_WEBPAGETEST = "WebPageTest, connectivity.ini"
_OOKLA = "medians in the USA, third quarter (Ookla Speedtest Intelligence)"

PROFILES: Mapping[str, PathProfile] = {
    "3g": PathProfile("300ms", "1.6mbit", "768kbit", 2013, f"{_WEBPAGETEST}: 3G"),
    "lte": PathProfile("70ms", "12mbit", "12mbit", 2016, f"{_WEBPAGETEST}: LTE"),
    "5g": PathProfile(
        "47ms", "265.8mbit", "14.56mbit", 2024,
        "T-Mobile's 5G, medians in the USA, first half (Ookla Speedtest Connectivity Report)",
    ),
    "wifi": PathProfile("2ms", "30mbit", "15mbit", 2026, "Firefox, network throttling: Wi-Fi"),
    "dsl": PathProfile("50ms", "1.5mbit", "384kbit", 2011, f"{_WEBPAGETEST}: DSL"),
    "cable": PathProfile("28ms", "5mbit", "1mbit", 2011, f"{_WEBPAGETEST}: Cable"),
    "fibre": PathProfile("4ms", "20mbit", "5mbit", 2011, f"{_WEBPAGETEST}: FIOS"),
    "satellite-geo": PathProfile("629ms", "18.75mbit", "2.96mbit", 2021, f"Viasat, {_OOKLA}"),
    "satellite-leo": PathProfile("44ms", "87.25mbit", "13.54mbit", 2021, f"Starlink, {_OOKLA}"),
    "datacentre": PathProfile(
        "250us", "1gbit", "1gbit", 2010,
        "Alizadeh et al., Data Center TCP, SIGCOMM: RTTs below 250 µs without queueing",
    ),
}  # fmt: skip
