"""MPTCP's connections and SCTP's associations that go with a client from path to path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from guest.test_reconnect import RTT_S, at, carried, connections, handovers, moved, transfers
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Connection, Goodput

MPTCP: Any = {"kind": "mptcp", "reconnect": "migrate", "label": "mptcp"}
SCTP: Any = {"kind": "sctp", "reconnect": "migrate", "label": "sctp"}
BOTH = (MPTCP, SCTP)
#: What the planner asks of SCTP here: a round trip, and the path's full queue of a BDP.
LEAST_S = 0.203


def kept(place: Path, moves: list[dict[str, Any]], *arguments: Any, **more: Any) -> list[Measured]:
    """As `moved`; one connection carries all, from beginning to end."""
    measured = moved(place, moves, *arguments, **more)
    for run in measured:
        only: list[Connection] = [connections(run, side)[0] for side in ("client", "server")]
        assert len(connections(run, "client")) == len(connections(run, "server")) == 1
        assert not any(connection.abandoned for connection in only), run.transport
        for received, sent in zip(transfers(run, "client"), transfers(run, "server"), strict=True):
            assert received.sha256 == sent.sha256 is not None, run.transport
            assert sent.resumed_at_bytes == 0
    return measured


def stood_still_s(run: Measured, since_s: float) -> float:
    """The longest time without content from a time on, in steps of the goodput's record."""
    (goodput,) = (each for each in run.records if isinstance(each, Goodput))
    step_s = goodput.step_ns / 1e9
    longest = still = 0
    last = max(index for index, count in enumerate(goodput.bytes) if count)
    for count in goodput.bytes[round(since_s / step_s) : last + 1]:
        still = 0 if count else still + 1
        longest = max(longest, still)
    return longest * step_s


@pytest.mark.parametrize("overlap_s", [0.25, 0.6])
def test_paths_that_overlap_let_content_flow_on(tmp_path: Path, overlap_s: float) -> None:
    """While the server sends. Both paths carry content, and the one that is left none after."""
    for run in kept(tmp_path, [at(1.0, overlap=f"{overlap_s}s")], BOTH):
        assert stood_still_s(run, 1.0) < 3 * RTT_S, run.transport
        assert stood_still_s(run, 0.5) < 3 * RTT_S, run.transport
        assert len(handovers(run)) == 1


@pytest.mark.parametrize("how", [{}, {"gap": "300ms"}], ids=["at-once", "gap"])
def test_mptcp_needs_no_overlap(tmp_path: Path, how: dict[str, str]) -> None:
    (run,) = kept(tmp_path, [at(1.0, **how)], (MPTCP,))
    gap_s = 0.3 if how else 0.0
    # The subflow joins, which tells of the address that is gone, and packets come over it within
    # five round trips. They can be read only when the kernel has sent again what was lost before
    # them. It does so by MPTCP's own timer: a second (TCP_TIMEOUT_INIT) where no subflow has told
    # another time-out yet, and the way there.
    assert gap_s + 2 * RTT_S - 0.01 < stood_still_s(run, 1.0) < gap_s + 1 + 2 * RTT_S


@pytest.mark.parametrize(
    "how", [{}, {"gap": "300ms"}, {"overlap": "300ms"}], ids=["at-once", "gap", "overlap"]
)
@pytest.mark.parametrize("time_s", [1e-9, 0.02, 0.05, 0.11, 0.15, 0.21, 0.26])
def test_a_move_during_the_handshake(tmp_path: Path, time_s: float, how: dict[str, str]) -> None:
    for run in moved(tmp_path, [at(time_s, **how)], BOTH if "overlap" in how else (MPTCP,)):
        assert not connections(run, "client")[-1].abandoned, run.transport
        assert run.metrics["completion_time_s"] < 6, run.transport


@pytest.mark.parametrize("apart_s", [0.001, 0.03, 0.07])
def test_mptcp_there_and_back_within_a_round_trip(tmp_path: Path, apart_s: float) -> None:
    (run,) = kept(tmp_path, [at(1.0), at(1.0 + apart_s)], (MPTCP,))
    assert [each.path for each in handovers(run)] == [1, 0]


