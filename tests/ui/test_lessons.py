"""The lessons: one table, of which the page, the documentation and the tests are made."""

from __future__ import annotations

import runpy
import shlex
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from guides import commands
from netwarp.ui.address import options_of
from netwarp.ui.knobs import OPTIONS
from netwarp.ui.lesson import Lesson
from netwarp.ui.lessons import BY_NAME, LESSONS
from netwarp.ui.what_if import study_of

REPOSITORY = Path(__file__).parents[2]


def test_there_are_twelve() -> None:
    assert len(BY_NAME) == len(LESSONS) == 12


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_can_be_run_and_states_something(lesson: Lesson) -> None:
    study = study_of(options_of(lesson.given))
    assert study.expectations
    assert study.replicates == 10  # the usual number: none is chosen for a lesson
    assert set(lesson.turns) <= OPTIONS.keys()
    name, *given = parse_qsl(urlsplit(lesson.address).query)
    assert name == ("lesson", lesson.name)
    assert given == list(lesson.given)
    assert shlex.split(lesson.command)[:2] == ["netwarp", "compare"]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_each_turn_of_a_lesson_states_something_of_its_own(lesson: Lesson) -> None:
    assert lesson.next_turns
    for turn in lesson.next_turns:
        given = lesson.given_after(turn)
        study = study_of(options_of(given))
        assert study.expectations
        assert study.replicates == 10
        changed = {name for name, _ in turn.changes} - {"expect"}
        assert changed <= {*lesson.turns, "transport", "set", "congestion", "discipline"}
        name, *shown = parse_qsl(urlsplit(lesson.address_after(turn)).query)
        assert name == ("lesson", lesson.name)
        assert shown == given


def test_the_page_is_made_of_the_table() -> None:
    pages = runpy.run_path(str(REPOSITORY / "scripts/generate_docs.py"))["pages"]()
    page = (REPOSITORY / "docs/lessons.md").read_text(encoding="utf-8")
    assert page == pages["lessons.md"]
    for lesson in LESSONS:
        assert f"## {lesson.title}\n\n{lesson.sentence}\n" in page


def test_the_tutorial_has_a_lesson_of_the_table() -> None:
    typed = [shlex.join(line) for line in commands(REPOSITORY / "docs/tutorial.md")]
    assert shlex.join(shlex.split(BY_NAME["slow-start"].command)) in typed
    assert LESSONS[0] is BY_NAME["slow-start"]
