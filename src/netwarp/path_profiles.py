"""Path profiles: round-trip time and rates of typical access networks, each with its source.

They are published or measured examples, and other networks of the kind differ. A study's own values
take precedence over a profile's.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PathProfile:
    """The properties of a path profile."""

    rtt: str
    rate_down: str
    rate_up: str
    source: str
    """Source of the numbers."""


_WEBPAGETEST = "WebPageTest, connectivity.ini"
_OOKLA = "medians in the USA, third quarter of 2021 (Ookla Speedtest Intelligence)"

PROFILES: Mapping[str, PathProfile] = {
    "3g": PathProfile("300ms", "1.6mbit", "768kbit", f"{_WEBPAGETEST}: 3G"),
    "lte": PathProfile("70ms", "12mbit", "12mbit", f"{_WEBPAGETEST}: LTE"),
    "5g": PathProfile(
        "47ms", "265.8mbit", "14.56mbit",
        "T-Mobile's 5G, medians in the USA, first half of 2024"
        " (Ookla Speedtest Connectivity Report)",
    ),
    "wifi": PathProfile("2ms", "30mbit", "15mbit", "Firefox, network throttling: Wi-Fi"),
    "dsl": PathProfile("50ms", "1.5mbit", "384kbit", f"{_WEBPAGETEST}: DSL"),
    "cable": PathProfile("28ms", "5mbit", "1mbit", f"{_WEBPAGETEST}: Cable"),
    "fibre": PathProfile("4ms", "20mbit", "5mbit", f"{_WEBPAGETEST}: FIOS"),
    "satellite-geo": PathProfile("629ms", "18.75mbit", "2.96mbit", f"Viasat, {_OOKLA}"),
    "satellite-leo": PathProfile("44ms", "87.25mbit", "13.54mbit", f"Starlink, {_OOKLA}"),
    "datacentre": PathProfile(
        "250us", "1gbit", "1gbit",
        "Alizadeh et al., Data Center TCP, SIGCOMM 2010: RTTs below 250 µs without queueing",
    ),
}  # fmt: skip
