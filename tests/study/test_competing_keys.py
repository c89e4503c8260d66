"""The keys of several workloads: what each is given, what factors vary, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.study import Study, load_study, study_from_mapping
from netwarp.wire import job_from_json, job_sha256, job_to_json

PATH = {"rtt": "20ms", "rate": "20mbit", "queue": "1bdp"}
ONE: dict[str, Any] = {"name": "one", "kind": "bulk", "transport": "tcp", "stop": "10s"}
TWO: dict[str, Any] = {"name": "two", "kind": "bulk", "transport": "quic", "start": "1s"}
TWO = TWO | {"stop": "9s"}
PING: dict[str, Any] = {"name": "ping", "kind": "rr", "transport": "udp", "interval": "20ms"}
PING = PING | {"stop": "8s"}


def study(*workloads: Any, **tables: Any) -> Study:
    return study_from_mapping(
        {"title": "several", "replicates": 2, "path": PATH, "workload": list(workloads)} | tables
    )


def jobs(*workloads: Any, **tables: Any) -> list[wire.Job]:
    return [run.job for run in plan_study(study(*workloads, **tables))]


def test_each_workload_has_a_transport_a_port_and_a_time_of_its_own() -> None:
    job, _ = jobs(ONE, TWO, PING | {"port": 7})
    one, two, ping = job.workloads
    assert [each.name for each in job.workloads] == ["one", "two", "ping"]
    assert [each.transport.kind for each in job.workloads] == ["tcp", "quic", "udp"]
    assert [each.port for each in job.workloads] == [4433, 4434, 7]
    assert [each.start_ns for each in job.workloads] == [0, 1_000_000_000, 0]
    assert isinstance(one.workload, wire.Bulk)
    assert isinstance(two.workload, wire.Bulk)
    assert (one.workload.duration_ns, two.workload.duration_ns) == (10**10, 8 * 10**9)
    assert one.workload.content.size_bytes == 25_000_001, "more than passes in ten seconds"
    assert not one.workload.verify, "what is broken off has no hash"
    assert isinstance(ping.workload, wire.RequestResponse)
    assert ping.workload.duration_ns == 8 * 10**9
    assert [each.workloads for each in job.each_alone] == [(one,), (two,), (ping,)]


def test_what_they_draw_is_each_ones_own_and_the_same_beside_others_and_alone() -> None:
    beside = plan_study(study(ONE, PING | {"arrivals": "poisson", "start_jitter": "100ms"}))
    alone = plan_study(
        study(
            ONE,
            PING | {"arrivals": "poisson", "start_jitter": "100ms"},
            factors={"workloads": ["ping"]},
        )
    )
    seeds = []
    for run, single in zip(beside, alone, strict=True):
        one, ping = run.job.workloads
        assert isinstance(one.workload, wire.Bulk)
        assert isinstance(one.workload.content, wire.Seeded)
        assert isinstance(ping.workload, wire.RequestResponse)
        seeds += [one.workload.content.seed, ping.workload.seed]
        assert (single.job.only.name, single.job.only.workload) == ("ping", ping.workload)
        assert single.job.only.start_ns == ping.start_ns != 0
    assert len({*seeds}) == 4
    assert beside[0].job.workloads[1].start_ns != beside[1].job.workloads[1].start_ns


def test_a_job_is_the_same_however_it_is_written() -> None:
    workloads = (ONE | {"start_jitter": "50ms"}, TWO | {"start_jitter": "1s"}, PING)
    for planned in plan_study(study(*workloads, factors={"workloads": ["all", "ping+two"]})):
        assert job_to_json(job_from_json(planned.job_json)) == planned.job_json
        assert planned.job_sha256 == job_sha256(planned.job)


def test_factors_vary_each_of_them() -> None:
    levels: dict[str, list[Any]] = {
        "workload.two.transport": ["quic", {"kind": "tcp", "congestion": "bbr", "label": "bbr"}],
        "workload.two.start": ["1s", "2s"],
        "workload.one.direction": ["down", "up"],
        "path.rtt": ["20ms", "40ms"],
        "workloads": ["all", "two"],
    }
    two = {key: value for key, value in TWO.items() if key not in ("transport", "start")}
    found = study(ONE, two, factors=levels)
    assert len(found.cells) == 32
    cell = next(each for each in found.cells if [*each.levels.values()][:2] == ["bbr", "2s"])
    one, other = cell.workloads
    assert other.sections.transport.congestion == "bbr"
    assert other.start_ns == 2 * 10**9
    assert one.sections.workload.content_direction == "down"
    alone = [each for each in found.cells if each.levels["workloads"] == "two"]
    assert all([one.name for one in each.workloads] == ["two"] for each in alone)


def test_the_factor_transport_is_for_those_without_one() -> None:
    without = {key: value for key, value in TWO.items() if key != "transport"}
    found = study(ONE, without, factors={"transport": ["sctp", "tls"]})
    kinds = [[one.sections.transport.kind for one in each.workloads] for each in found.cells]
    assert kinds == [["tcp", "sctp"], ["tcp", "tls"]]


def test_a_queue_is_sized_for_the_content_that_goes_its_way() -> None:
    job, _ = jobs(ONE, TWO | {"direction": "up"})
    both, _ = jobs(ONE, TWO)
    assert job.paths[0].up.queue_packets == job.paths[0].down.queue_packets
    in_acknowledgements, in_data = both.paths[0].up.queue_packets, both.paths[0].down.queue_packets
    assert in_acknowledgements is not None
    assert in_data is not None
    assert in_acknowledgements > in_data, "of small packets"


def test_equal_treatment_lists_each_workload() -> None:
    rows = equal_treatment(study(ONE, TWO))
    congestion = {row["transport"]: row["value"] for row in rows if row["setting"] == "encryption"}
    assert congestion == {"one: tcp": "none", "two: quic": "TLS 1.3"}


WEB: dict[str, Any] = {"name": "web", "kind": "page", "page": "web-30", "transport": "tls"}
WEB = WEB | {"client": "chromium"}
CALL: dict[str, Any] = {"name": "call", "kind": "flow", "transport": "udp", "rate": "1mbit"}
CALL = CALL | {"stop": "1s"}
CUBIC = {"kind": "tcp", "congestion": "cubic"}


@pytest.mark.parametrize(
    ("workloads", "tables", "key", "reason"),
    [
        ([ONE, TWO | {"name": "one"}], {}, "workload.1.name", "two workloads have this name"),
        ([ONE | {"name": "all"}], {}, "workload.0.name", "it stands for all"),
        ([ONE | {"name": "A b"}], {}, "workload.0.name", "should match pattern"),
        ([{**ONE, "name": None}], {}, "workload.0.name", "should be a valid string"),
        (["bulk"], {}, "workload.0", "not a table"),
        ([], {}, "workload", "there is none"),
        ([ONE, TWO | {"port": 4433}], {}, "workload.1.port", "would listen on one port"),
        ([ONE | {"port": 0}], {}, "workload.0.port", "too small"),
        ([ONE, TWO | {"start": "9s"}], {}, "workload.1.stop", "it begins after 9s"),
        ([ONE, TWO], {"limits": {"virtual_s": 10}}, "workload.0.stop", "given up after 10s"),
        ([PING], {"limits": {"virtual_s": 8}}, "workload.0.stop", "given up after 8s"),
        (
            [ONE | {"stop": "8s"}, TWO | {"start": "9s", "stop": "11s"}],
            {"limits": {"virtual_s": 10}},
            "workload.1.stop",
            "two would go on until 11s",
        ),
        (
            [ONE, {**TWO, "size": "1MB", "start": "9s", "stop": None}],
            {"limits": {"virtual_s": 9}},
            "workload.0.stop",
            "given up after 9s",
        ),
        ([ONE | {"duration": "1s"}], {}, "workload.0.stop", "stop says when it ends"),
        ([ONE | {"verify": True}], {}, "workload.0.verify", "has no hash to compare"),
        ([ONE | {"transfers": 2}], {}, "workload.0.transfers", "is sent once"),
        ([ONE], {"path": {"rtt": "20ms"}}, "workload.0.size", "no rate bounds what arrives"),
        (
            [{"name": "film", "kind": "stream", "transport": "tcp", "stop": "9s"}],
            {},
            "workload.0.stop",
            "a stream ends when all of it is done",
        ),
        (
            [ONE, WEB],
            {},
            "workload.1.kind",
            "share a run with nobody",
        ),
        ([{**ONE, "transport": None}], {}, "workload.0.transport", "no transport is named"),
        ([ONE | {"transport": "tpc"}], {}, "workload.0.transport", "unknown"),
        (
            [ONE | {"transport": CUBIC | {"mss": 9999}}],
            {},
            "workload.0.transport.mss",
            "do not fit an MTU",
        ),
        (
            [ONE, TWO | {"transport": CUBIC | {"ecn": True}}],
            {},
            "workload.1.transport",
            "whose ecn is one for all",
        ),
        (
            [ONE, TWO | {"transport": CUBIC | {"initial_window": 3}}],
            {},
            "workload.1.transport",
            "whose initial_window is one for all",
        ),
        (
            [ONE, TWO | {"transport": CUBIC | {"buffer": "1MiB"}}],
            {},
            "workload.1.transport",
            "whose buffer is one for all",
        ),
        (
            [ONE, TWO | {"transport": {"kind": "tls", "timestamps": False}}],
            {},
            "workload.1.transport",
            "whose timestamps is one for all",
        ),
        (
            [ONE | {"transport": "tcp"}, TWO | {"transport": {"kind": "tls", "hystart": False}}],
            {},
            "workload.1.transport",
            "whose hystart is one for all",
        ),
        (
            [ONE | {"direction": "up", "transport": {"kind": "tcp", "model": "ns3"}}, TWO],
            {},
            "workload.1.transport",
            "share a run, which is ns-3's or the kernel's",
        ),
        (
            [ONE],
            {"path": PATH | {"handovers": {"every": "5s", "count": 2}, "second": PATH}},
            "path.handovers",
            "",
        ),
        (
            [{**CALL, "packet_table": True}],
            {},
            "workload.0.packet_table",
            "of a run's only workload",
        ),
        ([ONE | {"sise": "1MB"}], {}, "workload.0.sise", "unknown key"),
        ([ONE], {"factors": {"workload.size": ["1MB"]}}, 'factors."workload.size"', "nothing"),
        ([ONE], {"factors": {"workload.on.size": ["1MB"]}}, None, "nothing of this name"),
        ([ONE], {"factors": {"workload.one.name": ["x"]}}, None, "nothing of this name"),
        ([ONE], {"factors": {"workload.one.stop": ["10"]}}, 'factors."workload.one.stop"', ""),
        ([ONE], {"factors": {"workload.one.stop": ["0s"]}}, 'factors."workload.one.stop"', ""),
        (
            [ONE],
            {"factors": {"workload.one.size": ["1MX"]}},
            'factors."workload.one.size"',
            "",
        ),
        (
            [ONE],
            {"factors": {"workload.one.transport": ["tcp", "quic"]}},
            'factors."workload.one.transport"',
            "has a transport in its table as well",
        ),
        (
            [{**ONE, "transport": None}],
            {"factors": {"workload.one.transport": ["tcp", "quick"]}},
            'factors."workload.one.transport"',
            "unknown",
        ),
        ([ONE], {"factors": {"transport": ["tcp"]}}, "factors.transport", "of its own"),
        ([ONE], {"factors": {"workloads": ["all", "too"]}}, "factors.workloads", "called too"),
        ([ONE], {"figure": [{"y": "two.goodput_bit_s", "x": "seed"}]}, "figure.0.y", "not a"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    workloads: list[Any], tables: dict[str, Any], key: str | None, reason: str
) -> None:
    given = [
        {key: value for key, value in each.items() if value is not None or key == "name"}
        if isinstance(each, dict)
        else each
        for each in workloads
    ]
    with pytest.raises(StudyError) as refused:
        plan_study(study(*given, **tables))
    assert key is None or refused.value.key == key
    assert reason in refused.value.reason
    assert "\n" not in str(refused.value)


def test_the_line_of_the_key_is_told(tmp_path: Path) -> None:
    file = tmp_path / "several.toml"
    file.write_text(
        '# Why?\ntitle = "t"\n[path]\nrtt = "9ms"\nrate = "9mbit"\n[[workload]]\nname = "a"\n'
        'transport = "tcp"\nstop = "5s"\n[[workload]]\nname = "b"\ntransport = "tcp"\n'
        'stop = "90000s"\n'
    )
    with pytest.raises(StudyError) as refused:
        load_study(file)
    assert (refused.value.line, refused.value.key) == (13, "workload.1.stop")


def test_overrides_and_quick_find_a_workload_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "several.toml"
    file.write_text(
        '# Why?\ntitle = "t"\n[path]\nrtt = "9ms"\nrate = "9mbit"\n[[workload]]\nname = "a"\n'
        'transport = "tcp"\nstop = "50s"\n[[workload]]\nname = "b"\ntransport = "tcp"\n'
        'stop = "60s"\n[quick.workload.b]\nstop = "6s"\n'
    )
    overridden = load_study(file, overrides=["workload.a.stop=7s"], quick=True)
    durations = [
        each.workload.duration_ns
        for each in overridden.cells[0].template.workloads
        if isinstance(each.workload, wire.Bulk)
    ]
    assert durations == [7 * 10**9, 6 * 10**9]
    varied = load_study(file, overrides=["workload.a.stop=7s,8s"])
    assert varied.factor("workload.a.stop").find("8s")
    with pytest.raises(StudyError, match="no workload is called c"):
        load_study(file, overrides=["workload.c.stop=7s"])
