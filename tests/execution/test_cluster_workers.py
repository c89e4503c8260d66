"""What workers say of their programs: equal, others, or nothing that can be read."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("distributed")

from netwarp.execution.cluster.programs import Programs
from netwarp.execution.cluster.workers import _refusal

HERE = Programs("sources", "kernel", "endpoint")


def test_a_worker_with_the_same_programs_is_not_refused() -> None:
    assert _refusal(HERE, json.dumps(HERE.to_json()).encode()) is None


@pytest.mark.parametrize(
    "answer",
    [b"", b"garbage", b"\xff", b"1", b"[1]", b'"missing"', b'{"netwarp": 1}', b"[" * 100_000, HERE],
)
def test_an_answer_that_is_none_refuses_the_worker(answer: object) -> None:
    assert "install the same" in str(_refusal(HERE, answer))


@pytest.mark.parametrize(
    "answer", [json.dumps({"missing": "\x1b[2J" * 10**6}).encode(), RuntimeError("\x1b[2J" * 10**6)]
)
def test_a_reason_is_a_line_that_a_terminal_can_show(answer: object) -> None:
    reason = _refusal(HERE, answer)
    assert reason is not None
    assert reason.isprintable()
    assert len(reason) < 10_000
