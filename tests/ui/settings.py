"""Settings of the page, as somebody might turn and type them, each from its seed."""

from __future__ import annotations

import random
from collections.abc import Mapping

from netwarp.ui.knobs import GROUPS, KINDS, Knob, implied_kinds, kinds_of

Pairs = list[tuple[str, str]]

TYPED: Mapping[str, tuple[str, ...]] = {
    "rtt": ("33ms", "250us", "20ms,90ms", "1.5s", "0", "fast"),
    "rate": ("3mbit", "7.5mbit", "5mbit,20mbit", "fast", "0"),
    "loss": ("0%,2%", "gemodel 1% 30%", "every 50", "120%", "-1%", "1"),
    "queue": ("20p", "64kB", "1bdp,4bdp", "0p", "long"),
    "discipline": ("fifo,codel", "red", "dualpi2"),
    "jitter": ("3ms", "1s", "-2ms"),
    "profile": ("lte,3g", "5g", "4g"),
    "transport": ("quic,tcp", "udp", "tcp,tcp", "mptcp", "udp,quic", "carrier-pigeon"),
    "congestion": ("cubic,reno", "dctcp", "vegas", "none"),
    "size": ("64kB", "1B", "10kB,100kB", "-1MB", "0B", "big"),
    "page": ("nam-2021,web-30", "web-31"),
    "http": ("3", "1.1,3", "4"),
    "stream": ("bola,delay", "netflix"),
    "requests": ("2kB,4kB", "70kB", "1B"),
    "flow": ("64kbit,128kbit", "0", "quick"),
    "interval": ("15ms", "0", "10ms,30ms"),
    "direction": ("sideways",),
    "shape": ("incast:3,incast:5", "ring:3", "dumbbell", "chain:200", "parking-lot:3"),
    "stop": ("1s", "0s", "soon"),
    "replicates": ("2", "0", "many", "500"),
}
"""What is typed into each knob: valid and not."""
OTHERS: Mapping[str, tuple[str, ...]] = {
    "mtu": ("1280", "9000", "100"), "loss_up": ("1%",), "chunks": ("4", "0"), "resume": ("1rtt",),
    "dial": ("parallel",), "streams": ("4",), "ip": ("4,6", "6"), "duration": ("2s",),
    "arrivals": ("poisson",), "payload": ("160B", "5B"), "watch": ("10s",),
    "set": ("transport.ecn=true", "path.nothing=1", "x"), "seed": ("7", "-1"),
    "metric": ("completion_time_s", "nothing"), "expect": ("completion_time_s < 5 s", "better"),
    "against": ("path.loss=0%", "transport.kind=tcp"), "verify": ("no",),
}  # fmt: skip
"""What is typed below "More options"."""
SHORT: Mapping[str, str] = {
    "size": "100kB", "replicates": "1", "duration": "1s", "watch": "6s", "stop": "1s",
}  # fmt: skip
"""Values that a run for a test has unless others are drawn."""


def settings(seed: int) -> Pairs:
    """Return the pairs of an address."""
    drawn = random.Random(seed)  # noqa: S311 - knobs
    kind = drawn.choice(list(KINDS))
    asking = next((name for name, of in implied_kinds() if of == kind), None)
    given = {name: value for name, value in SHORT.items() if name in ("size", "replicates")}
    if kind != next(iter(KINDS)):
        del given["size"]
    for knob in (knob for knobs in GROUPS.values() for knob in knobs):
        is_turned = knob.option == asking or drawn.random() < 0.3
        if is_turned and kind in kinds_of(knob.row):
            given[knob.option] = _value(knob, drawn)
    for name, values in OTHERS.items():
        if drawn.random() < 0.015:
            given[name] = drawn.choice(values)
    return [(name, value) for name, value in given.items() if value]


def _value(knob: Knob, drawn: random.Random) -> str:
    typed = TYPED[knob.option]
    if drawn.random() < 0.06 or not knob.offers:
        return drawn.choice(typed)
    if knob.option == "transport":
        return ",".join(drawn.sample(list(knob.offers), drawn.randrange(1, 3)))
    if knob.option in ("size", "replicates"):
        return SHORT[knob.option]
    return drawn.choice([each for each in knob.offers if each])


def shortened(pairs: Pairs) -> Pairs:
    """Return the same setting with runs that are short enough for a test."""
    kinds = {of for name, of in implied_kinds() for given, _ in pairs if given == name}
    asked = {"flow": "duration", "rr": "duration", "stream": "watch"}
    names = [asked[kind] for kind in kinds if kind in asked]
    if any(name == "shape" and value.startswith(("dumb", "park")) for name, value in pairs):
        names.append("stop")
    given = dict(pairs) | {name: SHORT[name] for name in names}
    return list(given.items())
