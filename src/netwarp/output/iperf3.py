"""Converts a run to the JSON that `iperf3 --json` prints at the client (iperf 3.12).

The content flows from the server to the client, as with `iperf3 --reverse`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from netwarp.measure.select import of_kind, received, sender, start_ns
from netwarp.run_directory import EPOCH_NS
from netwarp.transports import TRANSPORTS
from netwarp.units import NS_PER_S
from netwarp.version import __version__
from netwarp.wire import ConnectionSamples, FlowSent, FlowStats, Goodput, Job, Record, Side, Usage

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.results import RunResult

_SOCKET = 1
_NAMES: dict[str, Any] = {
    "local_host": "client",
    "local_port": 0,
    "remote_host": "server",
    "remote_port": 4433,
}
"""Fields with the addresses of both ends; the client's port is not recorded, and so 0."""
_ENDS: Mapping[Side, str] = {"client": "host", "server": "remote"}
"""What iperf3 calls each end, as seen from the client."""


def iperf3_document(run: RunResult, data: RunData) -> dict[str, Any]:
    """Return what iperf3 would have printed for a run, as a JSON object.

    `intervals` has the content received in each second, for a run that recorded it over time. For a
    file over TCP it has what was acknowledged to the sender from sample to sample, each at least a
    second after the one before. Any other run has a single interval.

    Args:
        run: the run.
        data: the data of its run directory.
    """
    document: dict[str, Any] = {
        "start": _start(run, data),
        "intervals": [],
        "end": {},
        "title": run.run,
    }
    if run.outcome == "failed":
        return document | {"error": run.reason}
    records = data.records(run.run)
    intervals = _intervals(records)
    end = _packets(run, records) or _content(run)
    if end is None:
        return document | {"intervals": intervals}
    total = end.get("sum_received") or end["sum"]
    cpu = _cpu_utilization_percent(records, total["seconds"])
    return document | {
        "intervals": intervals
        or _acknowledged(data.job(run.run), records, total)
        or [_interval(total)],
        "end": end | {"cpu_utilization_percent": cpu},
    }


def _start(run: RunResult, data: RunData) -> dict[str, Any]:
    transport = run.factors.get("transport") or data.fixed.get("transport.kind", "")
    started = _started(data)
    return {
        "connected": [{"socket": _SOCKET, **_NAMES}],
        "version": f"netwarp {__version__}",
        "system_info": str(data.provenance.get("kernels") or data.provenance.get("kernel") or ""),
        "timestamp": {
            "time": format_datetime(started, usegmt=True),
            "timesecs": int(started.timestamp()),
        },
        "connecting_to": {"host": _NAMES["remote_host"], "port": _NAMES["remote_port"]},
        "test_start": {
            "protocol": transport.upper(),
            "num_streams": 1,
            "blksize": 0,
            "omit": 0,
            "duration": 0,
            "bytes": round(_content_bytes(run)),
            "blocks": 0,
            "reverse": 1,
        },
    }


