"""What two hosts cannot do, and what is said of it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.remote.host_refusals import Host, host_refusal, path_refusal
from netwarp.backends.remote.session import settable_congestion
from netwarp.study.sections.transport import TODAYS_TCP
from netwarp.wire import Direction, Discipline, Impairments, Job, job_from_json
from remote.jobs import job

GOLDEN = Path(__file__).parents[1] / "golden"
THERE = Host("the server", {}, ("cubic",), 1 << 20, 4 << 20, "cubic")
IMPAIRED = job_from_json((GOLDEN / "job-bulk-tcp-impaired.json").read_text())


def can(_: Direction) -> str | None:
    return None


def cannot(direction: Direction) -> str | None:
    return {"down": "eth0 joins packets", "up": "started without --allow-netem"}[direction]


def with_paths(**directions: Impairments) -> Job:
    (path, *_) = IMPAIRED.paths
    return IMPAIRED.model_copy(update={"paths": (path.model_copy(update=directions),)})


def changed(**impairments: object) -> Impairments:
    sound = IMPAIRED.paths[0].down.model_copy(update={"corrupt_ratio": 0.0})
    return sound.model_copy(update=impairments)


def nothing() -> Impairments:
    return job().paths[0].up


def test_what_asks_for_nothing_of_the_path_is_not_refused() -> None:
    assert path_refusal(job(), cannot) is None


def test_a_congestion_control_that_users_may_not_choose_is_refused_before_a_run() -> None:
    """The kernel keeps what is loaded and not allowed for those with CAP_NET_ADMIN."""
    reason = host_refusal(job(), dataclasses.replace(THERE, congestion=("reno", "bbr")))
    assert reason is not None
    assert "no congestion control 'cubic', only reno, bbr: choose one of them" in reason
    assert "tcp_allowed_congestion_control='reno bbr cubic'" in reason
    assert host_refusal(job(), THERE) is None


def test_what_a_user_may_choose_is_tried_by_that_user() -> None:
    settings = Path("/proc/sys/net/ipv4")
    loaded = (settings / "tcp_available_congestion_control").read_text().split()
    allowed = (settings / "tcp_allowed_congestion_control").read_text().split()
    program = (
        "from netwarp.backends.remote.session import settable_congestion;"
        f"print(*settable_congestion({loaded!r}))"
    )
    # Without capabilities, as an ordinary user.
    capless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*capless, sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == set(loaded) & set(allowed)
    assert settable_congestion(["none-such"]) == ()


def test_the_receiving_host_of_each_direction_is_asked_and_no_other() -> None:
    both = with_paths(down=changed(), up=changed())
    assert path_refusal(both, can) is None
    reason = path_refusal(both, cannot)
    assert reason is not None
    assert reason.startswith(
        "it asks for a delay (server to client), which is for the receiving host to impose, and"
        " this host does not: eth0 joins packets; or leave it out"
    )
    reason = path_refusal(with_paths(down=nothing(), up=changed()), cannot)
    assert reason is not None
    assert "(client to server)" in reason
    assert "the server does not: started without --allow-netem; or leave it out" in reason


def test_what_no_receiving_host_can_impose_is_refused_though_it_could_the_rest() -> None:
    corrupting = path_refusal(with_paths(up=changed(corrupt_ratio=0.01), down=nothing()), can)
    assert corrupting is not None
    assert corrupting.startswith("it asks for corruption, and a network device has verified")
    command = job_from_json((GOLDEN / "job-command-line.json").read_text())
    programs = path_refusal(command.model_copy(update={"paths": IMPAIRED.paths}), can)
    assert programs is not None
    assert "programs listen at ports of their own" in programs
    queue = Discipline(kind="fq_codel", limit_packets=100, frame_bytes=1514, ecn=True)
    managed = path_refusal(with_paths(down=changed(discipline=queue), up=nothing()), can)
    assert managed is not None
    assert "fq_codel at the bottleneck" in managed


def test_programs_have_the_congestion_control_of_their_host() -> None:
    command = job_from_json((GOLDEN / "job-command-line.json").read_text())
    assert host_refusal(command, THERE) is None
    reason = host_refusal(command, dataclasses.replace(THERE, tcp_congestion="bbr"))
    assert reason is not None
    assert "has its congestion control, bbr, and cubic is asked for" in reason
    assert host_refusal(job(), dataclasses.replace(THERE, tcp_congestion="bbr")) is None


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("initial_window", {"initial_window_packets": 4}),
        ("tcp", {"tcp": TODAYS_TCP.model_copy(update={"sack": False})}),
        ("mss", {"mss_bytes": 536}),
        ("ecn", {"ecn": True}),
    ],
)
def test_what_nobody_sets_of_programs_tcp_is_refused(key: str, asked: dict[str, object]) -> None:
    command = job_from_json((GOLDEN / "job-command-line.json").read_text())
    changed = command.with_only(transport=command.only.transport.model_copy(update=asked))
    reason = host_refusal(changed, THERE)
    assert reason is not None
    assert reason.startswith(f"transport.{key} is for hosts that are made for a run")


@pytest.mark.parametrize(
    "option", [{"hystart": False}, {"mtu_probing": True}, {"tcp_rto_min_ns": 1}, {"tso_packets": 1}]
)
def test_settings_of_a_host_are_left_alone(option: dict[str, object]) -> None:
    usual = job("tcp")
    assert host_refusal(usual, THERE) is None
    tcp = usual.only.transport.tcp.model_copy(update=option)
    transport = usual.only.transport.model_copy(update={"tcp": tcp})
    only = usual.only.model_copy(update={"transport": transport})
    reason = host_refusal(usual.model_copy(update={"workloads": (only,)}), THERE)
    assert reason is not None
    assert reason.startswith(f"transport.{next(iter(option)).removesuffix('_ns')} is a ")
