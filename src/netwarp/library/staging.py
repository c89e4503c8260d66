"""Reads the options that determine how, and until when, replicates are added."""

from netwarp.errors import InputError
from netwarp.estimate.staging import Staging, TimeLimit
from netwarp.execution import time_limits
from netwarp.units import NS_PER_S, option_value, parse_duration_ns, parse_ratio


def staging_of(precision: str | None, decide: bool, max_time: str | None) -> Staging | None:
    """Return how replicates are added; None if no option asks for it.

    Raises:
        InputError: precision and decision are both asked for, the precision is not a share above 0,
            or there is a time limit but no replicates are added.
    """
    if max_time is not None and precision is None and not decide:
        raise InputError(
            f"--max-time {max_time}: no replicates are added without --decide or --precision;"
            " give one of them, or drop it"
        )
    limit = time_limit(max_time)
    if precision is None:
        return Staging(limit=limit) if decide else None
    if decide:
        raise InputError("--precision and --decide: replicates are added for one of them; drop one")
    wanted = option_value("--precision", precision, parse_ratio)
    if wanted <= 0:
        raise InputError(f"--precision {precision}: no number of replicates reaches it; give 5%")
    return Staging(wanted, limit)


def time_limit(max_time: str | None, times: int = 1) -> TimeLimit | None:
    """Return the time limit in `--max-time`, multiplied by a number; it begins now. None if the
    option is not given.

    Raises:
        InputError: the value is not a duration.
    """
    if max_time is None:
        return None
    length_ns = option_value("--max-time", max_time, parse_duration_ns)
    return time_limits.time_limit(times * length_ns / NS_PER_S)