def test_sctp_there_and_back_as_soon_as_it_may(tmp_path: Path) -> None:
    times_s = [0.6 + number * 3 * (LEAST_S + 0.001) for number in range(3)]
    moves = [at(time_s, overlap=f"{LEAST_S * 1e3:g}ms") for time_s in times_s]
    (run,) = kept(tmp_path, moves, (SCTP,))
    assert [each.path for each in handovers(run)] == [1, 0, 1]
    assert stood_still_s(run, 0.6) < 3 * RTT_S


def test_content_that_goes_up_migrates(tmp_path: Path) -> None:
    kept(tmp_path, [at(1.0, overlap="300ms")], BOTH, direction="up")


def test_sctp_streams_go_along(tmp_path: Path) -> None:
    streams = {**SCTP, "streams": 2}
    (run,) = kept(tmp_path, [at(1.0, overlap="300ms")], (streams,), chunks=3)
    assert len(transfers(run, "client")) == 3


def test_moves_repeat_byte_for_byte(tmp_path: Path) -> None:
    moves = [at(0.6, overlap="300ms"), at(1.5, overlap="300ms")]
    again = [kept(tmp_path / name, moves, BOTH) for name in ("one", "other")]
    for one, other in zip(*again, strict=True):
        ours, theirs = ((run.path / RECORDS_FILE).read_bytes() for run in (one, other))
        assert ours == theirs, one.transport


def test_a_subflow_that_joins_late_has_the_whole_window(tmp_path: Path) -> None:
    """80 KB, `tcp_rmem`'s default, would be 13 Mbit/s here."""
    path = {"rtt": "50ms", "rate": "100mbit", "queue": "1000p"}
    (run,) = carried(
        tmp_path, [at(2.0, overlap="300ms")], (MPTCP,), path, size="40MB", verify=False
    )
    (goodput,) = (each for each in run.records if isinstance(each, Goodput))
    per_second = round(1e9 / goodput.step_ns)
    assert sum(goodput.bytes[int(2.8 * per_second) : int(3.3 * per_second)]) * 8 / 0.5 > 80e6


@pytest.mark.parametrize("how", [{}, {"gap": "300ms"}, {"overlap": "202ms"}])
def test_sctp_that_would_be_lost_is_refused_before_anything_runs(
    tmp_path: Path, how: dict[str, str]
) -> None:
    with pytest.raises(StudyError, match=r"overlap by 203ms or more") as told:
        carried(tmp_path, [at(1.0, **how)], (SCTP,))
    assert "path.timeline.0.overlap" in str(told.value)
    assert not list(tmp_path.iterdir())


def test_an_upload_that_arrived_before_the_client_dialled_anew_is_counted_once(
    tmp_path: Path,
) -> None:
    """A connection of MPTCP cannot move before it is set up on both sides, so the client dials anew
    and uploads again; its kernel delivers what the first connection had sent all the same.
    """
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "seed": 2**63 - 1,
            "path": {
                "profile": "lte",
                "rtt": "0s",
                "rate_down": "40gbit",
                "rate_up": "123456bit",
                "queue_down": "1500B",
                "queue_up": "100p",
                "discipline": "red",
                "loss": "5%",
                "second": {"rtt": "3927ns", "rate": "1500bit"},
                "handovers": {"every": "20ms", "count": 2, "gap": "1ms"},
            },
            "transport": {"kind": "mptcp"},
            "workload": {"size": "1kB", "direction": "up", "chunks": 2, "dial": "parallel"},
        }
    )
    (run,) = run_study(plan_study(study), tmp_path)
    assert run.status.outcome == "ok", run.status.reason
    assert [each.abandoned for each in connections(run, "client")] == [True, True, False, False]
    assert sorted(each.chunk for each in transfers(run, "server")) == [0, 1]
