"""An upload between two hosts ends by the server's clock, and is refused where that says little."""

from __future__ import annotations

import pytest

import support
from netwarp import wire
from netwarp.metrics import failure_from_records

JOB = support.job_of("quic", workload={"kind": "bulk", "size": "10MB", "direction": "up"})
END_NS = 100_000_000


def upload(uncertainty_ns: int | None) -> list[wire.Record]:
    """An upload that took 100 ms, between clocks that are known so well."""
    found: list[wire.Record] = []
    for each in wire.read_records(support.GOLDEN / "records-bulk-quic.jsonl"):
        if isinstance(each, wire.Connection):
            found.append(each.model_copy(update={"start_ns": 0}))
        elif isinstance(each, wire.Transfer):
            size_bytes = support.SIZE_BYTES
            found.append(
                each.model_copy(
                    update={"bytes": size_bytes, "last_byte_ns": END_NS, "sha256": "0" * 64}
                )
            )
        elif not isinstance(each, wire.End):
            found.append(each)
    remote = wire.read_records(support.GOLDEN / "records-remote.jsonl")
    (before, *_) = (each for each in remote if isinstance(each, wire.PathMeasurement))
    found.append(before.model_copy(update={"clock_uncertainty_ns": uncertainty_ns}))
    end = wire.End(record="end", virtual_ns=END_NS, failure=None)
    return [*found, end]


@pytest.mark.parametrize("uncertainty_ns", [None, 9_000_000])
def test_an_upload_is_as_good_as_its_clocks(uncertainty_ns: int | None) -> None:
    assert failure_from_records(JOB, upload(uncertainty_ns)) is None


def test_an_upload_whose_end_nobody_knows_has_failed() -> None:
    failure = failure_from_records(JOB, upload(11_000_000))
    assert failure is not None
    assert "±11.00 ms, and more than 10% is too uncertain: send more" in failure.message


def test_a_download_ends_by_the_clients_clock() -> None:
    job = support.job_of("quic", workload={"kind": "bulk", "size": "10MB"})
    assert failure_from_records(job, upload(11_000_000)) is None
