"""The bench of the local pages names what became of each question without an answer."""

from __future__ import annotations

import pytest

from bench.ui import instead_of_an_answer

STARTED = 'event: started\ndata: {"title": "x"}\n\n'
ANSWER = 'event: answer\ndata: {"metrics": [{"name": "completion_time_s"}]}\n\n'
DONE = "event: done\ndata: {}\n\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (STARTED + ANSWER + DONE, None),
        (
            'event: refused\ndata: {"message": "--loss: no", "option": "--loss"}\n\n' + DONE,
            {"event": "refused", "message": "--loss: no"},
        ),
        (
            STARTED + ANSWER + 'event: failed\ndata: {"message": "no guest"}\n\n' + DONE,
            {"event": "failed", "message": "no guest"},
        ),
        (STARTED + DONE, {"event": "done", "message": "no reason was sent"}),
        ("", {"event": "none", "message": "no reason was sent"}),
    ],
)
def test_a_question_without_an_answer_is_named(text: str, found: dict[str, str] | None) -> None:
    assert instead_of_an_answer(text) == found
