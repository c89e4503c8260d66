"""Chunks, resumption, generations of TCP and SCTP, second paths and timelines in a study file."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.study import study_from_mapping
from netwarp.study.compare import study_from_compare
from support import bulk, job_of, tables

SECOND = {"rtt": "100ms", "rate": "50mbit", "second": {"rtt": "30ms"}}
OUTAGE = {"at": "2s", "change": "outage"}
RESTORE = {"at": "4s", "change": "restore"}


def test_what_is_not_given_is_one_chunk_one_transfer_and_todays_stacks() -> None:
    job = job_of("sctp")
    workload = bulk(job)
    assert (workload.chunks, workload.dial, workload.transfers) == (1, "sequential", 1)
    assert (job.only.transport.resume, job.capture, job.timeline.is_empty) == ("none", False, True)
    assert job.only.transport.tcp.model_dump() == {
        "sack": True,
        "timestamps": True,
        "window_scaling": True,
        "recovery": "rack",
        "accurate_ecn": False,
        "tcp_rto_min_ns": None,
        "tso_packets": None,
        "mtu_probing": False,
        "hystart": None,
    }
    assert (job.only.transport.sctp.streams, job.only.transport.sctp.max_message_bytes) == (
        1,
        16_384,
    )
    assert job.only.transport.sctp.rto_min_ns == 1_000_000_000


def test_chunks_dial_and_transfers_reach_the_job() -> None:
    workload = {"size": "10MB", "chunks": 6, "dial": "parallel", "transfers": 2}
    job = job_of("tls", workload=workload, transport={"resume": "0rtt"}, capture="pcap")
    assert (bulk(job).chunks, bulk(job).dial, bulk(job).transfers) == (6, "parallel", 2)
    assert job.only.transport.resume == "0rtt"
    assert job.capture


def test_the_tcp_of_2008_is_reno_without_sack_and_with_the_window_of_rfc_3390() -> None:
    level = {"kind": "tcp", "preset": "tcp-2008", "label": "tcp-2008"}
    transport = job_of(level).only.transport
    assert (transport.congestion, transport.initial_window_packets) == ("reno", 3)
    assert transport.tcp.model_dump() == {
        "sack": False,
        "timestamps": False,
        "window_scaling": True,
        "recovery": "classic",
        "accurate_ecn": False,
        "tcp_rto_min_ns": None,
        "tso_packets": None,
        "mtu_probing": False,
        "hystart": None,
    }
    assert job_of(level, transport={"mss": 1024}).only.transport.initial_window_packets == 4
    jumbo = job_of(level, path={"rtt": "1ms", "mtu": 9000})
    assert jumbo.only.transport.initial_window_packets == 2


def test_what_is_given_wins_over_a_preset() -> None:
    level = {"kind": "tcp", "preset": "tcp-2008", "label": "x", "sack": True, "initial_window": 1}
    transport = job_of(
        {**level, "recovery": "rack"}, transport={"congestion": "cubic"}
    ).only.transport
    assert transport.tcp.sack
    assert transport.tcp.recovery == "rack"
    assert not transport.tcp.timestamps
    assert (transport.congestion, transport.initial_window_packets) == ("cubic", 1)


def test_the_chunks_of_sctp_are_as_many_as_its_streams() -> None:
    job = job_of({"kind": "sctp", "streams": 3, "label": "x"})
    assert (bulk(job).chunks, job.only.transport.sctp.streams) == (3, 3)


def test_small_chunks_of_sctp_are_small_messages() -> None:
    below = job_of("sctp", transport={"mss": 256}).only.transport
    assert (below.mss_bytes, below.sctp.max_message_bytes) == (None, 256)
    above = job_of("sctp", transport={"mss": 1024}).only.transport
    assert (above.mss_bytes, above.sctp.max_message_bytes) == (1024, 16_384)


def test_sctp_options_reach_the_job() -> None:
    options = {"unordered": True, "rto_initial": "500ms", "rto_min": "200ms", "rto_max": "5s"}
    sctp = job_of("sctp", transport={"sctp": options}).only.transport.sctp
    assert sctp.unordered
    assert (sctp.rto_initial_ns, sctp.rto_min_ns, sctp.rto_max_ns) == (
        500_000_000,
        200_000_000,
        5_000_000_000,
    )


def test_a_second_path_is_as_the_first_where_it_says_nothing() -> None:
    first, second = job_of("mptcp", path=SECOND).paths
    assert second.down.delay_ns == second.up.delay_ns == 15_000_000
    assert second.down.rate_bit_s == first.down.rate_bit_s == 50_000_000
    assert first.down.seed != second.down.seed


def test_transports_that_use_one_path_have_the_first_beside_those_that_use_two() -> None:
    entries = [OUTAGE | {"path": 1}, OUTAGE | {"path": 2}, RESTORE]
    study = study_from_mapping(
        {
            "title": "t",
            "path": SECOND | {"timeline": entries},
            "workload": {"kind": "bulk", "size": "1MB"},
            "factors": {"transport": ["tcp", "mptcp"]},
        }
    )
    tcp, mptcp = (plan_study(study)[at].job for at in (0, 1))
    assert (tcp.only.transport.kind, mptcp.only.transport.kind) == ("tcp", "mptcp")
    assert tcp.paths == mptcp.paths[:1]
    assert [event.path for event in tcp.timeline.events] == [0, 0]
    assert sorted(event.path for event in mptcp.timeline.events) == [0, 0, 1]
    assert tcp.only.transport.buffer_bytes == mptcp.only.transport.buffer_bytes
    values = {r["transport"]: r["value"] for r in equal_treatment(study) if r["setting"] == "paths"}
    assert values == {"tcp": "1", "mptcp": "2"}


@pytest.mark.parametrize(
    ("first", "second", "down", "up"),
    [
        ({"rtt": "100ms"}, {"delay_down": "10ms"}, 10, 50),
        ({"rtt": "100ms"}, {"delay": "10ms"}, 10, 10),
        ({"delay_down": "5ms", "delay_up": "7ms"}, {"rtt": "40ms"}, 20, 20),
        ({"delay_down": "5ms", "delay_up": "7ms"}, {"delay_up": "9ms"}, 5, 9),
        ({"delay": "5ms"}, {"delay_up": "9ms", "delay_down": "8ms"}, 8, 9),
    ],
)
def test_a_second_path_says_its_delay_in_its_own_words(
    first: dict[str, Any], second: dict[str, Any], down: int, up: int
) -> None:
    path = job_of("mptcp", path={**first, "second": second}).paths[1]
    assert (path.down.delay_ns, path.up.delay_ns) == (down * 1_000_000, up * 1_000_000)


def test_a_second_path_says_its_loss_in_its_own_words() -> None:
    path = {"rtt": "10ms", "loss": "1%", "loss_up": "2%", "second": {"loss_down": "3%"}}
    second = job_of("mptcp", path=path).paths[1]
    assert second.down.loss.model_dump()["ratio"] == 0.03
    assert second.up.loss.model_dump()["ratio"] == 0.02


def test_a_second_path_varies_like_the_first() -> None:
    factors = {"transport": ["mptcp"], "path.second.rtt": ["20ms", "60ms"]}
    planned = plan_study(study_from_mapping(tables("mptcp", factors=factors)))
    assert [run.job.paths[1].down.delay_ns for run in planned] == [10_000_000, 30_000_000]
    assert [run.job.paths[0].down.delay_ns for run in planned] == [50_000_000, 50_000_000]


def test_buffers_of_two_paths_hold_both_flights_at_the_longer_round_trip() -> None:
    path = {"rate": "100mbit", "queue": "10p", "rtt": "200ms", "second": {"rtt": "20ms"}}
    # 2 × 100 Mbit/s × 200 ms = 5 MB, four times that, as a power of two.
    assert job_of("mptcp", path=path).only.transport.buffer_bytes == 32 << 20


def test_a_timeline_counts_paths_from_one() -> None:
    entries = [OUTAGE | {"path": 2}, RESTORE | {"path": 2}]
    job = job_of("mptcp", path=SECOND | {"timeline": entries})
    assert [(event.at_ns, event.path, event.change.kind) for event in job.timeline.events] == [
        (2_000_000_000, 1, "outage"),
        (4_000_000_000, 1, "restore"),
    ]


@pytest.mark.parametrize(
    ("transport", "changes", "part"),
    [
        ("tcp", {"workload": {"size": "3B", "chunks": 4}}, "workload.chunks = 4: a content of 3"),
        ("tcp", {"workload": {"size": "3B", "chunks": 0}}, "write a whole number from 1 to 100"),
        ("tcp", {"workload": {"size": "1MB", "dial": "at once"}}, "known: sequential, parallel"),
        ("tls", {"transport": {"resume": "1rtt"}}, 'resume = "1rtt": the run\'s only transfer'),
        ("sctp", {"transport": {"resume": "1rtt"}}, "SCTP has nothing that a later association"),
        ("tcp", {"transport": {"resume": "1rtt"}}, "TCP has no session tickets; 0rtt is TCP Fast"),
        ("quic", {"transport": {"sack": False}}, "transport.sack = false: quic has no such option"),
        ("tcp", {"transport": {"streams": 2}}, "transport.streams = 2: tcp has no such option"),
        ("tcp", {"transport": {"preset": "tcp-1988"}}, "transport.preset"),
        ("sctp", {"transport": {"initial_window": 2}}, "fixed initial window"),
        ("quic", {"transport": {"initial_window": 1}}, "a QUIC window has at least two packets"),
        ("sctp", {"transport": {"rto_min": "0.5ms"}}, "ticks of 10ms"),
        ("sctp", {"transport": {"rto_min": "1ms"}}, "ticks of 10ms"),
        ("quic", {"path": {"mtu": 16_500}}, "path.mtu = 16500: quic would fill it with packets of"
         " 16472 bytes, and quinn writes a handshake packet's length in two bytes"),
        ("tcp", {"workload": {"size": "1MB", "merge": True, "direction": "up"}},
         "workload.merge = true: a server serves each connection by itself"),
        ("tcp", {"workload": {"duration": "1s", "size": "1MB", "merge": True}},
         "workload.merge = true: a content that is broken off is not whole"),
        ("quic", {"workload": {"size": "1MB", "merge": True}, "transport": {"stack": "quic-go"}},
         "workload.merge = true: quic-go's role hashes what it receives and writes no file"),
        ("tcp", {"workload": {"size": "1MB", "done": "transfer", "direction": "up"}},
         'workload.done = "transfer": a server serves each connection by itself'),
        ("tcp", {"workload": {"duration": "1s", "size": "1MB", "done": "transfer"}},
         'workload.done = "transfer": a content that is broken off has no end'),
        ("quic", {"workload": {"size": "1MB", "done": "transfer"},
                  "transport": {"stack": "quic-go"}},
         'workload.done = "transfer": quic-go\'s role confirms each part'),
        ("quic", {"workload": {"size": "1MB", "chunks": 100, "done": "transfer"}},
         'workload.done = "transfer": it takes one more stream, and stacks allow a peer 100'),
        ("sctp", {"workload": {"size": "1MB", "done": "transfer"}},
         'workload.done = "transfer": of a connection of sctp that both ends have closed nothing'),
        ("sctp", {"workload": {"kind": "stream"}, "transport": {"streams": 65_535}},
         "transport.streams = 65535: a stream opens all of them at once, at most 2000"),
        ("sctp", {"transport": {"rto_min": "5s"}}, "rto_initial must lie between"),
        ("tcp", {"transport": {"recovery": "classic"}}, "a TCP with SACK finds its losses by RACK"),
        ("mptcp", {}, "there is one path; add [path.second]"),
        ("sctp", {"transport": {"multihomed": True}}, "transport.multihomed = true: there is one"),
        ("tcp", {"path": SECOND}, "path.second"),
        ("quic", {"path": SECOND}, "quic uses one path only"),
        ("mptcp", {"path": {"second": {"rrt": "1ms"}}}, 'path.second.rrt = "1ms": unknown key'),
        (
            "mptcp",
            {"path": {"rtt": "9ms", "second": {"queue": "5p"}}},
            'path.second.queue = "5p": no queue forms',
        ),
        (
            "tcp",
            {"path": {"timeline": [RESTORE | {"at": "1s"}]}},
            'path.timeline.0.change = "restore": path 1 is whole already',
        ),
        (
            "tcp",
            {"path": {"timeline": [OUTAGE, RESTORE | {"at": "1s"}]}},
            'path.timeline.1.at = "1s": earlier than the entry before it',
        ),
        ("tcp", {"path": {"timeline": [OUTAGE | {"path": 2}]}}, "path.timeline.0.path = 2: there"),
        ("tcp", {"path": {"timeline": [OUTAGE | {"path": 3}]}}, "path.timeline.0.path = 3: too"),
        ("tcp", {"factors": {"transport": ["tcp"], "path.timeline": [[]]}}, "nothing of this name"),
        (
            {"kind": "tcp", "label": "x", "mss": 500},
            {"factors": {"transport": [{"kind": "tcp", "label": "x", "mss": 500}],
                         "transport.mss": [256]}},
            "mss is a factor, and stands in a level of transport as well",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_in_one_line(
    transport: Any, changes: dict[str, Any], part: str
) -> None:
    with pytest.raises(StudyError) as caught:
        study_from_mapping(tables(transport, **changes), file="s.toml")
    message = str(caught.value)
    assert part in message
    assert message.startswith("s.toml: ")
    assert "\n" not in message


def test_a_file_with_fewer_bytes_than_chunks_is_refused() -> None:
    study = study_from_mapping(tables("tcp", workload={"file": "/f", "chunks": 4}))
    with pytest.raises(StudyError, match="a file of 3 bytes has no 4 parts"):
        plan_study(study, size_of=lambda _: 3)


def test_generations_of_tcp_and_connections_are_listed_where_they_differ() -> None:
    level = {"kind": "tcp", "preset": "tcp-2008", "label": "tcp-2008"}
    factors = {"transport": ["tcp", level, "quic"], "workload.chunks": [1, 4]}
    study = study_from_mapping(tables("tcp", factors=factors))
    rows = {(row["setting"], row["transport"]): row for row in equal_treatment(study)}
    assert rows["SACK", "tcp-2008"]["value"] == "off"
    assert rows["SACK", "tcp"]["value"] == "on"
    assert rows["SACK", "quic"]["value"] == "–"
    assert not rows["SACK", "quic"]["deviates"]
    assert rows["connections", "quic"]["value"] == "1, 1 with 4 streams"
    assert rows["connections", "tcp"]["value"] == "1, 4"
    assert ("resumption", "tcp") not in rows
    assert "SACK" not in {row["setting"] for row in equal_treatment(
        study_from_mapping(tables("tcp"))
    )}  # fmt: skip


def test_compare_varies_chunks_dial_streams_and_resumption() -> None:
    study = study_from_compare(
        transport=["tls", "quic"],
        size=["1MB"],
        chunks=["1", "6"],
        dial=["sequential", "parallel"],
        resume=["none", "0rtt"],
    )
    assert [factor.key for factor in study.factors] == [
        "transport",
        "workload.chunks",
        "workload.dial",
        "transport.resume",
    ]
    assert bulk(plan_study(study)[0].job).transfers == 2
    with pytest.raises(StudyError, match="compare: --streams = 2: tcp has no such option"):
        study_from_compare(transport=["tcp"], size=["1MB"], streams=["2"])
    with pytest.raises(StudyError, match='compare: --chunks = "x"'):
        study_from_compare(transport=["tcp"], size=["1MB"], chunks=["x"])


def test_an_mss_is_one_that_the_stack_takes() -> None:
    jumbo = {"rtt": "1ms", "mtu": 65_535}
    with pytest.raises(StudyError, match=r"transport.mss = 40000: the kernel's TCP takes 32767"):
        job_of("tcp", transport={"mss": 40_000}, path=jumbo)
    assert job_of("tcp", transport={"mss": 32_767}, path=jumbo).only.transport.mss_bytes == 32_767
    assert job_of("sctp", transport={"mss": 40_000}, path=jumbo).only.transport.mss_bytes == 40_000


@pytest.mark.parametrize("value", ["no", "off", "False", 0, 1, 1.0])
@pytest.mark.parametrize("key", ["transport.nodelay", "transport.sack", "workload.verify"])
def test_what_is_switched_on_or_off_is_a_boolean(key: str, value: object) -> None:
    section, option = key.split(".")
    with pytest.raises(StudyError) as refused:
        study_from_mapping(tables("tcp", **{section: {option: value}}))
    assert refused.value.key == key
    assert "write `true` or `false`" in str(refused.value)
