"""Media and players in a study file."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from support import job_of, tables

S = 1_000_000_000


def stream_of(transport: str = "tcp", /, **keys: Any) -> wire.Stream:
    """Plan the one run of a player, and give its workload."""
    workload = job_of(transport, workload={"kind": "stream", **keys}).only.workload
    assert isinstance(workload, wire.Stream)
    return workload


def test_what_is_not_given_is_the_medium_and_the_rule_of_the_testbed() -> None:
    stream = stream_of()
    assert [(q.name, q.segment_bytes) for q in stream.qualities] == [
        ("hd", 4_000_000),
        ("fhd", 4_500_000),
        ("qhd", 5_000_000),
    ]
    assert (stream.segments, stream.segment_ns, stream.watch_ns) == (600, S, 60 * S)
    assert stream.rule == wire.DelayRule(kind="delay", bounds_ns=(100_000_000, 200_000_000))
    assert (stream.start_buffer_ns, stream.buffer_ns, stream.seek_ratio) == (S, 10 * S, 0.0)
    assert stream.verify


def test_every_key_reaches_the_job() -> None:
    stream = stream_of(
        watch="20s", segment="2s", segments=30, qualities={"low": "1MB", "high": "3MB"},
        delay_bounds=["80ms"], start_buffer="3s", buffer="9s", seek="30%", verify=False,
    )  # fmt: skip
    assert (stream.watch_ns, stream.segment_ns, stream.segments) == (20 * S, 2 * S, 30)
    assert [quality.name for quality in stream.qualities] == ["low", "high"]
    assert stream.rule == wire.DelayRule(kind="delay", bounds_ns=(80_000_000,))
    assert (stream.start_buffer_ns, stream.buffer_ns) == (3 * S, 9 * S)
    assert (stream.seek_ratio, stream.verify) == (0.3, False)


def test_the_viewer_s_clock_and_the_rule_by_the_link_s_delay_reach_the_job() -> None:
    stream = stream_of(rule="link_delay", viewer_clock="wall", watch="20s")
    bounds_ns = (100_000_000, 200_000_000)
    assert stream.rule == wire.LinkDelayRule(kind="link_delay", bounds_ns=bounds_ns)
    assert (stream.viewer_clock, stream.watch_ns) == ("wall", 20 * S)
    assert stream_of().viewer_clock == "play"
    assert stream_of(rule="link_delay", delay_bounds=["1ms", "2ms"]).rule != stream.rule
    with pytest.raises(StudyError, match="3 qualities have 2 bounds between them, not 1"):
        stream_of(rule="link_delay", delay_bounds=["1ms"])


def test_rules_and_seeks_vary() -> None:
    factors = {
        "transport": ["quic"],
        "workload.rule": ["delay", "throughput", "bola"],
        "workload.seek": ["0%", "30%"],
    }
    workload = {"kind": "stream", "window": 20, "delay_bounds": ["100ms", "200ms"]}
    runs = plan_study(study_from_mapping(tables("quic", workload=workload, factors=factors)))
    streams = [run.job.only.workload for run in runs]
    assert all(isinstance(stream, wire.Stream) for stream in streams)
    rules = [stream.rule for stream in streams if isinstance(stream, wire.Stream)]
    assert rules[2] == wire.ThroughputRule(kind="throughput", safety_ratio=0.85, window=20)
    assert rules[4] == wire.BolaRule(kind="bola")
    assert stream_of(rule="throughput", safety="70%", window=3).rule == wire.ThroughputRule(
        kind="throughput", safety_ratio=0.7, window=3
    )


def test_a_medium_has_the_seed_of_its_replicate() -> None:
    workload = {"kind": "stream"}
    study = study_from_mapping(tables("tcp", workload=workload) | {"replicates": 2})
    seeds = {run.job.only.workload.seed for run in plan_study(study)
             if isinstance(run.job.only.workload, wire.Stream)}  # fmt: skip
    assert len(seeds) == 2


def test_a_player_may_resume_after_a_handover() -> None:
    path = {"rtt": "10ms", "handovers": {"every": "5s", "count": 1}}
    job = job_of("tls", path=path, workload={"kind": "stream"}, transport={"resume": "1rtt"})
    assert (job.only.transport.resume, job.direction) == ("1rtt", "down")


@pytest.mark.parametrize(
    ("keys", "part"),
    [
        ({"size": "1MB"}, 'workload.size = "1MB": a bulk has it, not a stream; drop it'),
        ({"direction": "down"}, "workload.direction"),
        ({"transfers": 2}, "workload.transfers = 2: a bulk has it"),
        ({"kind": "bulk", "size": "1MB", "seek": "3%"}, "a stream has it, not a bulk"),
        ({"kind": "bulk"}, "workload.size: of size, file and case, none is given"),
        ({"kind": "steam"}, 'did you mean "stream"?'),
        ({"qualities": {}}, "workload.qualities = {}: there is none"),
        ({"qualities": {"a": "2MB", "b": "1MB"}}, "not ascending in size"),
        ({"qualities": {"a": "2"}}, "the unit is missing"),
        ({"qualities": {"a": "1MB", "b": "2MB"}}, "2 qualities have 1 bounds between them, not 2"),
        ({"delay_bounds": ["2ms", "1ms"]}, "workload.delay_bounds = "),
        ({"delay_bounds": ["2ms", "2ms"]}, "not ascending; write the shortest first"),
        ({"rule": "bola", "delay_bounds": ["2ms", "3ms"]}, "no rule of the study uses it (bola)"),
        ({"window": 5}, 'workload.window = 5: no rule of the study uses it (delay); drop it, or'
                        ' choose rule = "throughput"'),
        ({"rule": "best"}, "known: link_delay, delay, throughput, bola"),
        ({"buffer": "500ms"}, 'workload.buffer = "500ms": a segment of 1s does not fit'),
        ({"buffer": "2.5s", "start_buffer": "2.1s"}, "never holds more than 2s, whole segments"),
        ({"start_buffer": "0s"}, 'workload.start_buffer = "0s": too small'),
        ({"segments": 10**6, "qualities": {"a": "19XB"}, "delay_bounds": []}, "unknown unit"),
        ({"segments": 10**6, "qualities": {"a": "19000GB"}, "delay_bounds": []}, "64 bits count"),
        ({"rule": "bola", "qualities": {"a": "1MB"}}, 'workload.rule = "bola": it chooses between'),
        ({"rule": "throughput", "safety": "0%"}, 'workload.safety = "0%": no throughput suffices'),
        ({"watch": "24h"}, 'workload.watch = "24h": the run is given up after 86400s'),
        ({"segment": "10us"}, "6000000 segments would be requested, and 100000 can be; watch less"),
        ({"segments": 0}, "a whole number from 1 to 1000000"),
        ({"seek": 0.3}, "workload.seek = 0.3"),
        ({"segment": "2562047h"}, "workload."),
        ({"qualities": {"a": "0B", "b": "1B", "c": "2B"}}, "workload.qualities"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_is_refused_in_one_line(keys: dict[str, Any], part: str) -> None:
    with pytest.raises(StudyError) as caught:
        study_from_mapping(tables("tcp", workload={"kind": "stream", **keys}), file="s.toml")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_stream_that_never_moves_has_nothing_to_resume() -> None:
    sections = {"workload": {"kind": "stream"}, "transport": {"resume": "0rtt"}}
    with pytest.raises(StudyError, match=r"let the client move with \[path.handovers\]"):
        study_from_mapping(tables("quic", **sections))
