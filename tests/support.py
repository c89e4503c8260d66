"""A run directory as `netwarp run` leaves it, without any run: the times come from a formula.

Four transports × loss 0/1/5 % × RTT 50/200 ms × ten replicates. Lossless runs are exact; under
loss a time is its transport's factor on a draw that all transports share (as the loss seeds are),
with little noise of its own. One run failed.
"""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.results import Results, RunResult
from netwarp.results.parquet import write_results
from netwarp.run_directory import JOB_FILE, RunDirectory
from netwarp.run_files import write_json
from netwarp.run_status import Status
from netwarp.study import study_from_mapping
from netwarp.wire import (
    Bulk,
    Calibration,
    Connection,
    End,
    Job,
    Probe,
    Record,
    Transfer,
    read_records,
    record_to_json,
)

GOLDEN = Path(__file__).parent / "golden"
TRANSPORTS = ("tcp", "tls", "sctp", "quic")
LOSSES = ("0%", "1%", "5%")
RTTS = ("50ms", "200ms")
REPLICATES = 10
FAILED_RUN = "c017-r03"
FAILURE = "limit: the transfer was not over after 86400 virtual seconds"
SIZE_BYTES = 10_000_000
RATE_BIT_S = 50e6
FRAME_BYTES = 1514
STUDY: dict[str, Any] = {
    "title": "A real file over TCP, TLS, SCTP and QUIC",
    "description": "All transports get the same path, the same buffers and the same lost packets.",
    "replicates": REPLICATES,
    "seed": 1,
    "path": {"rate": "50mbit", "queue": "1bdp"},
    "workload": {"kind": "bulk", "size": "10MB"},
    "factors": {
        "transport": list(TRANSPORTS),
        "path.loss": list(LOSSES),
        "path.rtt": list(RTTS),
    },
    "figure": [{"kind": "line", "x": "path.loss", "y": "completion_time_s", "series": "transport"}],
    "claim": [
        {
            "text": "QUIC finishes sooner than TCP at 5 % loss",
            "source": "an example, figure 9",
            "metric": "completion_time_s",
            "less": {"transport": "quic"},
            "than": {"transport": "tcp"},
            "where": {"path.loss": "5%"},
        },
        {
            "id": "sctp",
            "text": "SCTP finishes sooner than TCP under loss",
            "metric": "completion_time_s",
            "less": {"transport": "sctp"},
            "than": {"transport": "tcp"},
            "where": {"path.loss": "1%"},
        },
    ],
}
_HANDSHAKES = {"tcp": 1, "tls": 2, "sctp": 2, "quic": 1}
_UNDER_LOSS = {"tcp": 1.0, "tls": 1.004, "sctp": 1.6, "quic": 0.87}


def results(replicates: int = REPLICATES, failed_run: str | None = FAILED_RUN) -> Results:
    """Make the results of the study."""
    runs = []
    for cell, (transport, loss, rtt) in enumerate(itertools.product(TRANSPORTS, LOSSES, RTTS)):
        for replicate in range(replicates):
            name = f"c{cell:03}-r{replicate:02}"
            failed = name == failed_run
            runs.append(
                RunResult(
                    run=name,
                    cell=cell,
                    replicate=replicate,
                    seed=(0x9E3779B97F4A7C15 * (replicate + 1)) % 2**64,
                    factors={"transport": transport, "path.loss": loss, "path.rtt": rtt},
                    outcome="failed" if failed else "ok",
                    reason=FAILURE if failed else None,
                    metrics={} if failed else metrics(transport, loss, rtt, replicate),
                    random=() if loss == "0%" else ("loss",),
                )
            )
    return Results(tuple(runs))


