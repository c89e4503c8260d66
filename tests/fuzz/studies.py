"""Random studies of one run that ordinary users could ask for: pure, made from a seed.

Some are refused by the planner, as a user's would be; what it accepts must run, and end well.
Sizes are small: a run's CPU time is that of its packets.
"""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz.hosts import put_on_several_hosts, share_between_workloads

Table = dict[str, Any]
KERNELS = ("6.1", "6.12", "7.3")
TRANSPORTS = ("tcp", "tls", "sctp", "quic", "mptcp")
CONGESTION = {
    "tcp": ("cubic", "reno", "bbr", "dctcp", "vegas", "westwood", "illinois"),
    "tls": ("cubic", "reno", "bbr", "westwood"),
    "quic": ("cubic", "reno", "bbr"),
    "mptcp": ("cubic", "reno"),
}


def random_study(seed: int) -> Table:
    """Make a study of one cell and one replicate.

    Args:
        seed: the same one gives the same study, also on another machine.

    Returns:
        Tables as `tomllib` reads them from a study file.
    """
    rng = Random(seed)  # noqa: S311 - repeatable, not secret
    kind = rng.choice(TRANSPORTS)
    moves = kind != "mptcp" and rng.random() < 0.2
    workload = _stream(rng) if rng.random() < 0.2 else _bulk(rng, moves)
    path = _path(rng)
    transport = _transport(rng, kind, moves, workload)
    if kind == "mptcp" or transport.get("multihomed") or (moves and rng.random() < 0.5):
        path["second"] = _second(rng)
    if moves:
        path["handovers"] = _handovers(rng)
    path |= _over_time(rng, path)
    study: Table = {
        "title": f"fuzz {seed}",
        "replicates": 1,
        "seed": rng.randrange(2**32),
        "path": path,
        "transport": transport,
        "workload": workload,
    }
    if rng.random() < 0.05:
        study["capture"] = "pcap"
    _lately(Random(f"lately {seed}"), study)  # noqa: S311
    return study


def _lately(rng: Random, study: Table) -> None:
    """Give some studies several hosts or workloads, a kernel, or an expectation. Drawn apart, so
    that all else of a seed stays as it was.
    """
    if rng.random() < 0.12:
        put_on_several_hosts(rng, study)
    elif rng.random() < 0.06:
        share_between_workloads(rng, study, rng.randint(2, 4))
    path = study.get("path", {})
    if "jitter" in path and ("rate" not in path or "discipline" in path) and rng.random() < 0.3:
        path["jitter_order"] = "free"
    if path and "duplicate" not in path and rng.random() < 0.1:
        path["aggregate"] = rng.choice(["50us", "1ms", "4ms"])
    if rng.random() < 0.06:
        study["kernel"] = rng.choice(KERNELS)
        if study["kernel"] == "6.1" and "path" in study:
            _leave_nothing_to_netem(rng, study["path"])
    if rng.random() < 0.1:
        study["expect"] = [_expectation(rng, study) for _ in range(rng.randint(1, 2))]


def _leave_nothing_to_netem(rng: Random, path: Table) -> None:
    """Leave nothing to draw, which netem cannot repeat in a kernel this old."""
    drawn = ("jitter", "distribution", "loss", "loss_up", "reorder", "duplicate", "corrupt")
    for key in (*drawn, "jitter_order", "jitter_correlation", "loss_correlation"):
        path.pop(key, None)
    path.get("second", {}).pop("loss", None)
    if rng.random() < 0.5:
        path["loss"] = f"every {rng.randint(10, 500)}"


def _expectation(rng: Random, study: Table) -> Table:
    several = isinstance(study["workload"], list)
    metric = "w0.path_min_rtt_s" if several else "completion_time_s"
    relation, value = rng.choice(["<", "<=", ">", ">="]), f"{rng.randint(1, 5000)} ms"
    rtts = study.get("factors", {}).get("topology.rtts")
    if rtts and rng.random() < 0.5:
        return {"that": f"{metric} {relation} {value}", "where": {"topology.rtts": rtts[0]}}
    return {"that": f"{metric} {relation} {value}"}


def _bulk(rng: Random, moves: bool) -> Table:
    # Log-uniform from one byte to 2 MB.
    size_bytes = int(10 ** rng.uniform(0, 6.3))
    table: Table = {"kind": "bulk", "size": f"{size_bytes}B"}
    if rng.random() < 0.3 and not moves:
        table["direction"] = "up"
    if rng.random() < 0.3:
        table["verify"] = False
    if rng.random() < 0.3:
        table["chunks"] = rng.randint(1, min(12, size_bytes))
    if rng.random() < 0.3:
        table["dial"] = rng.choice(["sequential", "parallel"])
    if rng.random() < 0.25:
        table["transfers"] = rng.randint(2, 5)
    return table


