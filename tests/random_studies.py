"""Strategies for studies of one cell, with values at the edge of what a key takes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Table = dict[str, Any]
PLAIN: Table = {
    "title": "plain",
    "path": {"rtt": "100ms"},
    "transport": {"kind": "tcp"},
    "workload": {"kind": "bulk", "size": "1MB"},
}

PERIODS = st.sampled_from(
    ["1ns", "1ms", "1.5ms", "20ms", "100ms", "2147483647ns", "3s", "1000h", "2562047h"]
)
DURATIONS = st.one_of(st.just("0ns"), PERIODS)
RATIOS = st.sampled_from(["0%", "0.0001%", "1%", "50%", "100%"])
SIZES = st.sampled_from(
    ["1B", "8B", "9B", "463B", "464B", "4095B", "4kB", "16KiB", "1MB", "4MiB", "1GiB", "2GB", "8GB"]
)
RATES = st.sampled_from(["unlimited", "8bit", "9bit", "56kbit", "10mbit", "400gbit"])
QUEUES = st.sampled_from(["1bdp", "0.01bdp", "64kB", "1B", "1p", "1000p"])
LOSS_MODELS = ("gemodel 1% 30%", "gemodel 0% 100% 50% 1%", "every 2", "packets 1 7 4294967295")
LOSSES = st.one_of(RATIOS, st.sampled_from(LOSS_MODELS))
REORDERS = st.one_of(
    RATIOS,
    st.fixed_dictionaries({"ratio": RATIOS}, optional={"correlation": RATIOS, "gap": st.just(5)}),
)
MTUS = st.sampled_from([576, 1228, 1280, 1500, 9000, 65535])
MSSES = st.sampled_from([88, 100, 463, 464, 536, 1200, 1460, 8960, 32767, 32768, 40000, 65495])

IMPAIRMENTS: dict[str, st.SearchStrategy[Any]] = {
    "delay": DURATIONS,
    "delay_down": DURATIONS,
    "delay_up": DURATIONS,
    "jitter": DURATIONS,
    "jitter_up": DURATIONS,
    "jitter_order": st.sampled_from(["kept", "free"]),
    "distribution": st.sampled_from(["uniform", "normal", "pareto", "paretonormal"]),
    "jitter_correlation": RATIOS,
    "aggregate": DURATIONS,
    "aggregate_up": DURATIONS,
    "link_loss": RATIOS,
    "link_repair": DURATIONS,
    "policer": SIZES,
    "ack_filter": st.sampled_from(["kept", "dropped"]),
    "loss": LOSSES,
    "loss_up": LOSSES,
    "loss_correlation": RATIOS,
    "rate": RATES,
    "rate_down": RATES,
    "rate_up": RATES,
    "queue": QUEUES,
    "queue_up": QUEUES,
    "reorder": REORDERS,
    "duplicate": RATIOS,
    "corrupt": RATIOS,
    "redraw": st.fixed_dictionaries(
        {"period": PERIODS, "deviation": DURATIONS}, optional={"mean": DURATIONS}
    ),
}
HANDOVERS = st.fixed_dictionaries(
    {"every": PERIODS, "count": st.integers(0, 5)},
    optional={
        "first": DURATIONS,
        "overlap": DURATIONS,
        "gap": DURATIONS,
        "jitter": DURATIONS,
    },
)
OUTAGES = st.fixed_dictionaries(
    {"every": PERIODS, "length": PERIODS, "count": st.integers(0, 5)},
    optional={"first": DURATIONS, "path": st.sampled_from([1, 2]), "jitter": DURATIONS},
)
ENTRY = st.one_of(
    st.fixed_dictionaries(
        {"at": DURATIONS, "change": st.sampled_from(["outage", "restore"])},
        optional={"path": st.sampled_from([1, 2])},
    ),
    st.fixed_dictionaries({"at": DURATIONS, "change": st.just("delay"), "rtt": DURATIONS}),
    st.fixed_dictionaries({"at": DURATIONS, "change": st.just("rate"), "rate": RATES}),
)
TRANSPORT: dict[str, st.SearchStrategy[Any]] = {
    "buffer": SIZES,
    "initial_window": st.sampled_from([1, 2, 10, 1000]),
    "mss": MSSES,
    "nodelay": st.booleans(),
    "resume": st.sampled_from(["none", "1rtt", "0rtt"]),
    "reconnect": st.sampled_from(["new", "migrate"]),
}
TCP: dict[str, st.SearchStrategy[Any]] = {
    "congestion": st.sampled_from(["cubic", "reno", "bbr", "dctcp"]),
    "preset": st.just("tcp-2008"),
    "sack": st.just(False),
    "timestamps": st.booleans(),
    "window_scaling": st.booleans(),
    "recovery": st.sampled_from(["rack", "classic"]),
    "hystart": st.booleans(),
    "tso_packets": st.sampled_from([0, 1, 2, 44, 65535, 65536]),
}
SCTP: dict[str, st.SearchStrategy[Any]] = {
    "streams": st.sampled_from([1, 2, 100, 101, 200, 65535]),
    "max_message": SIZES,
    "unordered": st.booleans(),
    "rto_initial": DURATIONS,
    "rto_min": DURATIONS,
    "rto_max": DURATIONS,
    "multihomed": st.booleans(),
}
OPTIONS = {"tcp": TCP, "tls": TCP, "mptcp": TCP, "sctp": SCTP, "quic": {}}
BULK: dict[str, st.SearchStrategy[Any]] = {
    "size": SIZES,
    "direction": st.sampled_from(["down", "up"]),
    "verify": st.booleans(),
    "chunks": st.sampled_from([1, 2, 5, 100]),
    "dial": st.sampled_from(["sequential", "parallel"]),
    "transfers": st.sampled_from([1, 2, 10_000]),
    "start_jitter": DURATIONS,
}
QUALITIES = st.lists(SIZES, min_size=1, max_size=4, unique=True).map(
    lambda sizes: {f"q{index}": size for index, size in enumerate(sizes)}
)
STREAM: dict[str, st.SearchStrategy[Any]] = {
    "watch": DURATIONS,
    "segment": DURATIONS,
    "segments": st.sampled_from([1, 600, 10**6]),
    "qualities": QUALITIES,
    "rule": st.sampled_from(["delay", "throughput", "bola"]),
    "delay_bounds": st.lists(DURATIONS, max_size=3),
    "safety": RATIOS,
    "window": st.sampled_from([1, 20, 10_000]),
    "start_buffer": DURATIONS,
    "buffer": DURATIONS,
    "seek": RATIOS,
}


@st.composite
def _some_of(draw: st.DrawFn, keys: dict[str, st.SearchStrategy[Any]], most: int) -> Table:
    """Give a few of the keys: most pairs of keys meet, and few studies contradict themselves."""
    chosen = draw(st.lists(st.sampled_from(sorted(keys)), max_size=most, unique=True))
    return {key: draw(keys[key]) for key in chosen}


def _chance(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.integers(1, one_in)) == 1


@st.composite
def studies(draw: st.DrawFn) -> Table:
    """Make a study's tables, of which the planner may refuse any.

    One section has several keys that are not plain, the others few: keys contradict each other, and
    what is refused for one reason tells of no other.
    """
    kind = draw(st.sampled_from(sorted(OPTIONS)))
    most = dict.fromkeys(("path", "transport", "workload"), 1)
    most[draw(st.sampled_from(sorted(most)))] = 4
    path: Table = {"delay": "50ms"} | draw(_some_of(IMPAIRMENTS, most["path"]))
    if _chance(draw, 2):
        path["mtu"] = draw(MTUS)
    transport: Table = {"kind": kind}
    transport |= draw(_some_of(TRANSPORT | OPTIONS[kind], most["transport"]))
    if kind == "mptcp" or transport.get("multihomed"):
        path["second"] = {"delay": "20ms"} | draw(_some_of(IMPAIRMENTS, most["path"] // 2))
    elif "reconnect" in transport or _chance(draw, 6):
        path["handovers"] = draw(HANDOVERS)
    if _chance(draw, 8):
        path["outages"] = draw(OUTAGES)
    if _chance(draw, 8):
        path["timeline"] = draw(st.lists(ENTRY, max_size=2))
    if _chance(draw, 3):
        workload: Table = {"kind": "stream"} | draw(_some_of(STREAM, most["workload"]))
    else:
        workload = {"kind": "bulk", "size": "1MB"} | draw(_some_of(BULK, most["workload"]))
    study: Table = {"title": "random", "path": path, "transport": transport, "workload": workload}
    if _chance(draw, 8):
        study["limits"] = {"virtual_s": draw(st.sampled_from([1, 10**9]))}
    return study
