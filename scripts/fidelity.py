#!/usr/bin/env python3
"""Holds runs in virtual time against closed forms, and writes docs/fidelity.md: `make fidelity`."""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from closed_form import (
    CONNECT_RTTS,
    in_order_share,
    lossless_completion_s,
    pftk_goodput_bit_s,
    quantile_s,
)
from netem_generator import drops
from netwarp.backends.guest_files import find_kernel
from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import run_job
from netwarp.metrics import metrics_from_records
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Calibration, Job, RandomLoss, Record, read_records
from netwarp.wording import transport_text

FILE = Path(__file__).parents[1] / "docs" / "fidelity.md"
TRANSPORTS = ("tcp", "tls", "sctp", "quic")
LOSSLESS = (
    {"rtt_s": 0.1, "rate_bit_s": 50e6, "size_bytes": 20_000_000},
    {"rtt_s": 0.02, "rate_bit_s": 100e6, "size_bytes": 20_000_000},
    {"rtt_s": 0.6, "rate_bit_s": 20e6, "size_bytes": 20_000_000},
)
PFTK_LOSSES = (0.01, 0.02, 0.04)
PFTK_REPLICATES = 6
PFTK_SIZE_BYTES = 10_000_000
NETEM_LOSSES = ((0.01, 0.0), (0.03, 0.02), (0.1, 0.1))


DISCIPLINES = ("fifo", "codel", "fq_codel", "fq", "cake", "pie", "red", "dualpi2")
SHAPED_RATE_BIT_S = 384e3
SHAPED_PAYLOAD_BYTES = 1200
SHAPED_FRAME_BYTES = SHAPED_PAYLOAD_BYTES + 14 + 20 + 8
JITTER_MEAN_S, JITTER_SPREAD_S = 10e-3, 2e-3
JITTER_INTERVALS_S = (5e-3, 1e-3, 0.2e-3)
JITTER_PACKETS = 100_000
JITTER_SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Row:
    """One quantity: what a closed form says, and what a run measured."""

    what: str
    expected: float
    measured: float

    @property
    def deviation(self) -> float:
        """How far the measured value is from the expected one, as a share of it."""
        return self.measured / self.expected - 1


Ran = tuple[Job, list[Record]]


def lossless_rows(place: Path) -> tuple[list[Row], list[Row]]:
    """Compare connection and completion times where nothing is lost."""
    connecting, completing = [], []
    for number, condition in enumerate(LOSSLESS):
        path = {
            "rtt": f"{condition['rtt_s'] * 1e3:g}ms",
            "rate": f"{condition['rate_bit_s'] / 1e6:g}mbit",
            "queue": "30bdp",
        }
        size = f"{condition['size_bytes']}B"
        for job, records in ran(place / str(number), path, TRANSPORTS, size=size):
            kind = job.only.transport.kind
            metrics = metrics_from_records(job, records)
            what = f"{transport_text(kind)}, {path['rtt']}, {path['rate']}"
            whole = CONNECT_RTTS[kind] * condition["rtt_s"]
            connecting.append(Row(what, whole, metrics["connect_time_s"]))
            formula_s = lossless_completion_s(
                kind,
                size_bytes=int(condition["size_bytes"]),
                rate_bit_s=condition["rate_bit_s"],
                rtt_s=condition["rtt_s"],
            )
            completing.append(Row(what, formula_s, metrics["completion_time_s"]))
    return connecting, completing


def pftk_rows(place: Path) -> list[Row]:
    """Compare the mean goodput of Reno under loss, in Mbit/s."""
    rows = []
    reno = {"kind": "tcp", "congestion": "reno", "label": "reno"}
    for loss in PFTK_LOSSES:
        path = {"rtt": "100ms", "loss": f"{loss * 100:g}%"}
        runs = ran(
            place / f"pftk-{loss}", path, [reno], replicates=PFTK_REPLICATES,
            size=f"{PFTK_SIZE_BYTES}B", verify=False,
        )  # fmt: skip
        times = [metrics_from_records(job, records)["completion_time_s"] for job, records in runs]
        measured = PFTK_SIZE_BYTES * 8 * len(times) / sum(times)
        formula = pftk_goodput_bit_s(loss=loss, rtt_s=0.1, mss_bytes=1448)
        rows.append(Row(f"loss {loss * 100:g} %", formula / 1e6, measured / 1e6))
    return rows