def _stream(rng: Random) -> Table:
    table: Table = {
        "kind": "stream",
        "watch": f"{rng.randint(1, 12)}s",
        "segment": rng.choice(["500ms", "1s", "2s"]),
        "qualities": {"low": f"{rng.randint(1, 20)}kB", "high": f"{rng.randint(21, 80)}kB"},
        "rule": rng.choice(["delay", "throughput", "bola"]),
    }
    if table["rule"] == "delay":
        table["delay_bounds"] = [f"{rng.randint(1, 500)}ms"]
    if rng.random() < 0.3:
        table["seek"] = f"{rng.randint(1, 30)}%"
    if rng.random() < 0.3:
        table["buffer"] = f"{rng.randint(2, 12)}s"
    if rng.random() < 0.2:
        table["segments"] = rng.randint(1, 20)
    return table


def _path(rng: Random) -> Table:
    path: Table = {}
    delay_ms = _delay(rng, path)
    if rng.random() < 0.75:
        _rate(rng, path)
    if rng.random() < 0.25:
        path["jitter"] = f"{round(delay_ms * rng.uniform(0, 0.5), 3)}ms"
        path["distribution"] = rng.choice(["uniform", "normal", "pareto", "paretonormal"])
        if rng.random() < 0.3:
            path["jitter_correlation"] = f"{rng.randint(1, 90)}%"
    _harm(rng, path)
    if rng.random() < 0.15:
        path["mtu"] = rng.choice([1280, 1400, 1492, 4000, 9000])
    return path


def _delay(rng: Random, path: Table) -> float:
    """Give the path a delay, and return its smaller one-way delay in milliseconds."""
    if rng.random() < 0.7:
        rtt_ms = round(10 ** rng.uniform(-0.5, 2.6), 3)
        path["rtt"] = f"{rtt_ms}ms"
        return rtt_ms / 2
    down_ms, up_ms = (round(10 ** rng.uniform(-0.5, 2.2), 2) for _ in range(2))
    path |= {"delay_down": f"{down_ms}ms", "delay_up": f"{up_ms}ms"}
    return min(down_ms, up_ms)


def _rate(rng: Random, path: Table) -> None:
    rate_kbit_s = int(10 ** rng.uniform(2.3, 5.5))
    if rng.random() < 0.8:
        path["rate"] = f"{rate_kbit_s}kbit"
    else:
        path |= {"rate_down": f"{rate_kbit_s}kbit", "rate_up": f"{rng.randint(200, 20_000)}kbit"}
    if rng.random() < 0.5:
        queue = rng.choice(["0.5bdp", "1bdp", "4bdp", f"{rng.randint(20, 500)}p", "64kB"])
        path["queue"] = queue


def _harm(rng: Random, path: Table) -> None:
    if rng.random() < 0.5:
        loss = f"{round(10 ** rng.uniform(-1, 1), 2)}%"
        # A burst ends with a packet, not with time: one of 5 packets in the mean outlasts TCP's
        # fifteen retransmissions now and then (0.8 ** 15), and the connection ends.
        bursty = f"gemodel {rng.choice(['0.2%', '1%', '3%'])} {rng.choice(['50%', '70%'])}"
        path["loss"] = bursty if rng.random() < 0.2 else loss
        if rng.random() < 0.1:
            numbers = sorted(rng.sample(range(4, 400), rng.randint(1, 30)))
            by_number = [f"every {rng.randint(10, 500)}", f"packets {' '.join(map(str, numbers))}"]
            path["loss"] = rng.choice(by_number)
        elif not path["loss"].startswith("gemodel") and rng.random() < 0.1:
            path["loss_correlation"] = f"{rng.randint(1, 50)}%"
    if rng.random() < 0.25:
        path["loss_up"] = f"{round(rng.uniform(0, 8), 2)}%"
    if rng.random() < 0.12:
        ratio = f"{rng.randint(1, 100)}%"
        table = {"ratio": ratio, "correlation": "25%", "gap": rng.randint(1, 6)}
        path["reorder"] = table if rng.random() < 0.3 else ratio
    if rng.random() < 0.12:
        path["duplicate"] = f"{rng.randint(1, 30)}%"
    if rng.random() < 0.12:
        path["corrupt"] = f"{round(rng.uniform(0, 3), 2)}%"


