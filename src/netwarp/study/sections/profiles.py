"""Path profiles: round-trip time and rates of typical access networks, each with its source.

They are published or measured examples, and other networks of the kind differ. A study's own values
take precedence over a profile's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netwarp.fields import ProfileName
from netwarp.path_properties import BY_KEY
from netwarp.study.tables import Table


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

PROFILES: Mapping[ProfileName, PathProfile] = {
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

# Keys that set the delay in place of the profile.
_DELAYS = (*BY_KEY["rtt"].keys, *BY_KEY["delay"].keys)


def with_profile(path: Table) -> Table:
    """Add the values of a path's profile to its table, for keys that the table does not have.

    An unknown profile is left for the check of the key `profile` to refuse.
    """
    named = path.find("profile")
    profile = next((each for name, each in PROFILES.items() if name == named.value), None)
    if profile is None:
        return path
    found: dict[str, str] = {}
    if path.find("redraw", "mean").value is None and not path.has(*_DELAYS):
        found["rtt"] = profile.rtt
    for direction, rate in (("down", profile.rate_down), ("up", profile.rate_up)):
        is_traced = path.find("trace", direction).value is not None
        if not is_traced and not path.has("rate", f"rate_{direction}"):
            found[f"rate_{direction}"] = rate
    return path.replaced({key: named.made(value) for key, value in found.items()})
