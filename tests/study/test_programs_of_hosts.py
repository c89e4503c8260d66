"""Programs on hosts of a network: what a job has of them, and what is refused where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.metrics import metric_named, metrics_from_records, possible_metrics
from netwarp.plan import plan_study
from netwarp.study import Study, study_from_mapping
from netwarp.wire import End, OfWorkload, Program, Record

PROXY = {"host": "proxy", "command": "relay {server} {port}", "ready": "port:8080"}
GET: dict[str, Any] = {
    "name": "get",
    "kind": "command",
    "from": "client",
    "to": "server",
    "server": "serve",
    "client": "curl http://proxy:8080/{what}",
    "ready": "port:80",
    "words": {"what": "file"},
    "program": [PROXY],
    "metrics": {
        "total_s": {"json": "total_s"},
        "relayed_bytes": {"regex": "relayed (.*)", "program": "proxy"},
    },
}
LINKS = [
    {"between": ["client", "near"], "rtt": "20ms"},
    {"between": ["proxy", "near"]},
    {"between": ["near", "far"], "rtt": "100ms", "name": "long"},
    {"between": ["far", "server"]},
]


def study(*workloads: dict[str, Any], hosts: tuple[str, ...] = (), **tables: Any) -> Study:
    written = {
        "title": "programs",
        "replicates": 1,
        "host": [{"name": name} for name in hosts or ("client", "proxy", "server")],
        "router": [{"name": "near"}, {"name": "far"}],
        "link": LINKS,
        "workload": [*workloads] or [GET],
    }
    return study_from_mapping(written | tables)


def the_job(*workloads: dict[str, Any]) -> wire.Job:
    (run,) = plan_study(study(*workloads))
    return run.job


def refused(*workloads: dict[str, Any], **tables: Any) -> StudyError:
    with pytest.raises(StudyError) as found:
        study(*workloads, **tables)
    return found.value


def program(host: str, side: wire.Side, printed: str = "") -> OfWorkload:
    line = Program(
        record="program", side=side, started_ns=5, ready_ns=9 if side == "server" else None,
        ended_ns=1_000_000_005, exit_status=0, signal=None, stdout_bytes=len(printed),
        stderr_bytes=0, stdout=printed, host=host,
    )  # fmt: skip
    return OfWorkload(record="of_workload", workload="get", line=line)


def test_a_job_has_the_programs_in_their_order_with_placeholders_filled() -> None:
    second = {"host": "other", "command": ["sleep", "1"], "ready": "line:up"}
    hosts = ("client", "proxy", "server", "other")
    links = [*LINKS, {"between": ["other", "far"]}]
    planned = plan_study(study(GET | {"program": [PROXY, second]}, hosts=hosts, link=links))
    (job,) = (each.job for each in planned)
    command = job.only.workload
    assert isinstance(command, wire.Command)
    assert command.client == ("/bin/sh", "-c", "curl http://proxy:8080/file")
    assert [each.host for each in command.programs] == ["proxy", "other"]
    assert command.programs[0].command == ("/bin/sh", "-c", "relay server 80")
    assert command.programs[1].ready == wire.Line(kind="line", pattern="up")
    assert command.metrics[1].host == "proxy"


def test_a_command_between_two_hosts_says_nothing_of_further_programs_in_its_job() -> None:
    two = {"title": "t", "path": {"rtt": "20ms"}}
    alone = two | {"workload": {"kind": "command", "server": "true", "client": "true"}}
    (run,) = plan_study(study_from_mapping(alone | {"replicates": 1}))
    assert "programs" not in run.job.only.workload.to_json()


def test_numbers_are_read_of_the_program_that_printed_them() -> None:
    job = the_job()
    records: list[Record] = [
        program("server", "server"),
        program("proxy", "server", "relayed 17\n"),
        program("client", "client", '{"total_s": 0.24}\n'),
        End(record="end", virtual_ns=2, failure=None),
    ]
    metrics = metrics_from_records(job, records)
    assert metrics["get.total_s"] == 0.24
    assert metrics["get.relayed_bytes"] == 17
    assert metrics["get.run_time_s"] == 1
    assert metric_named("get.relayed_bytes").unit == "B"
    assert {"get.total_s", "get.run_time_s"} <= set(possible_metrics(job))
    for missing, whose in (
        (records[0], "the server's program"),
        (records[1], "the program of proxy"),
        (records[2], "the client's program"),
    ):
        with pytest.raises(ValueError, match=f"{whose} has no record"):
            metrics_from_records(job, [each for each in records if each is not missing])


def test_a_factor_varies_the_host_of_the_client_and_a_word() -> None:
    hosts = ("near1", "far1", "server")
    links = [
        {"between": ["near1", "near"], "rtt": "20ms"},
        {"between": ["near", "far"]},
        {"between": ["far1", "far"]},
        {"between": ["far", "server"]},
    ]
    asked = GET | {"program": [], "metrics": {}, "client": "ask {client} {what}"}
    del asked["words"]
    factors = {"workload.get.from": ["near1", "far1"], "command.what": ["a", "b"]}
    made = study(asked, hosts=hosts, link=links, factors=factors)
    ends = {
        (job.only.ends.client, job.only.workload.client[2])
        for job in (cell.template for cell in made.cells)
        if job.only.ends is not None and isinstance(job.only.workload, wire.Command)
    }
    assert ends == {(host, f"ask client {what}") for host in ("near1", "far1") for what in "ab"}


@pytest.mark.parametrize(
    ("change", "key", "part"),
    [
        (
            {"program": [PROXY | {"host": "nobody"}], "metrics": {}},
            "program.0.host",
            "the hosts are client, proxy",
        ),
        ({"program": [PROXY, PROXY]}, "program.1.host", "another program runs there"),
        (
            {"program": [PROXY | {"host": "server"}], "metrics": {}},
            "program.0.host",
            "start both in one command",
        ),
        ({"to": "proxy", "program": [], "metrics": {}}, "to", "another host is called server"),
        ({"program": [], "words": {}}, "metrics.relayed_bytes.program", "are client, server"),
        ({"program": [{"host": "proxy"}]}, "program.0.command", "missing"),
    ],
)
def test_programs_that_cannot_be_are_refused(change: Any, key: str, part: str) -> None:
    error = refused(GET | change)
    assert error.key == f"workload.0.{key}"
    assert part in str(error)


def test_programs_share_a_run_with_nobody_and_need_a_network() -> None:
    transfer = {"name": "bulk", "kind": "bulk", "size": "1MB", "transport": "tcp"}
    beside = refused(GET, transfer | {"from": "client", "to": "server"})
    assert beside.key == "workload.0.kind"
    assert "share a run with nobody" in str(beside)
    two = {"title": "t", "path": {"rtt": "20ms"}}
    alone = {key: value for key, value in GET.items() if key not in ("name", "from", "to")}
    with pytest.raises(StudyError, match="there is one client and one server") as found:
        study_from_mapping(two | {"workload": alone})
    assert found.value.key == "workload.program.0.host"


def test_levels_of_programs_are_named_by_their_keys() -> None:
    other = PROXY | {"command": "cache {server}"}
    factors = {"workload.get.program": [[PROXY], [other]]}
    labels = [cell.levels["workload.get.program"] for cell in study(factors=factors).cells]
    assert labels == [
        "host proxy command relay {server} {port} ready port:8080",
        "host proxy command cache {server} ready port:8080",
    ]