def _second(rng: Random) -> Table:
    second: Table = {}
    if rng.random() < 0.7:
        second["rate"] = f"{int(10 ** rng.uniform(2.5, 5))}kbit"
    if rng.random() < 0.5:
        second["loss"] = f"{round(rng.uniform(0, 4), 2)}%"
    return second


def _handovers(rng: Random) -> Table:
    table: Table = {
        "every": f"{rng.randint(200, 3000)}ms",
        "count": rng.randint(0, 6),
    }
    if rng.random() < 0.6:
        table[rng.choice(["overlap", "gap"])] = f"{rng.randint(0, 1500)}ms"
    return table


def _over_time(rng: Random, path: Table) -> Table:
    if rng.random() < 0.1:
        every_ms = rng.randint(300, 5000)
        length_ms = rng.randint(1, every_ms - 1)
        outages = {"every": f"{every_ms}ms", "length": f"{length_ms}ms", "count": rng.randint(1, 5)}
        return {"outages": outages}
    if "jitter" not in path and rng.random() < 0.08:
        period = f"{rng.randint(20, 2000)}ms"
        return {"redraw": {"period": period, "deviation": f"{rng.randint(0, 50)}ms"}}
    if rng.random() < 0.1:
        return {"timeline": _timeline(rng, "rate" in path)}
    return {}


def _timeline(rng: Random, has_rate: bool) -> list[Table]:
    times_ms = sorted(rng.sample(range(1, 8000), rng.randint(1, 4)))
    out = False
    entries: list[Table] = []
    for at_ms in times_ms:
        change = rng.choice(["outage", "delay", "rate"] if has_rate else ["outage", "delay"])
        entry: Table = {"at": f"{at_ms}ms", "change": change}
        if change == "outage":
            entry["change"] = "restore" if out else "outage"
            out = not out
        elif change == "delay":
            entry["rtt"] = f"{rng.randint(1, 400)}ms"
        else:
            entry |= {"rate": f"{rng.randint(200, 50_000)}kbit", "direction": "down"}
        entries.append(entry)
    if out:
        entries.append({"at": "8s", "change": "restore"})
    return entries


def _transport(rng: Random, kind: str, moves: bool, workload: Table) -> Table:
    table: Table = {"kind": kind}
    if kind in CONGESTION and rng.random() < 0.4:
        table["congestion"] = rng.choice(CONGESTION[kind])
    if kind != "sctp" and rng.random() < 0.15:
        table["initial_window"] = rng.choice([1, 2, 3, 10, 32, 100])
    if rng.random() < 0.15:
        table["mss"] = rng.choice([536, 1200, 1220, 1400])
    if rng.random() < 0.15:
        table["buffer"] = rng.choice(["16kB", "64KiB", "256KiB", "1MB", "8MB"])
    if rng.random() < 0.2:
        table["nodelay"] = False
    again = moves or workload.get("transfers", 1) > 1
    if again and kind in ("tls", "quic") and rng.random() < 0.5:
        table["resume"] = rng.choice(["1rtt", "0rtt"])
    if again and kind == "tcp" and rng.random() < 0.3:
        table["resume"] = "0rtt"
    if moves:
        table["reconnect"] = "new" if kind in ("tcp", "tls") else rng.choice(["new", "migrate"])
    if kind == "sctp":
        table |= _sctp(rng, moves)
    elif kind in ("tcp", "tls", "mptcp") and rng.random() < 0.3:
        table |= _tcp(rng, kind)
    return table


def _sctp(rng: Random, moves: bool) -> Table:
    table: Table = {}
    if rng.random() < 0.4:
        table["streams"] = rng.choice([1, 2, 8, 64])
    if rng.random() < 0.3:
        table["max_message"] = rng.choice(["512B", "1400B", "16KiB", "64KiB"])
    if rng.random() < 0.2:
        table["unordered"] = True
    if rng.random() < 0.3:
        table |= {"rto_initial": "1s", "rto_min": rng.choice(["100ms", "200ms", "1s"])}
    if not moves and rng.random() < 0.25:
        table["multihomed"] = True
    return table


def _tcp(rng: Random, kind: str) -> Table:
    if kind != "mptcp" and rng.random() < 0.3:
        return {"preset": "tcp-2008"}
    options: tuple[Table, ...] = (
        {"sack": False},
        {"timestamps": False},
        {"window_scaling": False},
        {"sack": False, "recovery": "classic"},
    )
    return dict(rng.choice(options))
