"""From a study to jobs: order, seeds, queue and buffer sizes."""

from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import filter_cells, plan_study
from netwarp.plan.seeds import derive, earliest_replicate, replicate_seeds, splitmix64
from netwarp.plan.treatment import equal_treatment
from netwarp.study import study_from_mapping
from netwarp.study.exec import study_from_exec
from netwarp.wire import Impairments, Job
from support import bulk

BASE: dict[str, Any] = {
    "title": "t",
    "replicates": 2,
    "path": {"rtt": "100ms", "rate": "50mbit"},
    "workload": {"size": "10MB"},
    "factors": {"transport": ["tcp", "sctp", "quic"], "path.loss": ["0%", "1%"]},
}


def job_of(**sections: dict[str, Any]) -> Job:
    """Plan one run with some sections replaced."""
    tables = {**BASE, "factors": {"transport": ["tcp"]}, "replicates": 1, **sections}
    return plan_study(study_from_mapping(tables))[0].job


def test_runs_go_replicate_by_replicate() -> None:
    names = [planned.run for planned in plan_study(study_from_mapping(BASE))]
    assert names[:7] == [f"c{cell:03}-r00" for cell in range(6)] + ["c000-r01"]
    assert len(names) == 12


def test_all_cells_of_a_replicate_share_their_seeds() -> None:
    planned = plan_study(study_from_mapping(BASE))
    for replicate in (0, 1):
        of_one = [p.job for p in planned if p.replicate == replicate]
        assert (
            len({(job.seed, job.paths[0].down.seed, job.paths[0].up.seed) for job in of_one}) == 1
        )
        assert len({bulk(job).content.model_dump_json() for job in of_one}) == 1


def test_every_seed_of_a_study_differs_from_every_other() -> None:
    planned = plan_study(study_from_mapping(BASE | {"replicates": 50}), filters=["transport=tcp"])
    seeds = []
    for run in planned:
        content = bulk(run.job).content
        assert content.kind == "seeded"
        if run.cell.levels["path.loss"] == "1%":
            path = run.job.paths[0]
            seeds += [run.job.seed, path.down.seed, path.up.seed, content.seed]
    assert len(seeds) == 200 == len(set(seeds))


def test_seeds_change_with_the_studys_and_stay_when_replicates_are_added() -> None:
    two = plan_study(study_from_mapping(BASE))
    three = plan_study(study_from_mapping(BASE | {"replicates": 3}))
    other = plan_study(study_from_mapping(BASE | {"seed": 2}))
    assert [p.job_sha256 for p in three[:12]] == [p.job_sha256 for p in two]
    assert {p.job.seed for p in other}.isdisjoint(p.job.seed for p in two)