def netem_rows(place: Path) -> list[Row]:
    """Compare the packets lost in each direction with netem's own draws for the run's seed."""
    rows = []
    for down, up in NETEM_LOSSES:
        path = {"rtt": "20ms", "loss_down": f"{down * 100:g}%", "loss_up": f"{up * 100:g}%"}
        for job, records in ran(place / f"netem-{down}", path, TRANSPORTS, size="5MB"):
            name = transport_text(job.only.transport.kind)
            rows += [
                Row(f"{name}, {found.direction}, {ratio * 100:g} %",
                    recomputed, found.lost_packets or 0)
                for found, ratio, recomputed in recomputed_drops(job, records)
            ]  # fmt: skip
    return rows


def shaping_rows(place: Path) -> tuple[list[Row], list[Row]]:
    """Compare datagrams' delays (ms) on an idle link, and the rate (kbit/s) of a busy one."""
    idle, busy = [], []
    frame_s = SHAPED_FRAME_BYTES * 8 / SHAPED_RATE_BIT_S
    for kind in DISCIPLINES:
        path = {"rtt": "50ms", "rate": "384kbit", "queue": "40p", "discipline": kind}
        flow: dict[str, Any] = {
            "kind": "flow",
            "payload": f"{SHAPED_PAYLOAD_BYTES}B",
            "packet_table": True,
        }
        alone, crowded = place / f"idle-{kind}", place / f"busy-{kind}"
        ran(alone, path, ["udp"], **flow, interval="200ms", count=20)
        ran(crowded, path, ["udp"], **flow, rate="800kbit", count=600)
        delays_s = [received_s - sent_s for sent_s, received_s in packet_times_s(alone)]
        idle.append(Row(kind, 1e3 * (0.025 + frame_s), 1e3 * sum(delays_s) / len(delays_s)))
        received_s = [each for _, each in packet_times_s(crowded)]
        sent_bits = (len(received_s) - 1) * SHAPED_FRAME_BYTES * 8
        rate_bit_s = sent_bits / (received_s[-1] - received_s[0])
        busy.append(Row(kind, SHAPED_RATE_BIT_S / 1e3, rate_bit_s / 1e3))
    return idle, busy


def jitter_rows(place: Path) -> list[Row]:
    """Compare quantiles of the delays (ms) of packets that draw them and stay in order."""
    rows = []
    for interval_s in JITTER_INTERVALS_S:
        interval = f"{interval_s * 1e3:g} ms apart"
        run_place = place / f"jitter-{interval_s}"
        path = {"delay": f"{JITTER_MEAN_S * 1e3:g}ms", "jitter": f"{JITTER_SPREAD_S * 1e3:g}ms"}
        ran(
            run_place, path, ["udp"], kind="flow", payload="100B", packet_table=True,
            interval=f"{interval_s * 1e6:g}us", count=JITTER_PACKETS,
        )  # fmt: skip
        delays_s = sorted(received_s - sent_s for sent_s, received_s in packet_times_s(run_place))
        asked = {"mean_s": JITTER_MEAN_S, "spread_s": JITTER_SPREAD_S, "interval_s": interval_s}
        for share in JITTER_SHARES:
            expected_s = quantile_s(
                partial(in_order_share, **asked), share, JITTER_MEAN_S, JITTER_SPREAD_S
            )
            measured_s = delays_s[round(share * len(delays_s))]
            rows.append(Row(f"{interval}, p{share * 100:g}", 1e3 * expected_s, 1e3 * measured_s))
    return rows


def packet_times_s(place: Path) -> list[tuple[float, float]]:
    """Give when each datagram of a study's only run was sent and received, in order of arrival."""
    (table_file,) = place.glob("*/packets.csv")
    with table_file.open() as file:
        rows = list(csv.DictReader(file))
    return [(int(row["sent_ns"]) / 1e9, int(row["received_ns"]) / 1e9) for row in rows]


def recomputed_drops(
    job: Job, records: Sequence[Record]
) -> Iterator[tuple[Calibration, float, int]]:
    """Give what each lossy direction of a run delivered, its loss, and the drops of its seed."""
    for record in records:
        if isinstance(record, Calibration):
            impairments = getattr(job.paths[record.path], record.direction)
            if isinstance(impairments.loss, RandomLoss):
                ratio = impairments.loss.ratio
                yield record, ratio, drops(impairments.seed, record.offered_packets, ratio)


def ran(
    place: Path,
    path: dict[str, Any],
    transports: Sequence[Any],
    replicates: int = 1,
    **workload: Any,
) -> list[Ran]:
    """Carry out a study of one condition.

    Raises:
        RuntimeError: a run failed.
    """
    study = study_from_mapping(
        {
            "title": "fidelity",
            "replicates": replicates,
            "path": path,
            "workload": {"kind": "bulk", **workload},
            "factors": {"transport": list(transports)},
        }
    )
    backend = VirtualBackend()
    done = []
    for planned in plan_study(study):
        outcome = run_job(backend, planned.job, place / planned.run)
        if outcome.failed:
            raise RuntimeError(f"{planned.run} failed: {outcome.status.reason}")
        done.append((planned.job, read_records(place / planned.run / RECORDS_FILE)))
    return done


