"""A grid of interoperability: real runs, judged by the packets that were on the wire."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import LocalExecutor
from netwarp.interop import Asked, run_grid
from netwarp.interop.checks import check
from netwarp.interop.packets import datagrams
from netwarp.interop.run import repeat
from netwarp.interop_cases import CaseName
from netwarp.stacks import find_stack, missing_program

STACK = "quic-go"
OWN_CHECK: tuple[CaseName, ...] = (
    "chacha20", "retry", "resumption", "zerortt", "http3", "keyupdate", "ecn", "longrtt",
)  # fmt: skip


def asked(*cases: CaseName) -> Asked:
    stack = find_stack(STACK)
    missing = missing_program(STACK, stack.program)
    if missing is not None or shutil.which("tshark") is None:
        pytest.skip(missing or "no tshark: `apt-get install tshark`")
    return Asked.of(stacks=[STACK], cases=cases, folder=Path.cwd())


def test_a_pair_succeeds_by_what_was_on_the_wire_and_is_not_run_twice(tmp_path: Path) -> None:
    cases: tuple[CaseName, ...] = ("handshake", *OWN_CHECK)
    told: list[CaseName] = []
    first, second = (
        run_grid(
            asked(*cases), VirtualBackend(), LocalExecutor(1), tmp_path, at_a_time=1,
            on_case=told.append,
        )
        for _ in range(2)
    )  # fmt: skip
    assert {case: field.reason for (*_, case), field in first.fields.items()} == dict.fromkeys(
        told[: len(cases)]
    )
    assert first.fields == second.fields
    status = tmp_path / "handshake" / "runs" / "c000-r00" / "status.json"
    assert json.loads(status.read_text())["outcome"] == "ok"


def test_a_plain_handshake_is_none_of_the_other_cases(tmp_path: Path) -> None:
    (judged,) = repeat(asked("handshake"), "handshake", 1, VirtualBackend(), tmp_path)
    assert judged.wrong is None
    sent = datagrams(tmp_path / judged.run)
    assert not any(each.is_undecrypted for each in sent)
    for case in set(OWN_CHECK) - {"ecn"}:  # quic-go marks its packets in every case
        assert check(case, sent, []) is not None, case


def test_the_command_prints_the_grid_and_writes_it_as_the_runner_does(tmp_path: Path) -> None:
    asked("handshake")
    netwarp = Path(sys.executable).with_name("netwarp")
    done = subprocess.run(
        [netwarp, "interop", "--stacks", STACK, "--cases", "handshake", "--out", tmp_path / "grid"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 succeeded" in done.stdout
    assert json.loads((tmp_path / "grid" / "result.json").read_text())["clients"] == [STACK]