def metrics(transport: str, loss: str, rtt: str, replicate: int) -> dict[str, float | None]:
    """Make the metrics of one run."""
    rtt_s = float(rtt.removesuffix("ms")) / 1000
    loss_ratio = float(loss.removesuffix("%")) / 100
    shared = rng(f"{loss} {rtt} {replicate}")
    own = rng(f"{loss} {rtt} {replicate} {transport}")
    packets = SIZE_BYTES // 1448 + 120
    connect_s = _HANDSHAKES[transport] * rtt_s + 0.00024
    completion_s = connect_s + SIZE_BYTES * 8 / RATE_BIT_S * 1.05 + 4 * rtt_s
    dropped = 0
    if loss_ratio:
        # Mathis et al. 1997: rate = MSS/RTT · 1.22/√p
        rate_byte_s = 1448 / rtt_s * 1.22 / loss_ratio**0.5
        completion_s += SIZE_BYTES / rate_byte_s * shared.uniform(0.8, 1.3)
        completion_s *= _UNDER_LOSS[transport] * own.uniform(0.985, 1.015)
        packets = int(packets / (1 - loss_ratio))
        dropped = int(own.binomial(packets, loss_ratio))
    busy_s = completion_s - connect_s
    kernel = transport != "quic"
    return {
        "connect_time_s": connect_s,
        "first_byte_s": connect_s + rtt_s,
        "completion_time_s": completion_s,
        "goodput_bit_s": SIZE_BYTES * 8 / completion_s,
        "retransmitted_packets": float(dropped),
        "wire_packets_down": float(packets),
        "wire_bytes_down": float(packets * (FRAME_BYTES - 20)),
        "wire_packets_up": float(packets // 2),
        "wire_bytes_up": float(packets // 2 * 66),
        "path_packets_down": float(packets),
        "path_dropped_down": float(dropped),
        "path_overflow_down": 0.0,
        "path_loss_down": dropped / packets,
        "path_packets_up": float(packets // 2),
        "path_dropped_up": 0.0,
        "path_overflow_up": 0.0,
        "path_loss_up": 0.0,
        "path_min_rtt_s": rtt_s + 0.00002,
        "path_rate_down_bit_s": packets * FRAME_BYTES * 8 / completion_s,
        "busy_s": busy_s if kernel else None,
        "receive_window_limited_s": busy_s * (0.12 if loss_ratio == 0 else 0) if kernel else None,
        "send_buffer_limited_s": 0.0 if kernel else None,
    }


def write_run_directory(path: Path) -> Path:
    """Write a whole run directory, `results.parquet` included: a copy of one that is made once."""
    return shutil.copytree(Path(_made().name) / "made", path, dirs_exist_ok=True)


@cache
def _made() -> tempfile.TemporaryDirectory[str]:
    """Return what is removed when the process ends, with the run directory in it."""
    place = tempfile.TemporaryDirectory(prefix="netwarp-tests-")
    _make_run_directory(Path(place.name) / "made")
    return place


def _make_run_directory(path: Path) -> None:
    directory = RunDirectory(path)
    directory.runs.mkdir(parents=True)
    study = study_from_mapping(STUDY)
    plan = plan_study(study)
    write_json(directory.study_json, study.raw)
    directory.study_toml.write_text("# What does packet loss do to a file transfer?\n")
    directory.write_plan(run.to_json() for run in plan)
    write_json(
        directory.provenance_file, _provenance() | {"equal_treatment": equal_treatment(study)}
    )
    for planned in plan:
        partial = directory.begin(planned.run)
        (partial / JOB_FILE).write_text(planned.job_json)
        failed = planned.run == FAILED_RUN
        records = records_of(planned.job, planned.cell.levels, planned.replicate, failed=failed)
        (partial / "records.jsonl").write_text("".join(record_to_json(r) + "\n" for r in records))
        (partial / "console.log").write_text("netwarp-endpoint: <giving up> & out\n")
        status = Status(
            "failed" if failed else "ok", FAILURE if failed else None, 0.5, 0.4, 90 << 20, 30.0
        )
        directory.finish(planned.run, status)
    write_results(results(), directory.results_file)


def records_of(job: Job, levels: Any, replicate: int, *, failed: bool) -> list[Record]:
    """Write down a run that would have the metrics of `metrics`: the golden records, changed."""
    if failed:
        return read_records(GOLDEN / "records-failed.jsonl")
    values = metrics(levels["transport"], levels["path.loss"], levels["path.rtt"], replicate)
    return [
        _changed(each, job, values) for each in read_records(GOLDEN / "records-bulk-quic.jsonl")
    ]


def _changed(golden: Record, job: Job, values: dict[str, float | None]) -> Record:
    end_ns = _ns(values["completion_time_s"])
    match golden:
        case Connection():
            return golden.model_copy(update=_connection(golden, job, values))
        case Transfer():
            first_byte_ns = _ns(values["first_byte_s"])
            times = {"first_byte_ns": first_byte_ns, "last_byte_ns": end_ns}
            return golden.model_copy(update={"bytes": SIZE_BYTES, **times})
        case Calibration():
            return golden.model_copy(update=_calibration(golden.direction, end_ns, values))
        case Probe():
            return golden.model_copy(update={"min_rtt_ns": _ns(values["path_min_rtt_s"])})
        case End():
            return golden.model_copy(update={"virtual_ns": end_ns})
        case _:
            return golden


def _connection(golden: Connection, job: Job, values: dict[str, float | None]) -> dict[str, Any]:
    kernel = values["busy_s"] is not None
    settings = {
        "transport": job.only.transport.kind,
        "congestion": job.only.transport.congestion,
        "paced": not kernel,
    }
    stats = {
        "retransmitted_packets": int(values["retransmitted_packets"] or 0),
        "busy_ns": _ns(values["busy_s"]) if kernel else None,
        "receive_window_limited_ns": _ns(values["receive_window_limited_s"]) if kernel else None,
        "send_buffer_limited_ns": 0 if kernel else None,
    }
    return {
        "start_ns": 0,
        "connected_ns": _ns(values["connect_time_s"]),
        "settings": golden.settings.model_copy(update=settings),
        "stats": golden.stats.model_copy(update=stats),
    }


def _calibration(direction: str, end_ns: int, values: dict[str, float | None]) -> dict[str, int]:
    packets = int(values[f"path_packets_{direction}"] or 0)
    dropped = int(values[f"path_dropped_{direction}"] or 0)
    offered_bytes = int(values[f"wire_bytes_{direction}"] or 0)
    return {
        "interval_ns": end_ns,
        "offered_packets": packets,
        "offered_bytes": offered_bytes,
        "delivered_packets": packets - dropped,
        "delivered_bytes": offered_bytes * (packets - dropped) // packets,
        "dropped_packets": dropped,
        "lost_packets": dropped,
        "left_packets": 0,
    }


def rng(text: str) -> np.random.Generator:
    """Make a generator seeded by a text."""
    return np.random.default_rng(list(text.encode()))


def _ns(value_s: float | None) -> int:
    return round((value_s or 0.0) * 1e9)


def _provenance() -> dict[str, Any]:
    return {
        "netwarp": "0.1.0",
        "backend": "virtual",
        "kernel": {"version": "7.2.9", "config_sha256": "ab" * 32, "source": "linux-source-7.2"},
        "endpoint": {"version": "0.1.0", "sha256": "cd" * 32},
        "host": {"system": "Linux 6.1", "cpu": "a CPU <&>", "cores": 2},
        "seed": 1,
        "replicates": REPLICATES,
        "command_line": ["netwarp", "run", "my study.toml"],
        "started": "2026-01-02T03:04:05+00:00",
        "virtual_s": 12345.6,
        "wall_s": 61.2,
    }


def bulk(job: Job) -> Bulk:
    """Give a job's workload, which must be of one file."""
    if not isinstance(job.only.workload, Bulk):
        raise TypeError(f"{job.run} is not bulk")
    return job.only.workload


def tables(transport: Any, /, **sections: Any) -> dict[str, Any]:
    """Make a study of one transport."""
    return {
        "title": "t",
        "replicates": 1,
        "path": {"rtt": "100ms", "rate": "50mbit"},
        "workload": {"size": "10MB"},
        "factors": {"transport": [transport]},
        **sections,
    }


def job_of(transport: Any, /, **sections: Any) -> Job:
    """Plan its one run."""
    return plan_study(study_from_mapping(tables(transport, **sections)))[0].job


def forget_hash(directory: Path, run: str) -> None:
    """Take the hash of its records out of a run's status, as a netwarp that wrote none left it."""
    file = directory / "runs" / run / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"records_sha256": None}))
