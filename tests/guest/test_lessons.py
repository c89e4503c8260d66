"""What each lesson says that one sees is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.claims import Kept
from netwarp.library import run
from netwarp.ui.address import options_of
from netwarp.ui.lessons import LESSONS
from netwarp.ui.what_if import study_of

STATED = [
    pytest.param(given, id=f"{lesson.name}-{number}")
    for lesson in LESSONS
    for number, given in enumerate(lesson.stated)
]
"""What each lesson begins with, and what it is after each of its turns."""


@pytest.mark.parametrize("given", STATED)
def test_what_a_lesson_states_holds(given: list[tuple[str, str]], tmp_path: Path) -> None:
    done = run(study_of(options_of(given)), "virtual", out=tmp_path / "out")
    assert done.expectations
    said = {result.text: (result.kept, result.to_json()) for result in done.expectations}
    assert all(kept is Kept.HOLDS for kept, _ in said.values()), said
    assert not done.failed
