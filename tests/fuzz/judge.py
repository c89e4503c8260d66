"""Judges a run of a random study: what the path did against what it was asked, and the times.

Chances are so small that a session of some thousand runs has no false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, sqrt

from closed_form import CONNECT_RTTS
from guest.lab import Measured
from netwarp.estimate.stats import binomial_interval
from netwarp.units import NS_PER_S
from netwarp.wire import (
    Bulk,
    Calibration,
    GemodelLoss,
    Impairments,
    Job,
    ListedLoss,
    Network,
    OfWorkload,
    Outage,
    Path,
    PeriodicLoss,
    RandomLoss,
    Rate,
    Record,
    Segment,
    Transfer,
)

CONFIDENCE = 1 - 1e-8
DEVIATIONS = 9
ETHERNET_BYTES = 14
# A time-out, its repetitions and a handshake that is tried again: what no formula counts here.
SLACK_S = 10.0
# The kernel's MPTCP delivers a request twice where one end alone has fallen back to TCP: see
# docs/findings.md.
DELIVERED_TWICE = "the transport delivered the request twice"


def faults(run: Measured) -> Iterator[str]:
    """Say everything that is wrong with a run that should have ended well."""
    job = run.planned.job
    if run.status.outcome != "ok":
        is_mptcp = any(each.transport.kind == "mptcp" for each in job.workloads)
        if not (is_mptcp and DELIVERED_TWICE in str(run.status.reason)):
            yield f"failed: {run.status.reason}"
        return
    counts = [record for record in run.records if isinstance(record, Calibration)]
    for counted in counts:
        yield from _path_faults(job, counted)
    if job.network is not None:
        yield from _link_faults(job, job.network, counts)
    yield from order_faults(run.records)
    for one in job.each_alone:
        # Metrics of several workloads of one name are those of all of them.
        yield from _time_faults(one, run.metrics, is_alone=len(job.workloads) == 1)


def order_faults(records: Sequence[Record]) -> Iterator[str]:
    """Say which contents ended before they began."""
    for each in records:
        record = each.line if isinstance(each, OfWorkload) else each
        if isinstance(record, Transfer | Segment) and record.last_byte_ns < record.first_byte_ns:
            ends = f"{record.last_byte_ns} ns, and its first at {record.first_byte_ns} ns"
            yield f"the last byte of a {record.record} came at {ends}"


def _path_faults(job: Job, counted: Calibration) -> Iterator[str]:
    path = job.paths[counted.path]
    asked = path.down if counted.direction == "down" else path.up
    where = f"path {counted.path + 1} {counted.direction}"
    sent = counted.offered_packets
    arrived = counted.delivered_packets + counted.dropped_packets + counted.left_packets
    accounted = arrived + counted.unresolved_packets
    if not asked.duplicate_ratio and accounted != sent:
        yield f"{where}: {sent} packets went in, {accounted} are accounted for"
    if path.neighbours == "warm" and accounted != arrived:
        yield f"{where}: {counted.unresolved_packets} packets wait for an address that is known"
    changes = [event.change for event in job.timeline.events if event.path == counted.path]
    # A token bucket starts with its burst, so nothing short is held against it.
    if asked.rate_bit_s and asked.shaper_queue_bytes is None:
        frame_bytes = path.mtu_bytes + ETHERNET_BYTES
        most_bytes = asked.rate_bit_s * counted.interval_ns / NS_PER_S / 8 + frame_bytes
        if counted.delivered_bytes > most_bytes:
            yield (
                f"{where}: delivered {counted.delivered_bytes} bytes, and a rate of"
                f" {asked.rate_bit_s} bit/s allows {most_bytes:.0f}"
            )
    out = any(isinstance(change, Outage) for change in changes)
    # An older kernel than the default may not tell losses from packets that found a full queue.
    untold = job.kernel is not None and counted.lost_packets is None
    if not (out or asked.duplicate_ratio or job.timeline.has_handovers or untold):
        yield from _loss_faults(asked, counted, where)


def _loss_faults(asked: Impairments, counted: Calibration, where: str) -> Iterator[str]:
    lost, packets, loss = counted.lost_packets, counted.offered_packets, asked.loss
    if lost is None:
        yield f"{where}: the kernel did not tell losses from full queues"
    elif isinstance(loss, PeriodicLoss | ListedLoss):
        # ARP, and what the router itself is sent, are among the packets that were offered.
        if not loss.lost_of(packets - 8) <= lost <= loss.lost_of(packets):
            yield f"{where}: {lost} of {packets} packets lost, {loss.lost_of(packets)} were due"
    elif isinstance(loss, GemodelLoss):
        bad = loss.p / (loss.p + loss.r) if loss.p else 0.0
        # Variance of a sum over a two-state chain whose steps have the correlation 1 - p - r.
        stretch = (2 - loss.p - loss.r) / (loss.p + loss.r) if loss.p else 1.0
        mean = packets * (bad * loss.loss_bad + (1 - bad) * loss.loss_good)
        if abs(lost - mean) > DEVIATIONS * (sqrt(max(mean * stretch, 1)) + stretch):
            yield f"{where}: {lost} of {packets} packets lost, {mean:.1f} expected"
    elif not (isinstance(loss, RandomLoss) and loss.correlation):
        ratio = loss.ratio if isinstance(loss, RandomLoss) else 0.0
        low, high = binomial_interval(lost, packets, CONFIDENCE) if packets else (0.0, 1.0)
        if not low <= ratio <= high:
            yield f"{where}: {lost} of {packets} packets lost, asked for {ratio:.2%}"


def _link_faults(job: Job, network: Network, counts: Sequence[Calibration]) -> Iterator[str]:
    """Say which routers sent on more or fewer packets than came to them.

    Counters are read one after another, so nothing is said while packets are under way. What a
    router sends is counted before its queue, lost packets and duplicates included.
    """
    if any(each.left_packets for each in counts):
        return
    by_link = {(each.path, each.direction): each for each in counts}
    came = dict.fromkeys(network.routers, 0)
    went = dict.fromkeys(network.routers, 0)
    for index, link in enumerate(network.links):
        up, down = by_link[index, "up"], by_link[index, "down"]
        for sender, receiver, counted in (
            (link.first, link.second, up),
            (link.second, link.first, down),
        ):
            if sender in went:
                went[sender] += counted.offered_packets
            if receiver in came:
                came[receiver] += counted.delivered_packets
    changed = any(
        way.duplicate_ratio or way.corrupt_ratio for path in job.paths for way in _ways(path)
    )
    for router in network.routers:
        if came[router] != went[router] and not changed:
            yield f"{came[router]} packets came to the router {router}, and {went[router]} went"


def _ways(path: Path) -> tuple[Impairments, Impairments]:
    return path.down, path.up


def _time_faults(job: Job, metrics: Mapping[str, float], *, is_alone: bool) -> Iterator[str]:
    """Say which times of a workload cannot be; beside others it may take as long as it likes."""
    prefix = "" if job.only.name is None else f"{job.only.name}."
    connect_s = metrics.get(f"{prefix}connect_time_s")
    if connect_s is not None and not (job.timeline.events or job.timeline.redraws):
        is_at_once = job.only.transport.resume == "0rtt" or job.only.transport.kind == "udp"
        least_s = 0.0 if is_at_once else _least_rtt_s(job)
        if connect_s < least_s:
            yield f"{prefix}connected after {connect_s} s, a round trip is {least_s} s"
    if isinstance(job.only.workload, Bulk) and f"{prefix}completion_time_s" in metrics:
        took_s = metrics[f"{prefix}completion_time_s"]
        goodput_bit_s = metrics[f"{prefix}goodput_bit_s"]
        rate_bit_s = _most_rate_bit_s(job)
        # Nothing arrives before its last bit has been sent (docs/decisions/0046), but the bucket of
        # a rate that changes begins full (docs/decisions/0009).
        changes = any(isinstance(event.change, Rate) for event in job.timeline.events)
        frames_bits = 2 * 8 * max(path.mtu_bytes + 14 for path in job.paths) if changes else 0
        if rate_bit_s and (goodput_bit_s - rate_bit_s) * took_s > frames_bits:
            yield f"{prefix}goodput of {goodput_bit_s:.0f} bit/s over a rate of {rate_bit_s}"
        most_s = _most_s(job, job.only.workload, round(goodput_bit_s * took_s / 8))
        if is_alone and most_s and took_s > most_s:
            yield f"took {took_s} s on a path without trouble, {most_s} s would be much"


def _least_rtt_s(job: Job) -> float:
    """Give the shortest round trip; 0 where a packet may overtake or a delay has no bound."""
    rtts_ns = []
    for path in job.paths:
        ways = (path.down, path.up)
        unbounded = any(way.jitter_ns and way.distribution != "uniform" for way in ways)
        if unbounded or any(way.reorder.ratio for way in ways):
            return 0.0
        rtts_ns.append(sum(way.delay_ns - way.jitter_ns for way in ways))
    return min(rtts_ns) / NS_PER_S


def _most_rate_bit_s(job: Job) -> int | None:
    """Give the rate of all paths together; None where one is unlimited or follows a trace."""
    total_bit_s = 0
    for path in job.paths:
        rate_bit_s = (path.down if job.direction == "down" else path.up).rate_bit_s
        if rate_bit_s is None:
            return None
        total_bit_s += rate_bit_s
    changes = [event.change for event in job.timeline.events]
    return total_bit_s + sum(each.rate_bit_s for each in changes if isinstance(each, Rate))


def _most_s(job: Job, workload: Bulk, size_bytes: int) -> float | None:
    """Give a generous time for a transfer over a path that does nothing but delay and limit."""
    (path, *others) = job.paths
    ways = (path.down, path.up)
    rates_bit_s = [way.rate_bit_s for way in ways if way.rate_bit_s is not None]
    changes = bool(job.timeline.events or job.timeline.redraws)
    if others or changes or len(rates_bit_s) < len(ways) or any(map(_troubles, ways)):
        return None
    rtt_s = (path.down.delay_ns + path.up.delay_ns) / NS_PER_S
    # Slow start from one packet, an eightfold load of headers and repairs, one dial at a time.
    rounds = (CONNECT_RTTS.get(job.only.transport.kind, 2) + 2) * workload.chunks
    packets = ceil(size_bytes / 500)
    sending_s = 8 * size_bytes * 8 / min(rates_bit_s)
    return SLACK_S + sending_s + rtt_s * (rounds + 4 * packets.bit_length() + 30)


def _troubles(way: Impairments) -> bool:
    """Say whether a direction does more to packets than delay and limit them."""
    return bool(
        way.loss.kind != "none"
        or way.jitter_ns
        or way.aggregate_ns
        or way.link_loss_ratio
        or way.policer_bytes
        or way.reorder.ratio
        or way.duplicate_ratio
        or way.corrupt_ratio
    )
