"""What each lesson says that one sees is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.claims import Kept
from netwarp.library import run
from netwarp.ui.address import options_of
from netwarp.ui.lessons import LESSONS, Lesson
from netwarp.ui.what_if import study_of


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_holds(lesson: Lesson, tmp_path: Path) -> None:
    done = run(study_of(options_of(lesson.given)), "virtual", out=tmp_path / "out")
    assert done.expectations
    said = {result.text: (result.kept, result.to_json()) for result in done.expectations}
    assert all(kept is Kept.HOLDS for kept, _ in said.values()), said
    assert not done.failed
