"""What two hosts cannot do, and what is said of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from netwarp.backends.remote.lacks import Host, lack, path_refusal
from netwarp.study.sections.transport import TODAYS_TCP
from netwarp.wire import job_from_json
from remote.jobs import job

GOLDEN = Path(__file__).parents[1] / "golden"
IMPAIRED = job_from_json((GOLDEN / "job-bulk-tcp-impaired.json").read_text())


def host(name: str, *, is_root: bool, has_netem: bool) -> Host:
    missing = None if has_netem else "no netem"
    return Host(name, {}, ("cubic",), 1 << 20, 4 << 20, is_root, missing, "cubic")


def test_what_asks_for_nothing_of_the_path_is_not_refused() -> None:
    neither = host("this host", is_root=False, has_netem=False)
    assert path_refusal(job(), neither, neither) is None


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        (
            (False, False), (True, False),
            "neither side could (this host: not root, without netem; the server: root, without"
            " netem)",
        ),
        (
            (False, True), (True, True),
            "the server could with netem, but netem at a sender changes the sender (this host: not"
            " root, with netem; the server: root, with netem)",
        ),
        ((True, True), (True, True), "this host and the server could with netem, but"),
    ],
)  # fmt: skip
def test_an_impairment_is_refused_with_what_each_side_could_do(
    here: tuple[bool, bool], there: tuple[bool, bool], said: str
) -> None:
    reason = path_refusal(
        IMPAIRED,
        host("this host", is_root=here[0], has_netem=here[1]),
        host("the server", is_root=there[0], has_netem=there[1]),
    )
    assert reason is not None
    assert reason.startswith("it asks for a delay (server to client), and")
    assert said in reason
    assert "have a router between them impose it" in reason


def test_programs_have_the_congestion_control_of_their_host() -> None:
    command = job_from_json((GOLDEN / "job-command-line.json").read_text())
    there = host("the server", is_root=False, has_netem=False)
    assert lack(command, there) is None
    reason = lack(command, dataclasses.replace(there, tcp_congestion="bbr"))
    assert reason is not None
    assert "has its congestion control, bbr, and cubic is asked for" in reason
    assert lack(job(), dataclasses.replace(there, tcp_congestion="bbr")) is None


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
    changed = command.model_copy(update={"transport": command.transport.model_copy(update=asked)})
    reason = lack(changed, host("the server", is_root=True, has_netem=True))
    assert reason is not None
    assert reason.startswith(f"transport.{key} is for hosts that are made for a run")