@dataclass(frozen=True)
class Found:
    """All that is compared."""

    connecting: Sequence[Row]
    completing: Sequence[Row]
    pftk: Sequence[Row]
    netem: Sequence[Row]
    idle: Sequence[Row]
    busy: Sequence[Row]
    jitter: Sequence[Row]


def document(found: Found, kernel: str) -> str:
    """Write the page."""
    equal = sum(row.expected == row.measured for row in found.netem)
    return f"""# How true is virtual time?

<!-- Written by scripts/fidelity.py: `make fidelity` measures it again. -->

Runs of the guest kernel {kernel} against what can be worked out without it. The formulas are in
[scripts/closed_form.py](../scripts/closed_form.py), netem's generator in
[scripts/netem_generator.py](../scripts/netem_generator.py); tests hold such bounds each time they
run (tests/guest/test_truth.py).

## Connection times

Whole round trips: one for TCP and QUIC, two for TLS 1.3 over TCP and for SCTP. What is above them
are the handshakes' bytes on the link.

{table(found.connecting, "round trips (s)", "measured (s)", 4)}

## Completion without loss

20 MB: handshake, request, slow start until the link is full, then the rest at the link's rate with
every header counted. The kernel's SCTP opens its window with every SACK; the formula takes that for
half as much again in each round trip, an approximation that explains SCTP's larger deviations.

{table(found.completing, "closed form (s)", "measured (s)", 3)}

## Reno under loss

Means of {PFTK_REPLICATES} runs of 10 MB against Padhye, Firoiu, Towsley and Kurose 1998
(equation 32), RTT 100 ms. The formula itself is no closer to a real TCP than some tens of per cent;
the bound of the test is 35 %.

{table(found.pftk, "formula (Mbit/s)", "measured (Mbit/s)", 2)}

## Losses, packet by packet

netem draws once for each packet that it is offered. From a run's seed the draws can be computed
without the kernel; {equal} of {len(found.netem)} counts are equal.

{table(found.netem, "recomputed (packets)", "lost (packets)", 0)}

## When the last bit arrives

Datagrams of {SHAPED_PAYLOAD_BYTES} bytes over 384 kbit/s and 25 ms, behind each queueing
discipline. On an idle link they take the delay and their own time on the link; a busy one, which is
offered twice its rate, sends one after another. tests/guest/test_shaping.py has other rates and
sizes, rates that change, and traces.

{table(found.idle, "closed form (ms)", "measured (ms)", 3)}

{table(found.busy, "rate (kbit/s)", "measured (kbit/s)", 3)}

## Delays that vary, in order

{JITTER_PACKETS} datagrams over 10 ms with a jitter of 2 ms, uniform. Each draws a delay of its own
and overtakes none. Where they are further apart than delays differ, they have the delays that they
drew; closer together, a delay is the largest of what those before have left, whose distribution is
a product ([decision 74](decisions/0074-jitter-keeps-packets-in-order.md)).
tests/guest/test_jitter_order.py bounds the whole distributions.

{table(found.jitter, "closed form (ms)", "measured (ms)", 3)}

## What this does not show

CPU time is free in virtual time: nothing here says how fast a real host would be where its CPU is
the limit. `netwarp doctor --speed` measures where that begins on yours.
"""


def table(rows: Sequence[Row], expected: str, measured: str, digits: int) -> str:
    """Lay rows out as Markdown."""
    head = f"| | {expected} | {measured} | deviation |\n| --- | ---: | ---: | ---: |"
    lines = (
        f"| {row.what} | {row.expected:.{digits}f} | {row.measured:.{digits}f}"
        f" | {deviation_text(row)} |"
        for row in rows
    )
    return "\n".join([head, *lines])


def deviation_text(row: Row) -> str:
    """Write a deviation as per cent, and none as what it is."""
    if row.expected == row.measured:
        return "none"
    return f"{row.deviation * 100:+.2f} %" if row.expected else "–"


def main() -> int:
    """Measure, and write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="netwarp-fidelity-") as temporary:
        place = Path(temporary)
        connecting, completing = lossless_rows(place)
        idle, busy = shaping_rows(place)
        found = Found(
            connecting, completing, pftk_rows(place), netem_rows(place), idle, busy,
            jitter_rows(place),
        )  # fmt: skip
    text = document(found, str(find_kernel().info["version"]))
    FILE.write_text(text, encoding="utf-8")
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
