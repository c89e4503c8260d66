"""Lays a path profile's values under those of a path's own table."""

from __future__ import annotations

from netwarp.path_profiles import PROFILES
from netwarp.path_properties import BY_KEY
from netwarp.study.tables import Table

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