def _started(data: RunData) -> datetime:
    """Return the date of a run: in virtual time the guest's date, in real time the date of the
    study's execution.
    """
    if data.clock == "virtual":
        return datetime.fromtimestamp(EPOCH_NS // NS_PER_S, UTC)
    return datetime.fromisoformat(data.provenance["started"])


def _content_bytes(run: RunResult) -> float:
    seconds, bit_s = run.value("completion_time_s"), run.value("goodput_bit_s")
    return 0 if seconds is None or bit_s is None else seconds * bit_s / 8


def _content(run: RunResult) -> dict[str, Any] | None:
    """Return the totals of a transfer in iperf3's form for TCP; None for a run without
    transfers.
    """
    seconds, bit_s = run.value("completion_time_s"), run.value("goodput_bit_s")
    if seconds is None or bit_s is None:
        return None
    received = _sum(0, seconds, round(_content_bytes(run))) | {"bits_per_second": bit_s}
    retransmits = run.value("retransmitted_packets")
    sent = received if retransmits is None else received | {"retransmits": int(retransmits)}
    stream = {"sender": {"socket": _SOCKET, **sent}, "receiver": {"socket": _SOCKET, **received}}
    return {"streams": [stream], "sum_sent": sent, "sum_received": received}


def _packets(run: RunResult, records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the totals of a flow of packets in iperf3's form for UDP; None for other runs."""
    arrived = next((r for r in records if isinstance(r, FlowStats) and r.unit == "packet"), None)
    sent = next((record for record in records if isinstance(record, FlowSent)), None)
    if arrived is None or sent is None or run.value("lost_packets") is None:
        return None
    end_ns = max(sent.last_ns, arrived.last_received_ns or 0) - sent.first_ns
    lost = int(run.value("lost_packets") or 0)
    packets = arrived.received + lost
    total = _sum(0, end_ns / NS_PER_S, arrived.received_bytes) | {
        "jitter_ms": 1000 * (run.value("jitter_rfc3550_s") or 0),
        "lost_packets": lost,
        "packets": packets,
        "lost_percent": 100 * lost / packets if packets else 0,
    }
    return {"streams": [{"udp": {"socket": _SOCKET, **total}}], "sum": total}


def _cpu_utilization_percent(records: Sequence[Record], seconds: float) -> dict[str, float]:
    """Return the CPU usage of each end in percent: 0 in virtual time, in which computing takes no
    time.
    """
    shares = {
        f"{end}_{part}": 0.0 for end in _ENDS.values() for part in ("total", "user", "system")
    }
    for usage in records:
        if isinstance(usage, Usage) and seconds:
            end = _ENDS[usage.side]
            user, system = (
                100 * cpu_ns / NS_PER_S / seconds for cpu_ns in (usage.user_ns, usage.system_ns)
            )
            shares |= {f"{end}_total": user + system, f"{end}_user": user, f"{end}_system": system}
    return shares


def _intervals(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the content received in each second, in iperf3's form; the last interval may be
    shorter.

    Empty if the records have no goodput over time.
    """
    recorded = next((each for each in records if isinstance(each, Goodput)), None)
    if recorded is None:
        return []
    by_second: dict[int, int] = {}
    for step, step_bytes in enumerate(recorded.bytes):
        second = step * recorded.step_ns // NS_PER_S
        by_second[second] = by_second.get(second, 0) + step_bytes
    end_s = len(recorded.bytes) * recorded.step_ns / NS_PER_S
    return [
        _interval(_sum(second, min(second + 1, end_s), second_bytes))
        for second, second_bytes in by_second.items()
    ]


def _acknowledged(
    job: Job | None, records: Sequence[Record], total: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the bytes acknowledged to TCP's sender between samples that are at least one second
    apart.

    Empty if connections were not sampled, or samples do not count content: with TLS and QUIC the
    counts include the overhead of encryption, and SCTP has no such count.
    """
    if job is None or not received(job, records):
        return []
    traits = TRANSPORTS[job.only.transport.kind]
    if not traits.runs_over_tcp or traits.is_encrypted:
        return []
    sampled = [each for each in of_kind(records, ConnectionSamples) if each.side == sender(job)]
    if not any(each.acked_bytes for each in sampled):
        return []
    begun_ns = start_ns(records)
    end_ns = begun_ns + round(total["seconds"] * NS_PER_S)
    bounds = [(begun_ns, 0)]
    for at_ns in sorted({at_ns for each in sampled for at_ns in each.at_ns if at_ns < end_ns}):
        if at_ns >= bounds[-1][0] + NS_PER_S:
            acked = sum(_acked_bytes(each, at_ns) for each in sampled)
            bounds.append((at_ns, min(total["bytes"], acked)))
    if len(bounds) == 1:
        return []
    return [
        _interval(
            _sum((since_ns - begun_ns) / NS_PER_S, (until_ns - begun_ns) / NS_PER_S, after - before)
        )
        for (since_ns, before), (until_ns, after) in pairwise([*bounds, (end_ns, total["bytes"])])
    ]


def _acked_bytes(samples: ConnectionSamples, at_ns: int) -> int:
    """Return the number of bytes that had been acknowledged at the last sample before or at a
    time.
    """
    index = bisect_right(samples.at_ns, at_ns)
    return samples.acked_bytes[index - 1] if index else 0


def _interval(total: dict[str, Any]) -> dict[str, Any]:
    whole = total | {"omitted": False}
    return {"streams": [{"socket": _SOCKET, **whole}], "sum": whole}


def _sum(start_s: float, end_s: float, received_bytes: int) -> dict[str, Any]:
    seconds = end_s - start_s
    return {
        "start": start_s,
        "end": end_s,
        "seconds": seconds,
        "bytes": received_bytes,
        "bits_per_second": 8 * received_bytes / seconds if seconds else 0,
        "sender": False,
    }
