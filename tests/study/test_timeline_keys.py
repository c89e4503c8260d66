"""Clients that move, paths that change, and outages in a study file."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.study import study_from_mapping
from netwarp.study.compare import study_from_compare
from netwarp.wire import Job
from support import job_of, tables

S = 1_000_000_000
PATH = {"rtt": "100ms", "rate": "50mbit"}
MOVES = {"every": "5s", "count": 3}
OUTAGE = {"at": "2s", "change": "outage"}
OUTAGES = {"every": "1s", "length": "1s", "count": 1}
RATE = {"at": "1s", "change": "rate"}
HANDOVER = {"at": "3s", "change": "handover"}


def moving(**handovers: Any) -> dict[str, Any]:
    """Give a path on which a client moves."""
    return {**PATH, "handovers": {**MOVES, **handovers}}


def happenings(job: Job) -> list[tuple[float, int, str]]:
    """Give the events as seconds, path from 1, and kind."""
    return [(event.at_ns / S, event.path + 1, event.change.kind) for event in job.timeline.events]


def test_a_client_moves_to_and_fro() -> None:
    job = job_of("tcp", path=moving())
    assert happenings(job) == [
        (5, 2, "attach"), (5, 1, "detach"),
        (10, 1, "attach"), (10, 2, "detach"),
        (15, 2, "attach"), (15, 1, "detach"),
    ]  # fmt: skip
    assert [path.attached for path in job.paths] == [True, False]
    assert job.only.transport.reconnect == "new"


def test_addresses_overlap_or_leave_a_gap() -> None:
    overlapping = job_of("tcp", path=moving(count=1, overlap="200ms", first="1s"))
    assert happenings(overlapping) == [(1, 2, "attach"), (1.2, 1, "detach")]
    apart = job_of("tcp", path=moving(count=1, gap="200ms", first="0s"))
    assert happenings(apart) == [(0, 1, "detach"), (0.2, 2, "attach")]


def test_access_points_are_equal_but_for_their_seeds_unless_the_second_says_more() -> None:
    first, second = job_of("quic", path=moving()).paths
    assert first.down.seed != second.down.seed
    seed = {"seed": 0}
    assert first.down.model_copy(update=seed) == second.down.model_copy(update=seed)
    slow = job_of("quic", path=moving() | {"second": {"rtt": "300ms"}}).paths[1]
    assert (slow.down.delay_ns, slow.down.rate_bit_s) == (150_000_000, 50_000_000)


def test_a_client_that_never_moves_has_one_path_and_the_same_buffers() -> None:
    factors = {"transport": ["tcp", "mptcp"], "path.handovers.count": [0, 1]}
    sections = {"path": moving(), "factors": factors}
    runs = plan_study(study_from_mapping(tables("tcp", **sections)))
    jobs = {tuple(run.cell.levels.values()): run.job for run in runs}
    assert [len(jobs[kind, "0"].paths) for kind in ("tcp", "mptcp")] == [1, 1]
    assert [len(jobs[kind, "1"].paths) for kind in ("tcp", "mptcp")] == [2, 2]
    assert jobs["tcp", "0"].timeline.is_empty
    assert jobs["tcp", "0"].paths[0] == jobs["tcp", "1"].paths[0]
    assert len({job.only.transport.buffer_bytes for job in jobs.values()}) == 1
    assert jobs["mptcp", "1"].only.transport.reconnect == "migrate"
    assert jobs["mptcp", "0"].only.transport.reconnect == "new"


def test_each_transport_reconnects_in_its_own_way() -> None:
    levels = ["tls", {"kind": "quic", "reconnect": "migrate", "label": "quic-migrate"}, "sctp"]
    sections = {
        "path": moving(overlap="1s"),
        "factors": {"transport": levels},
        "transport": {"sctp": {"reconnect": "migrate"}, "tls": {"resume": "0rtt"}},
    }
    study = study_from_mapping(tables("tls", **sections))
    jobs = {run.cell.levels["transport"]: run.job.only.transport for run in plan_study(study)}
    assert {label: job.reconnect for label, job in jobs.items()} == {
        "tls": "new",
        "quic-migrate": "migrate",
        "sctp": "migrate",
    }
    assert jobs["tls"].resume == "0rtt"
    rows = {(row["setting"], row["transport"]): row for row in equal_treatment(study)}
    assert rows["reconnection", "tls"]["value"] == "new"
    assert rows["reconnection", "sctp"]["value"] == "migrate"


def test_reconnection_may_vary_beside_the_number_of_handovers() -> None:
    factors = {
        "transport": ["quic"],
        "transport.reconnect": ["new", "migrate"],
        "path.handovers.count": [0, 2],
    }
    runs = plan_study(study_from_mapping(tables("quic", path=moving(), factors=factors)))
    assert [run.job.only.transport.reconnect for run in runs] == ["new", "new", "new", "migrate"]


def test_events_of_generators_beyond_the_limit_are_not_made() -> None:
    job = job_of("tcp", path=moving(overlap="1s"), limits={"virtual_s": 10})
    assert happenings(job) == [(5, 2, "attach"), (6, 1, "detach"), (10, 1, "attach")]
    never = job_of("tcp", path=moving(), limits={"virtual_s": 4})
    assert (len(never.paths), never.timeline.is_empty) == (1, True)


def test_entries_change_delay_rate_and_path() -> None:
    entries = [
        {"at": "1s", "change": "delay", "rtt": "61ns"},
        {"at": "2s", "change": "rate", "rate": "10mbit", "direction": "up"},
        {"at": "2s", "change": "rate", "rate": "80mbit"},
        HANDOVER | {"overlap": "1s"},
    ]
    job = job_of("tcp", path=PATH | {"timeline": entries})
    assert [event.change for event in job.timeline.events][:3] == [
        wire.Delay(kind="delay", down_ns=31, up_ns=30),
        wire.Rate(kind="rate", direction="up", rate_bit_s=10_000_000),
        wire.Rate(kind="rate", direction="down", rate_bit_s=80_000_000),
    ]
    assert happenings(job)[3:] == [(3, 2, "attach"), (4, 1, "detach")]


def test_handovers_of_both_kinds_alternate() -> None:
    job = job_of("tcp", path=moving(count=2) | {"timeline": [HANDOVER | {"path": 2}]})
    attached = [event for event in happenings(job) if event[2] == "attach"]
    assert attached == [(3, 2, "attach"), (5, 1, "attach"), (10, 2, "attach")]


def test_a_changing_rate_has_a_shaper_and_the_delay_line_loses_nothing() -> None:
    entries = [{"at": "2s", "change": "rate", "rate": "80mbit"}]
    path = job_of("tcp", path=PATH | {"timeline": entries}).paths[0]
    assert (path.down.rate_bit_s, path.down.limit_packets) == (50_000_000, 1_000_000)
    assert path.down.shaper_queue_bytes == 50_000_000 * 0.1 / 8
    assert path.up.shaper_queue_bytes is None
    assert path.up.queue_packets is not None
    packets = job_of("tcp", path=PATH | {"queue": "7p", "timeline": entries}).paths[0]
    assert packets.down.shaper_queue_bytes == 7 * 1514
    tiny = job_of("tcp", path=PATH | {"queue": "9B", "timeline": entries}).paths[0]
    assert tiny.down.shaper_queue_bytes == 1514


def test_a_changing_rate_before_a_netem_that_reorders_leaves_the_queue_to_netem() -> None:
    change = [{"at": "1s", "change": "rate", "rate": "20mbit"}]
    path = PATH | {"rate": "10mbit", "queue": "30p", "reorder": "5%", "timeline": change}
    down = job_of("tcp", path=path).paths[0].down
    frame_bytes = 1514
    delay_line_packets = -(-20_000_000 * down.delay_ns // (8 * S * frame_bytes))
    assert down.limit_packets == delay_line_packets + 30


def test_buffers_hold_the_largest_rate_and_the_longest_delay() -> None:
    def buffer_bytes(*entries: dict[str, str]) -> int:
        return job_of("tcp", path=PATH | {"timeline": list(entries)}).only.transport.buffer_bytes

    assert buffer_bytes() == 8 << 20
    assert buffer_bytes({"at": "1s", "change": "rate", "rate": "200mbit"}) == 16 << 20
    assert buffer_bytes({"at": "1s", "change": "delay", "rtt": "800ms"}) == 32 << 20


def test_a_needed_buffer_is_not_refused_for_being_rounded_up() -> None:
    path = {"rtt": "100ms", "rate": "10gbit"}
    needed_bytes = 4 * 2 * 125_000_000
    assert needed_bytes < job_of("tcp", path=path).only.transport.buffer_bytes == (1 << 30) - 1


def test_the_delay_line_holds_the_longest_delay() -> None:
    delay = [{"at": "1s", "change": "delay", "rtt": "300ms"}]
    # A shaper before netem, whose limit counts the delay line.
    rate = {"at": "2s", "change": "rate", "rate": "50mbit"}
    reorders = PATH | {"reorder": "5%", "timeline": [rate]}
    usual = job_of("tcp", path=reorders).paths[0].down.limit_packets
    changed = reorders | {"timeline": [*delay, rate]}
    longer = job_of("tcp", path=changed).paths[0].down.limit_packets
    assert longer - usual == pytest.approx(50e6 * 0.1 / 8 / 1514, abs=1)
    redraw = {"period": "1s", "deviation": "25ms"}
    drawn = job_of("tcp", path=reorders | {"redraw": redraw}).paths[0].down.limit_packets
    assert drawn - usual == pytest.approx(50e6 * 0.05 / 8 / 1514, abs=1)


def test_a_redraw_is_of_the_round_trip_time_of_each_path() -> None:
    redraw = {"period": "1s", "deviation": "20ms"}
    path = moving(count=1) | {"redraw": redraw, "second": {"rtt": "300ms"}}
    first, second = job_of("tcp", path=path).timeline.redraws
    assert (first.path, first.period_ns, first.mean_ns) == (0, S, 100_000_000)
    assert (second.path, second.mean_ns, second.deviation_ns) == (1, 300_000_000, 20_000_000)
    assert first.seed != second.seed


def test_an_average_delay_of_0_is_no_delay() -> None:
    path = {"rate": "50mbit", "redraw": {"period": "1s", "deviation": "20ms"}}
    factors = {"transport": ["tcp"], "path.redraw.mean": ["0ms", "100ms"]}
    near, far = plan_study(study_from_mapping(tables("tcp", path=path, factors=factors)))
    drawn = [run.job.timeline.redraws[0] for run in (near, far)]
    assert [each.deviation_ns for each in drawn] == [0, 20_000_000]
    steady = {**path, "redraw": {"period": "1s", "deviation": "0ms", "mean": "0ms"}}
    assert (
        near.job.paths[0].down.queue_packets
        == job_of("tcp", path=steady).paths[0].down.queue_packets
    )


def test_the_mean_of_a_redraw_takes_the_place_of_the_delay() -> None:
    path = {"rate": "50mbit", "redraw": {"period": "1s", "deviation": "0ms"}}
    factors = {"transport": ["tcp"], "path.redraw.mean": ["0ms", "300ms"]}
    runs = plan_study(study_from_mapping(tables("tcp", path=path, factors=factors)))
    assert [run.job.timeline.redraws[0].mean_ns for run in runs] == [0, 300_000_000]
    assert [run.job.paths[0].up.delay_ns for run in runs] == [0, 150_000_000]
    second = {"redraw": {"mean": "80ms"}}
    both = {**PATH, "redraw": path["redraw"], "second": second}
    assert [one.mean_ns for one in job_of("mptcp", path=both).timeline.redraws] == [
        100_000_000,
        80_000_000,
    ]


def test_outages_come_at_a_fixed_period_on_all_paths_or_one() -> None:
    outages = {"every": "4s", "length": "500ms", "count": 2}
    assert happenings(job_of("tcp", path=PATH | {"outages": outages})) == [
        (4, 1, "outage"), (4.5, 1, "restore"), (8, 1, "outage"), (8.5, 1, "restore"),
    ]  # fmt: skip
    both = PATH | {"second": {}, "outages": outages | {"count": 1}}
    assert [event[:2] for event in happenings(job_of("mptcp", path=both))] == [
        (4, 1), (4, 2), (4.5, 1), (4.5, 2),
    ]  # fmt: skip
    one = both | {"outages": outages | {"count": 1, "path": 2, "first": "1s"}}
    assert happenings(job_of("mptcp", path=one)) == [(1, 2, "outage"), (1.5, 2, "restore")]


def test_an_outage_is_of_the_place_whether_or_not_the_client_is_there() -> None:
    outages = {"every": "9s", "first": "4s", "length": "2s", "count": 1}
    job = job_of("tcp", path=moving(count=1) | {"outages": outages})
    assert happenings(job) == [
        (4, 1, "outage"), (4, 2, "outage"),
        (5, 2, "attach"), (5, 1, "detach"),
        (6, 1, "restore"), (6, 2, "restore"),
    ]  # fmt: skip


def test_compare_names_what_it_was_set_by() -> None:
    moves = ["path.handovers.every=2s", "path.handovers.count=2"]
    study = study_from_compare(transport=["tcp"], size=["1MB"], set=moves)
    assert plan_study(study)[0].job.timeline.has_handovers
    with pytest.raises(StudyError, match=r"compare: --set path\.handovers\.count = -1: too small"):
        study_from_compare(
            transport=["tcp"], size=["1MB"],
            set=[moves[0], "path.handovers.count=-1"],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("transport", "changes", "part"),
    [
        ("quic", {"transport": {"reconnect": "new"}},
         'transport.reconnect = "new": the client never moves; give [path.handovers]'),
        ("tcp", {"path": moving(), "transport": {"reconnect": "migrate"}},
         'transport.reconnect = "migrate": a TCP connection is its two addresses'),
        ("tls", {"path": moving(), "transport": {"tls": {"reconnect": "migrate"}}},
         'transport.tls.reconnect = "migrate": the TCP connection below TLS'),
        ("mptcp", {"path": moving(), "transport": {"reconnect": "new"}},
         'transport.reconnect = "new": a Multipath TCP connection goes on'),
        ("quic", {"path": moving(), "transport": {"reconnect": "old"}}, "known: new, migrate"),
        ("sctp", {"path": moving(), "transport": {"multihomed": True}},
         "transport.multihomed = true: a client that moves has one address at a time"),
        ("tcp", {"path": moving(), "workload": {"size": "1MB", "direction": "up"}},
         'workload.direction = "up": over a new connection'),
        ("tcp", {"path": moving(overlap="6s")},
         'path.handovers.overlap = "6s": a handover begins 10s into the run, when the one of 5s'),
        ("tcp", {"path": moving(overlap="1s", gap="1s")},
         'path.handovers.gap = "1s": overlap and gap are both given'),
        ("tcp", {"path": moving(every="0s")}, 'path.handovers.every = "0s": too small'),
        ("tcp", {"path": moving(count=-1)}, "a whole number from 0 to 10000"),
        ("tcp", {"path": {"handovers": {"count": 1}}}, "path.handovers.every: missing"),
        ("tcp", {"path": {"handovers": 3}, "factors": {"transport": ["tcp"],
                                                       "path.handovers.count": [1]}},
         "path.handovers = 3: not a table"),
        ("tcp", {"path": PATH | {"timeline": [HANDOVER | {"path": 1}]}},
         "path.timeline.0.path = 1: the client is on path 1 at that time"),
        ("tcp", {"path": PATH | {"timeline": [HANDOVER, HANDOVER]}},
         'path.timeline.1.at = "3s": a handover begins 3s into the run'),
        ("tcp", {"path": PATH | {"timeline": [OUTAGE, HANDOVER | {"at": "1s"}]}},
         'path.timeline.1.at = "1s": earlier than the entry before it'),
        ("tcp", {"path": PATH | {"timeline": [OUTAGE]}, "limits": {"virtual_s": 1}},
         'path.timeline.0.at = "2s": the run is given up after 1s'),
        ("tcp", {"path": PATH | {"timeline": [OUTAGE | {"rtt": "1ms"}]}},
         'path.timeline.0.rtt = "1ms": a change of delay has it, not outage'),
        ("tcp", {"path": PATH | {"timeline": [OUTAGE | {"gap": "1ms"}]}},
         "path.timeline.0.gap = "),
        ("tcp", {"path": PATH | {"timeline": [{"at": "1s", "change": "delay"}]}},
         "path.timeline.0.rtt: a change of delay without it; add the round-trip time"),
        ("tcp", {"path": PATH | {"timeline": [RATE]}},
         "path.timeline.0.rate: a change of rate without it"),
        ("tcp", {"path": PATH | {"timeline": [RATE | {"rate": "unlimited"}]}},
         'path.timeline.0.rate = "unlimited": a path cannot lose its bottleneck'),
        ("tcp", {"path": {"timeline": [RATE | {"rate": "1mbit"}]}},
         'path.timeline.0.rate = "1mbit": the path has no bottleneck to begin with (down)'),
        ("tcp", {"path": PATH | {"jitter": "9ms",
                                 "timeline": [{"at": "1s", "change": "delay", "rtt": "9ms"}]}},
         'path.timeline.0.rtt = "9ms": the path\'s jitter is larger'),
        ("tcp", {"path": PATH | {"redraw": {"period": "1ns", "deviation": "1ms"}}},
         'path.redraw.period = "1ns": each draw is a change of the path'),
        ("tcp", {"path": PATH | {"redraw": {"period": "1s", "deviation": "1ms"},
                                 "timeline": [{"at": "1s", "change": "delay", "rtt": "9ms"}]}},
         'path.timeline.0.change = "delay": the next redraw undoes it'),
        ("tcp", {"path": PATH | {"outages": {"every": "1s", "length": "2s", "count": 2}}},
         'path.outages.every = "1s": path 1 is lost already 2s into the run'),
        ("tcp", {"path": PATH | {"outages": {"every": "1s", "length": "2s", "count": 1},
                                 "timeline": [OUTAGE]}},
         'path.timeline.0.change = "outage": path 1 is lost already at that time'),
        ("tcp", {"path": PATH | {"outages": OUTAGES | {"path": 2}}},
         "path.outages.path = 2: there is one path"),
        ("tcp", {"path": PATH | {"redraw": {"period": "1s", "deviation": "1ms", "mean": "1ms"}}},
         'path.rtt = "100ms": rtt has no effect beside redraw.mean'),
        ("tcp", {"path": {"delay_down": "1ms", "redraw": {"period": "1s", "deviation": "1ms"}}},
         'path.delay_down = "1ms": a redraw gives both directions the same delay'),
        ("tcp", {"path": PATH | {"jitter": "1ms", "redraw": {"period": "1s", "deviation": "1ms"}}},
         'path.jitter = "1ms": a redrawn delay may be shorter'),
        ("tcp", {"path": PATH | {"redraw": {"period": "0s", "deviation": "1ms"}}},
         'path.redraw.period = "0s": too small'),
        ("tcp", {"path": PATH | {"redraw": {"period": "1s"}}}, "path.redraw.deviation: missing"),
        ("tcp", {"path": PATH, "factors": {"transport": ["tcp"], "path.handovers.cnt": [1]}},
         'did you mean "path.handovers.count"?'),
        ("tcp", {"path": PATH, "factors": {"transport": ["tcp"], "path.handovers": [1]}},
         "there is nothing of this name to vary"),
    ],
)  # fmt: skip
def test_what_cannot_happen_is_refused_in_one_line(
    transport: Any, changes: dict[str, Any], part: str
) -> None:
    with pytest.raises(StudyError) as caught:
        study_from_mapping(tables(transport, **changes), file="s.toml")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
