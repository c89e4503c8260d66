"""Converts the results of probes to records, and determines whether the path has changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from netwarp.backends.remote.datagrams import ClockOffset
from netwarp.measure.ranks import nearest_rank
from netwarp.wire import PathMeasurement, Record
from netwarp.wire.record import record_to_json

if TYPE_CHECKING:
    from netwarp.backends.remote.probe import Measured


def path_measurement(
    moment: Literal["before", "after", "imposed"],
    measured: Measured,
    run_offset: ClockOffset | None,
    client_busy: float | None,
) -> PathMeasurement:
    """Make the record of a measurement of the path.

    Args:
        moment: before the run, after it, or after the workload while the path is still impaired.
        measured: the results of the measurement.
        run_offset: the clock offset used for the run; clock drift since then increases the
            uncertainty. None if impairments would increase it.
        client_busy: share of this host's CPU time that was used.
    """
    rtts_ns = measured.rtts_ns

    def of_rtts(share: float) -> int | None:
        return nearest_rank(share, rtts_ns) if rtts_ns else None

    offset, uncertainty_ns = measured.offset, None
    if offset is not None and run_offset is not None:
        far = (offset.least_ns, offset.most_ns, run_offset.least_ns, run_offset.most_ns)
        uncertainty_ns = max(abs(each - run_offset.middle_ns) for each in far)
    return PathMeasurement(
        record="path_measurement",
        moment=moment,
        unix_ns=measured.at_unix_ns,
        sent=measured.sent,
        arrived=measured.arrived,
        received=len(rtts_ns),
        min_rtt_ns=min(rtts_ns, default=None),
        median_rtt_ns=of_rtts(0.5),
        p90_rtt_ns=of_rtts(0.9),
        max_rtt_ns=max(rtts_ns, default=None),
        rate_down_bit_s=measured.rate_down_bit_s,
        rate_up_bit_s=measured.rate_up_bit_s,
        clock_uncertainty_ns=uncertainty_ns,
        client_busy=client_busy,
        server_busy=measured.server_busy,
    )


def with_measurements(records: str, measurements: Sequence[Record]) -> str:
    """Insert measurements into the lines of a run's records, before the last line, which is its end
    record.
    """
    before_end = records.rfind("\n", 0, -1) + 1
    among = "".join(f"{record_to_json(each)}\n" for each in measurements)
    return f"{records[:before_end]}{among}{records[before_end:]}"
