"""Suggests the key, level, metric, unit, option or command that a user probably meant."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

MOST_CHARACTERS = 100
"""Maximum number of characters of a word for which suggestions are looked for: the time grows with
the square of the length."""
NEAR = 0.65
"""Minimum similarity of a suggestion: two equal letters of three are enough (`tpc` for `tcp`)."""
SHARED_WORD = 0.35
"""Amount by which the similarity of two names increases if they have a word in common, as `rtt` in
`smoothed_rtt` and `path_min_rtt`."""
# Words in names that do not count as common words, mostly units.
_COMMON = frozenset({"", "s", "ms", "ns", "bit", "bytes", "max", "min", "mean"})
# Other tools' words, and netwarp's words for the same.
OTHER_NAMES = {
    "4g": ("lte",),
    "algorithm": ("congestion",),
    "bandwidth": ("rate",),
    "bps": ("bit",),
    "buffer": ("queue",),
    "bw": ("rate",),
    "capacity": ("rate",),
    "cc": ("congestion",),
    "cca": ("congestion",),
    "cwnd": ("initial_window",),
    "drop": ("loss",),
    "duration": ("completion_time_s",),
    "fct": ("completion_time_s",),
    "g": ("gbit",),
    "gbps": ("gbit",),
    "h2": ("tls",),
    "h3": ("quic",),
    "http3": ("quic",),
    "https": ("tls",),
    "iterations": ("replicates",),
    "k": ("kbit",),
    "kbps": ("kbit",),
    "latency": ("rtt", "path_min_rtt_s"),
    "limit": ("queue",),
    "m": ("min", "mbit"),
    "mbps": ("mbit",),
    "msec": ("ms",),
    "output": ("out",),
    "packet_loss": ("loss",),
    "parallel": ("chunks", "jobs"),
    "ping": ("rtt",),
    "plot": ("figure",),
    "plr": ("loss",),
    "protocol": ("transport",),
    "qdisc": ("discipline",),
    "repeat": ("replicates",),
    "repetitions": ("replicates",),
    "retransmissions": ("retransmitted_packets",),
    "retransmits": ("retransmitted_packets",),
    "runs": ("replicates",),
    "sec": ("s",),
    "seconds": ("s",),
    "smoothed_rtt": ("rtt_under_load_s_p50",),
    "smoothed_rtt_s": ("rtt_under_load_s_p50",),
    "speed": ("rate",),
    "srtt": ("rtt_under_load_s_p50",),
    "throughput": ("goodput_bit_s", "rate"),
    "time": ("completion_time_s",),
    "usec": ("us",),
}


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar known word; None if none is similar enough.

    Words of other tools with the same meaning have precedence over spelling; case, ``-`` and ``/s``
    are ignored.
    """
    asked = _plain(word)
    names = {_plain(name): name for name in known}
    for other in OTHER_NAMES.get(asked, ()):
        if other in names:
            return names[other]
    # A word of two letters is not similar to a word that is one of these letters.
    scored = [
        (_nearness(asked, plain), -place, plain)
        for place, plain in enumerate(names)
        if len(plain) > 1 or plain == asked
    ]
    best, _, plain = max(scored, default=(0.0, 0, ""))
    return names[plain] if best >= NEAR else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion of the nearest known word as text, or of all if none is near."""
    known = list(known)
    near = nearest(word, known)
    return f'did you mean "{near}"?' if near else f"known: {', '.join(known) or 'none'}"


def _plain(word: str) -> str:
    lower = word[:MOST_CHARACTERS].strip().lower().removesuffix("/s")
    return lower.lstrip("-").replace("-", "_")


def _nearness(asked: str, known: str) -> float:
    """Return the similarity of two words: 0 to 1 by spelling, and more for common words."""
    mine, theirs = _words(asked), _words(known)
    spelling = SequenceMatcher(None, "_".join(mine), "_".join(theirs)).ratio()
    shared = set(mine) & set(theirs)
    return spelling + (SHARED_WORD if shared and (len(mine) > 1 or len(theirs) > 1) else 0.0)


def _words(name: str) -> list[str]:
    words = re.split(r"[_.\s]+", name)
    return [word for word in words if word not in _COMMON] or words
