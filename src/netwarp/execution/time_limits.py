"""Time limits for adding replicates, by the monotonic clock."""

import time

from netwarp.estimate.staging import TimeLimit


def time_limit(length_s: float) -> TimeLimit:
    """Return a time limit that begins now."""
    return TimeLimit(length_s, time.monotonic() + length_s)


def share(limit: TimeLimit, part: float) -> TimeLimit:
    """Return a time limit that begins now, with a share (0 to 1) of the time that is left of
    another one.
    """
    now_s = time.monotonic()
    left_s = max(0.0, limit.until_s - now_s)
    return TimeLimit(limit.length_s, now_s + part * left_s, is_share=True)


def is_over(limit: TimeLimit) -> bool:
    """Return whether a time limit has been reached."""
    return time.monotonic() >= limit.until_s