def test_splitmix64_gives_the_reference_outputs() -> None:
    # Vigna's splitmix64.c from state 0: the first two outputs.
    assert splitmix64(0) == 0xE220A8397B1DCDAF
    assert splitmix64(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4
    assert derive(1, 2) != derive(2, 1)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
@pytest.mark.parametrize("replicate", [0, 1, 31, 999])
def test_an_early_replicate_of_another_study_has_the_seeds_of_any(
    seed: int, replicate: int
) -> None:
    other, earlier = earliest_replicate(seed, replicate)
    assert replicate_seeds(other, earlier, 2, 2) == replicate_seeds(seed, replicate, 2, 2)
    assert 0 <= other < 2**63
    assert earlier <= min(replicate, 5)


def test_a_queue_behind_the_delay_line_holds_frames() -> None:
    path = job_of(path={"rtt": "100ms", "rate": "50mbit", "queue": "1bdp"}).paths[0]
    # A BDP is 625 000 bytes.
    assert path.down.queue_packets == 413  # frames of 1514 bytes, rounded up
    assert path.up.queue_packets == 11575  # acknowledgements of 54 bytes
    assert path.down.limit_packets == path.up.limit_packets == 1_000_000, "nothing drops before"


@pytest.mark.parametrize(
    ("queue", "packets"), [("1000p", 1000), ("64kB", 43), ("2bdp", 826), ("0.25bdp", 104)]
)
@pytest.mark.parametrize("more", [{}, {"reorder": "1%"}, {"duplicate": "1%"}])
def test_queues_of_packets_of_one_size_are_counted_in_packets(
    queue: str, packets: int, more: dict[str, str]
) -> None:
    path = {"rtt": "100ms", "rate": "50mbit", "queue": queue} | more
    down = job_of(path=path).paths[0].down
    assert (down.queue_packets, down.shaper_queue_bytes) == (packets, None)


def test_a_queue_of_small_segments_has_more_of_them() -> None:
    path = {"rtt": "100ms", "rate": "50mbit", "queue": "31kB"}
    assert job_of(path=path, transport={"mss": 256}).paths[0].down.queue_packets == 100


@pytest.mark.parametrize("queue", ["10p", "15140B"])
def test_what_collects_packets_has_its_queue_in_a_shaper(queue: str) -> None:
    path = {"rtt": "100ms", "rate": "50mbit", "queue": queue, "aggregate": "1ms"}
    down = job_of(path=path).paths[0].down
    packets = 10 if queue == "10p" else None
    assert (down.queue_packets, down.shaper_queue_bytes) == (packets, 15_140)


def test_small_messages_queue_in_bytes_where_the_study_says_bytes() -> None:
    path = {"rtt": "100ms", "rate": "10mbit", "queue": "50kB"}

    def down(payload: str, **keys: str) -> Impairments:
        flow = {"kind": "flow", "payload": payload, "interval": "1ms", "count": 10}
        factors = {"transport": ["udp"]}
        return job_of(path=path | keys, workload=flow, factors=factors).paths[0].down

    assert (down("100B").queue_packets, down("100B").shaper_queue_bytes) == (None, 50_000)
    assert (down("1472B").queue_packets, down("1472B").shaper_queue_bytes) == (34, None)
    in_packets = down("100B", queue="100p")
    assert (in_packets.queue_packets, in_packets.shaper_queue_bytes) == (100, None)
    over_sctp = job_of(
        path=path, factors={"transport": ["sctp"]},
        workload={"kind": "flow", "payload": "100B", "interval": "1ms", "count": 10},
    ).paths[0].down  # fmt: skip
    assert (over_sctp.queue_packets, over_sctp.shaper_queue_bytes) == (353, None)
    slow = down("100B", rate="100bit")
    assert slow.shaper_queue_bytes is None, "below 202 bit/s a shaper keeps no rate"


@pytest.mark.parametrize(
    ("transport", "workload"),
    [
        ("tcp", {"kind": "rr", "count": 3, "interval": "20ms"}),
        ("tls", {"kind": "page", "page": "web-30"}),
        ("tcp", {"kind": "stream"}),
    ],
)
def test_what_sends_packets_of_several_sizes_queues_in_bytes(
    transport: str, workload: dict[str, Any]
) -> None:
    path = {"rtt": "100ms", "rate": "10mbit", "queue": "50kB"}
    job = job_of(path=path, workload=workload, factors={"transport": [transport]})
    for way in (job.paths[0].down, job.paths[0].up):
        assert (way.queue_packets, way.shaper_queue_bytes) == (None, 50_000)


def test_content_in_both_directions_queues_in_bytes_whichever_runs() -> None:
    """Acknowledgements of one transfer share the queue with the packets of the other."""
    down = {"name": "down", "kind": "bulk", "size": "1MB"}
    tables: dict[str, Any] = {
        "title": "t", "path": {"rtt": "100ms", "rate": "10mbit", "queue": "50kB"},
        "transport": {"kind": "tcp"}, "factors": {"workloads": ["all", "down"]},
    }  # fmt: skip
    for direction, counted in (("up", 50_000), ("down", None)):
        other = down | {"name": "other", "direction": direction}
        runs = plan_study(study_from_mapping(tables | {"workload": [down, other]}))
        found = {way.shaper_queue_bytes for run in runs for way in (run.job.paths[0].down,)}
        assert found == {counted}


def test_all_workloads_beside_small_packets_queue_in_bytes() -> None:
    flow = {"name": "calls", "kind": "flow", "payload": "160B", "interval": "20ms", "count": 10}
    tables = {
        "title": "t", "path": {"rtt": "100ms", "rate": "10mbit"}, "transport": {"kind": "tcp"},
        "workload": [{"name": "file", "kind": "bulk", "size": "1MB"}, flow],
    }  # fmt: skip
    (run, *_) = plan_study(study_from_mapping(tables))
    assert run.job.paths[0].down.shaper_queue_bytes == 125_000


def test_the_default_queue_holds_two_first_flights_on_a_short_path() -> None:
    down = job_of(path={"rtt": "0ms", "rate": "50mbit"}).paths[0].down
    assert (down.limit_packets, down.queue_packets) == (20 + 1, None), "there is no delay line"


def test_an_unlimited_rate_has_a_limit_that_is_never_reached() -> None:
    path = job_of(path={"rtt": "100ms"}).paths[0]
    assert path.down.rate_bit_s is None
    assert path.down.limit_packets == path.up.limit_packets == 1_000_000


@pytest.mark.parametrize(
    ("path", "buffer_bytes"),
    [
        ({"rtt": "10ms", "rate": "10mbit"}, 4 << 20),
        ({"rtt": "100ms", "rate": "50mbit"}, 8 << 20),
        ({"rtt": "200ms", "rate": "1gbit"}, 256 << 20),
        ({"rtt": "100ms"}, 64 << 20),
    ],
)
def test_buffers_are_never_what_limits(path: dict[str, Any], buffer_bytes: int) -> None:
    assert job_of(path=path).only.transport.buffer_bytes == buffer_bytes


@pytest.mark.parametrize(
    ("path", "asked", "send_buffer_bytes"),
    [
        ({"rtt": "10ms", "rate": "10mbit"}, {}, 4 << 20),
        # Four times 1.25 MB on their way and as much queued, in whole frames.
        ({"rtt": "100ms", "rate": "100mbit", "queue": "1bdp"}, {}, 4 * (1_250_000 + 826 * 1514)),
        ({"rtt": "100ms"}, {}, 64 << 20),
        ({"rtt": "100ms", "rate": "100mbit"}, {"buffer": "50MB"}, 50_000_000),
    ],
)
def test_senders_hold_no_more_than_is_needed_or_asked_for(
    path: dict[str, Any], asked: dict[str, Any], send_buffer_bytes: int
) -> None:
    transport = job_of(path=path, transport=asked).only.transport
    assert transport.send_buffer_bytes == send_buffer_bytes <= transport.buffer_bytes


def test_impairments_reach_the_direction_they_name() -> None:
    path = job_of(
        path={
            "delay_up": "10ms",
            "delay_down": "20ms",
            "jitter": "1ms",
            "distribution": "normal",
            "loss": "1%",
            "loss_correlation": "25%",
            "loss_up": "gemodel 1% 30%",
            "rate_up": "1mbit",
            "reorder_down": {"ratio": "25%", "correlation": "50%", "gap": 5},
            "duplicate": "1%",
            "corrupt_up": "0.1%",
            "mtu": 1280,
        }
    ).paths[0]
    assert path.mtu_bytes == 1280
    assert (path.down.delay_ns, path.up.delay_ns) == (20_000_000, 10_000_000)
    assert path.down.jitter_ns == path.up.jitter_ns == 1_000_000
    assert path.down.distribution == "normal"
    assert path.down.loss.model_dump() == {"kind": "random", "ratio": 0.01, "correlation": 0.25}
    assert path.up.loss.model_dump() == {
        "kind": "gemodel",
        "p": 0.01,
        "r": 0.3,
        "loss_bad": 1.0,
        "loss_good": 0.0,
    }
    assert (path.down.rate_bit_s, path.up.rate_bit_s) == (None, 1_000_000)
    assert path.down.reorder.model_dump() == {"ratio": 0.25, "correlation": 0.5, "gap": 5}
    assert path.up.reorder.ratio == 0
    assert (path.down.duplicate_ratio, path.up.duplicate_ratio) == (0.01, 0)
    assert (path.down.corrupt_ratio, path.up.corrupt_ratio) == (0, 0.001)


def test_plain_loss_is_from_server_to_client_alone() -> None:
    path = job_of(path={"loss": "5%"}).paths[0]
    assert path.down.loss.kind == "random"
    assert path.up.loss.kind == "none"


def test_an_odd_round_trip_time_loses_no_nanosecond() -> None:
    path = job_of(path={"rtt": "3ns"}).paths[0]
    assert path.down.delay_ns + path.up.delay_ns == 3


def test_a_file_is_sent_with_the_size_it_has(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"x" * 1234)
    tables = {**BASE, "workload": {"file": "data.bin", "direction": "up"}}
    planned = plan_study(study_from_mapping(tables, folder=tmp_path))[0]
    assert bulk(planned.job).content.model_dump() == {
        "kind": "file",
        "path": str(tmp_path / "data.bin"),
        "size_bytes": 1234,
    }
    assert bulk(planned.job).direction == "up"


def test_a_file_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name, reason in (("absent", "no such file"), ("empty", "empty"), (".", "directory")):
        study = study_from_mapping({**BASE, "workload": {"file": name}}, folder=tmp_path)
        with pytest.raises(StudyError, match=f"study: workload.file = .*{reason}"):
            plan_study(study)


def test_filters_select_levels_and_keep_indices() -> None:
    study = study_from_mapping(BASE)
    assert [cell.index for cell in filter_cells(study, ["transport=sctp"])] == [2, 3]
    both = filter_cells(study, ["transport=tcp,quic", "path.loss = 1 %"])
    assert [cell.index for cell in both] == [1, 5]
    assert filter_cells(study, []) == list(study.cells)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("quic", "not FACTOR=LEVEL"),
        ("path.lost=1%", 'not a factor of this study; did you mean "path.loss"?'),
        ("transport=quick", 'did you mean "quic"?'),
    ],
)
def test_a_filter_that_selects_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        filter_cells(study_from_mapping(BASE), [text])
    assert message in str(caught.value)


