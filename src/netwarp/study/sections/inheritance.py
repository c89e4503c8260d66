"""Completes a path's table with values that it does not set: from a profile, and for the second
path from the first one.

Inherited values keep the place where they were written.
"""

from netwarp.fields import DIRECTIONS
from netwarp.path_profiles import PROFILES
from netwarp.path_properties import BY_KEY, OF_EACH_DIRECTION
from netwarp.study.sections.timeline import halves_ns
from netwarp.study.tables import Table, Written
from netwarp.units import UnitError, parse_duration_ns

_DELAYS = BY_KEY["delay"].keys
_OF_ALL_PATHS = ("second", "timeline", "handovers", "outages")


def completed(path: Table) -> Table:
    """Return a ``[path]`` table with the values of its profile, and its ``second`` with those of
    its own profile and of the first path.

    Raises:
        KeyValueError: a value that must be a table is not one.
    """
    both = _with_profile(path)
    if "second" not in path:
        return both
    second = inherited(path.without(_OF_ALL_PATHS), path.table("second"))
    return both.replaced({"second": Written(_with_profile(second), second.place)})


def inherited(first: Table, second: Table) -> Table:
    """Return the second path's table, with the first path's values for what it does not set.

    A key of the second path replaces every key of the first that sets the same property: ``delay``
    replaces ``rtt``, ``loss`` replaces ``loss_down``.
    """
    below = _split_rtt(first, second)
    for row in OF_EACH_DIRECTION:
        plain, down, up = row.keys
        covered = {f"{plain}_{direction}" for direction in row.plain_key_covers}
        if plain in second:
            below = below.without(covered)
        if covered <= second.keys() or {down, up} <= below.keys() | second.keys():
            below = below.without([plain])
    below = _with_redraw(_with_trace(below, second), second)
    return Table({**second, **below, **second.without(["trace", "redraw"])}, second.place)


def _with_trace(below: Table, second: Table) -> Table:
    """Return the first path's table, merged with the second's trace. A rate of the second path
    replaces an inherited trace, and a trace replaces an inherited rate.
    """
    theirs, own = below.table("trace"), second.table("trace")
    for direction, other in (("down", "up"), ("up", "down")):
        if second.has("rate", f"rate_{direction}"):
            theirs = theirs.without([direction])
        if direction in own:
            rate = below.get("rate")
            below = below.without([f"rate_{direction}", "rate"])
            if rate is not None and not second.has("rate") and f"rate_{other}" not in below:
                below = below.replaced({f"rate_{other}": rate})
    merged = Table({**theirs, **own}, own.place)
    if not merged.has(*DIRECTIONS) and "trace" not in second:
        return below.without(["trace"])
    return below.replaced({"trace": Written(merged, merged.place)})


def _with_redraw(below: Table, second: Table) -> Table:
    """Return the first path's table, merged with the second's redraw. A delay of the second path
    replaces an inherited mean, and a mean replaces an inherited delay.
    """
    theirs, own = below.table("redraw"), second.table("redraw")
    if not theirs and not own:
        return below
    if second.has("rtt", *_DELAYS):
        theirs = theirs.without(["mean"])
    if "mean" in own:
        below = below.without(["rtt", *_DELAYS])
    return below.replaced({"redraw": Written(Table({**theirs, **own}, own.place), own.place)})


def _split_rtt(first: Table, second: Table) -> Table:
    """Return the first path's table without delays that contradict those of the second. If the
    second path sets the delay of one direction, the other direction keeps half of `rtt`.
    """
    if "rtt" in second:
        return first.without(_DELAYS)
    if "rtt" not in first or not second.has(*_DELAYS):
        return first
    rtt, below = first["rtt"], first.without(["rtt"])
    try:
        down_ns, up_ns = halves_ns(parse_duration_ns(rtt.value))
    except UnitError:
        return first  # the check of the first path refuses it, and names its key
    if "delay" in second:
        return below
    halves = {"delay_up": rtt.made(f"{up_ns}ns"), "delay_down": rtt.made(f"{down_ns}ns")}
    return below.replaced(halves)


def _with_profile(path: Table) -> Table:
    """Return a path's table with the values of its profile for keys that it does not have.

    An unknown profile is refused later, by the check of the key `profile`.
    """
    named = path.find("profile")
    profile = next((each for name, each in PROFILES.items() if name == named.value), None)
    if profile is None:
        return path
    found: dict[str, str] = {}
    if path.find("redraw", "mean").value is None and not path.has("rtt", *_DELAYS):
        found["rtt"] = profile.rtt
    for direction, rate in (("down", profile.rate_down), ("up", profile.rate_up)):
        is_traced = path.find("trace", direction).value is not None
        if not is_traced and not path.has("rate", f"rate_{direction}"):
            found[f"rate_{direction}"] = rate
    return path.replaced({key: named.made(value) for key, value in found.items()})
