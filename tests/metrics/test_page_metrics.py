"""Metrics of a page, against the golden load and loads written down by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from netwarp.metrics import METRICS, failure_from_records, metrics_from_records
from netwarp.wire import Job, Record, Resource, read_records
from support import job_of

GOLDEN = Path(__file__).parents[1] / "golden" / "records-page.jsonl"
MS = 1_000_000


def job() -> Job:
    return job_of("tls", workload={"kind": "page", "page": "nam-2021"})


def golden() -> list[Record]:
    return read_records(GOLDEN)


def with_resources(change: dict[int, dict[str, object]]) -> list[Record]:
    """Give the golden load with some resources' records changed."""
    return [
        each.model_copy(update=change.get(each.resource, {}))
        if isinstance(each, Resource)
        else each
        for each in golden()
    ]


def test_the_golden_load() -> None:
    found = metrics_from_records(job(), golden())
    wanted = {
        "connect_time_s": 0.400499456,
        "first_byte_s": 0.601286912,
        "first_render_s": 1.430927616,
        "page_load_time_s": 1.665896448,
        "goodput_bit_s": 8 * 395_000 / 1.665896448,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)
    assert "completion_time_s" not in found
    assert list(found) == [name for name in METRICS if name in found]


def test_waiting_is_before_the_request_and_after_it() -> None:
    at = {"fetch_start_ns": 100 * MS, "request_start_ns": 140 * MS, "response_start_ns": 200 * MS}
    done: dict[str, object] = {**at, "response_end_ns": 300 * MS}
    records = with_resources(dict.fromkeys(range(8), done))
    found = metrics_from_records(job(), records)
    assert found["blocked_s"] == pytest.approx(0.04)
    assert found["wait_s"] == pytest.approx(0.06)
    assert found["resource_load_time_s"] == pytest.approx(0.2)


def test_images_load_the_page_but_do_not_hold_up_what_is_shown() -> None:
    before = metrics_from_records(job(), golden())
    found = metrics_from_records(job(), with_resources({5: {"response_end_ns": 9000 * MS}}))
    assert found["page_load_time_s"] == pytest.approx(9, abs=1e-4)
    assert found["first_render_s"] == before["first_render_s"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": 404}, "/image-2.webp was answered with 404, not 200"),
        ({"bytes": 7}, "/image-2.webp has 7 of 60000 bytes"),
        ({"sha256": None}, "/image-2.webp was not hashed"),
        ({"resource": 0}, "/ has 2 records"),
    ],
)
def test_a_page_that_did_not_come_as_it_is_failed(change: dict[str, object], message: str) -> None:
    failure = failure_from_records(job(), with_resources({4: change}))
    assert failure is not None
    assert message in failure.message


def test_a_resource_that_did_not_come_is_named() -> None:
    missing: Sequence[Record] = [
        each for each in golden() if not isinstance(each, Resource) or each.resource != 7
    ]
    failure = failure_from_records(job(), missing)
    assert failure is not None
    assert "/image-5.webp has 0 records" in failure.message