def test_equal_treatment_of_programs_is_the_hosts_where_those_are_not_made_for_a_run() -> None:
    study = study_from_exec(["true"], server="true")
    for sets_hosts, told in ((True, "64MiB"), (False, "the programs' or the hosts' own")):
        rows = equal_treatment(study, sets_hosts=sets_hosts)
        values = {row["setting"]: row["value"] for row in rows}
        assert values["buffers"] == told
        assert values["congestion control"] == "cubic"
        assert values["nodelay"] == values["encryption"] == "the programs' own"
    rows = equal_treatment(study_from_mapping(BASE), sets_hosts=False)
    assert "the programs' or the hosts' own" not in {row["value"] for row in rows}


def test_equal_treatment_lists_what_deviates_and_why() -> None:
    tables = {**BASE, "transport": {"quic": {"initial_window": 32}}}
    rows = equal_treatment(study_from_mapping(tables))
    deviating = {
        (row["setting"], row["transport"]): (row["value"], row["reason"])
        for row in rows
        if row["deviates"]
    }
    assert deviating["congestion control", "sctp"][0] == "rfc9260"
    assert deviating["initial window", "sctp"][0] == "4380 bytes"
    assert deviating["initial window", "quic"] == ("32 packets", "the study says so")
    assert deviating["pacing", "quic"][0] == "paced"
    assert deviating["encryption", "quic"][0] == "TLS 1.3"
    assert {row["value"] for row in rows if row["setting"] == "buffers"} == {"8MiB"}


def test_a_discipline_marks_for_dctcp_which_offers_ecn_in_any_case() -> None:
    path = {"rtt": "10ms", "rate": "10mbit", "discipline": "red"}
    for congestion, marks in (("dctcp", True), ("cubic", False)):
        transport = {"kind": "tcp", "congestion": congestion}
        discipline = job_of(path=path, transport=transport).paths[0].down.discipline
        assert discipline is not None
        assert discipline.ecn is marks
