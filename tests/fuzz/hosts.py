"""Random studies of several hosts, and of several workloads on one pair: pure, made from a seed."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

Table = dict[str, Any]
MOST_HOSTS = 6
# What packets of one workload do to those of another is judged by no formula, so sizes are small.
LARGEST_EXPONENT = 5.3
DELAYS = ("rtt", "delay", "delay_down", "delay_up")
# The judge knows the shortest round trip of a way along which every delay is one number.
NOT_BETWEEN_HOSTS = (
    "jitter", "jitter_order", "distribution", "jitter_correlation", "reorder", "second",
    "handovers", "redraw", "timeline",
)  # fmt: skip
SIZES = {
    "dumbbell": "pairs",
    "star": "hosts",
    "incast": "senders",
    "chain": "hops",
    "parking-lot": "bottlenecks",
}
WITH_RTTS = ("dumbbell", "star", "incast")


def put_on_several_hosts(rng: Random, study: Table) -> None:
    """Give a study of one workload a network of hosts, and several workloads between them."""
    path = study["path"]
    for key in NOT_BETWEEN_HOSTS:
        path.pop(key, None)
    if rng.random() < 0.2:
        path["discipline"] = rng.choice(["fifo", "fq", "fq_codel", "codel", "cake"])
    ends = _written(rng, study) if rng.random() < 0.2 else _shape(rng, study)
    share_between_workloads(rng, study, rng.randint(1, MOST_HOSTS))
    for workload in study["workload"]:
        workload["from"], workload["to"] = rng.choice(ends)


def _shape(rng: Random, study: Table) -> list[tuple[str, str]]:
    """Give a study a shape by its name, and return between which hosts its workloads may be."""
    shape = rng.choice(list(SIZES))
    size = rng.randint(2 if shape == "star" else 1, MOST_HOSTS)
    study["topology"] = {"shape": shape, SIZES[shape]: size}
    if shape in WITH_RTTS and rng.random() < 0.6:
        rtts = [f"{round(10 ** rng.uniform(-0.5, 2.4), 3)}ms" for _ in range(size)]
        study["topology"]["rtts"] = rtts
        for key in DELAYS:
            study["path"].pop(key, None)
        if rng.random() < 0.2:
            study["factors"] = {"topology.rtts": [rtts]}
    numbers = range(1, size + 1)
    match shape:
        case "dumbbell":
            return [(f"client{one}", f"server{other}") for one in numbers for other in numbers]
        case "star":
            return [(f"host{a}", f"host{b}") for a in numbers for b in numbers if a != b]
        case "incast":
            senders = [f"sender{number}" for number in numbers]
            return [(each, "receiver") for each in senders] + [("receiver", senders[-1])]
        case "chain":
            return [("client", "server"), ("server", "client")]
        case _:
            cross = [(f"left{number}", f"right{number}") for number in numbers]
            return [("client", "server"), *cross]


def _written(rng: Random, study: Table) -> list[tuple[str, str]]:
    """Write a row of routers with a host or two at each, and return pairs of these hosts."""
    routers = [f"r{number}" for number in range(rng.randint(1, 3))]
    homes = {f"h{number}": rng.choice(routers) for number in range(rng.randint(2, MOST_HOSTS))}
    between = list(pairwise(routers)) + list(homes.items())
    study["router"] = [{"name": name} for name in routers]
    if rng.random() < 0.2:
        rng.choice(study["router"])["icmp"] = "dropped"
    study["host"] = [{"name": name} for name in homes]
    study["link"] = [{"between": list(pair)} for pair in between]
    study["link"][0] |= study.pop("path")
    for link in study["link"][1:]:
        if rng.random() < 0.5:
            link["rtt"] = f"{rng.randint(0, 100)}ms"
        if rng.random() < 0.3:
            link[rng.choice(["rate", "rate_up", "rate_down"])] = f"{rng.randint(200, 50_000)}kbit"
        if rng.random() < 0.2:
            link["loss"] = rng.choice(["1%", "every 50", "packets 3 8"])
        if rng.random() < 0.1:
            link["mtu"] = rng.choice([1280, 1400, 9000])
    return [(one, other) for one in homes for other in homes if one != other]


def share_between_workloads(rng: Random, study: Table, count: int) -> None:
    """Put so many workloads, with transports of their own, in the place of a study's only one."""
    own = study["transport"]
    kinds = [own["kind"], "tcp", "quic", "udp", "tls", "sctp"]
    if own["kind"] == "mptcp" or own.keys() & {"reconnect", "multihomed"}:
        own = {"kind": "tcp"}
        kinds = kinds[1:]
    # Options of the transport are those of the two hosts: all workloads have them, or none.
    study["transport"] = own if count == 1 else {"kind": own["kind"]}
    study["workload"] = [_workload(rng, f"w{number}", kinds) for number in range(count)]
    if rng.random() < 0.3:
        for workload in study["workload"]:
            workload["start_jitter"] = "100ms"


def _workload(rng: Random, name: str, kinds: list[str]) -> Table:
    transport = rng.choice(kinds)
    workload: Table = {"name": name, "transport": transport}
    if transport == "udp" or rng.random() < 0.3:
        workload |= {
            "kind": "rr",
            "interval": f"{rng.randint(1, 200)}ms",
            "request": f"{rng.randint(24, 1000)}B",
            "response": f"{rng.randint(24, 1100)}B",
        }
        workload |= _amount(rng, {"count": rng.randint(1, 60)})
    else:
        workload |= {"kind": "bulk"}
        size_bytes = int(10 ** rng.uniform(0, LARGEST_EXPONENT))
        workload |= _amount(rng, {"size": f"{size_bytes}B"})
        if rng.random() < 0.3:
            workload["direction"] = "up"
    if rng.random() < 0.4:
        workload["start"] = f"{rng.randint(0, 3000)}ms"
    if rng.random() < 0.1:
        workload["port"] = rng.randint(1, 65535)
    return workload


def _amount(rng: Random, ends: Table) -> Table:
    """Give a workload its amount, or the time at which it stops."""
    return ends if rng.random() < 0.8 else {"stop": f"{rng.randint(3001, 6000)}ms"}
