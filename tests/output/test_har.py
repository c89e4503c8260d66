"""HAR of pages that were loaded: valid, and its timings add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from netwarp.wire import Connection, Job, Record, Resource, read_records
from netwarp.workloads import HttpArchive, workload_of
from support import job_of

SCHEMA = json.loads((Path(__file__).parent / "har-1.2.schema.json").read_text())
GOLDEN = Path(__file__).parents[1] / "golden" / "records-page.jsonl"
MS = 1_000_000


def archive(job: Job, records: list[Record]) -> HttpArchive:
    found = workload_of(job).http_archive(job, records, "a load")
    assert found is not None
    return found


def document(found: HttpArchive) -> dict[str, Any]:
    creator = {"name": "netwarp", "version": "1"}
    log = {"version": "1.2", "creator": creator, "pages": [found.page], "entries": found.entries}
    made: dict[str, Any] = json.loads(json.dumps({"log": log}))
    return made


def job() -> Job:
    return job_of("tls", workload={"kind": "page", "page": "nam-2021"})


def test_the_golden_load_is_valid() -> None:
    found = archive(job(), read_records(GOLDEN))
    jsonschema.validate(document(found), SCHEMA)
    assert len(found.entries) == 8
    assert found.page["pageTimings"]["onLoad"] == pytest.approx(1665.897728)
    assert found.page["startedDateTime"] == "1970-01-01T00:00:00.000003Z"


def test_the_schema_finds_what_is_wrong() -> None:
    spoilt = document(archive(job(), read_records(GOLDEN)))
    del spoilt["log"]["entries"][0]["timings"]["wait"]
    with pytest.raises(jsonschema.ValidationError, match="'wait' is a required property"):
        jsonschema.validate(spoilt, SCHEMA)


def test_timings_add_up_to_the_time_of_the_entry() -> None:
    for entry in archive(job(), read_records(GOLDEN)).entries:
        parts = [value for name, value in entry["timings"].items() if value >= 0 and name != "ssl"]
        assert sum(parts) == pytest.approx(entry["time"])


def test_connecting_is_of_the_first_request_alone() -> None:
    first, *rest = archive(job(), read_records(GOLDEN)).entries
    assert first["timings"]["connect"] == pytest.approx(400.499456)
    assert first["timings"]["blocked"] == pytest.approx(0.003584, abs=0.001)
    assert {entry["timings"]["connect"] for entry in rest} == {-1}
    assert first["request"]["url"] == "https://netwarp.test/"
    assert {entry["_initiator"]["url"] for entry in rest} == {"https://netwarp.test/"}


def test_a_request_may_wait_for_a_connection_that_was_begun_before_it() -> None:
    def late(record: Record) -> Record:
        if isinstance(record, Resource) and record.request == 0:
            return record.model_copy(update={"fetch_start_ns": 300 * MS})
        return record

    records = [late(each) for each in read_records(GOLDEN)]
    (connection,) = (e for e in records if isinstance(e, Connection) and e.side == "client")
    found = next(e for e in archive(job(), records).entries if e["timings"]["connect"] >= 0)
    assert found["timings"]["connect"] == pytest.approx((connection.connected_ns - 300 * MS) / MS)


def test_a_load_that_broke_off_has_no_load_event() -> None:
    kept = [e for e in read_records(GOLDEN) if not isinstance(e, Resource) or e.resource != 7]
    found = archive(job(), kept)
    jsonschema.validate(document(found), SCHEMA)
    assert (len(found.entries), found.page["pageTimings"]["onLoad"]) == (7, -1)


def test_other_workloads_have_none() -> None:
    other = job_of("tcp", workload={"size": "1MB"})
    assert workload_of(other).http_archive(other, [], "a file") is None
