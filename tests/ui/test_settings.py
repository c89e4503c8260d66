"""What is set on the page is refused as the command line refuses it, or is the same study there.

NETWARP_SETTINGS says how many settings there are, NETWARP_SETTINGS_SEED is the seed of the first.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

import click
import pytest

from netwarp.cli.compare import compare
from netwarp.errors import InputError
from netwarp.options import Takes
from netwarp.study import Study
from netwarp.study.study import study_from_mapping
from netwarp.ui.address import command_of, options_of
from netwarp.ui.asked import refusal
from netwarp.ui.knobs import OPTIONS
from netwarp.ui.study_file import study_file
from netwarp.ui.what_if import MOST_RUNS, study_of
from ui.settings import Pairs, settings

COUNT = int(os.environ.get("NETWARP_SETTINGS", "120"))
FIRST = int(os.environ.get("NETWARP_SETTINGS_SEED", "1"))
SEEDS = range(FIRST, FIRST + COUNT)
FLAGS = {row.on_command_line[0].partition("/")[0] for row in OPTIONS.values()}
OF_PAGES = (f"a page shows at most {MOST_RUNS}", "programs are not run from a page")
"""What a page refuses and a shell does not."""


def in_a_shell(command: str) -> Study:
    """Return the study that a command runs.

    Raises:
        InputError: it is refused.
    """
    read: dict[str, Any] = compare.make_context("compare", shlex.split(command)[2:]).params
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in read.items()
        if name in OPTIONS and value not in ((), None)
    }
    return study_of(given)


def refused_in_a_shell(command: str) -> str:
    """Return the sentence with which a command is refused."""
    try:
        in_a_shell(command)
    except InputError as error:
        return str(error)
    except click.BadParameter as error:
        return f"{error.param.opts[0] if error.param else ''}: {error.message}"
    return "nothing is refused"


def on_the_page(seed: int) -> tuple[str, Study | None, str]:
    """Return the command of a setting, and its study or the sentence with which it is refused."""
    command = command_of(dict(as_typed(settings(seed))))
    try:
        return command, study_of(options_of(settings(seed))), ""
    except InputError as error:
        return command, None, refusal(error)["message"]


def as_typed(pairs: Pairs) -> Iterator[tuple[str, Any]]:
    """Yield the options of a command, whatever is typed for them."""
    for name, value in pairs:
        match OPTIONS[name].takes:
            case Takes.LEVELS | Takes.TEXTS:
                yield name, [value]
            case Takes.FLAG:
                yield name, value != "no"
            case _:
                yield name, value


def templates(study: Study) -> list[Any]:
    """Return what distinguishes studies: the jobs of their cells."""
    return [cell.template for cell in study.cells]


@pytest.mark.parametrize("seeds", [SEEDS[at : at + 30] for at in range(0, COUNT, 30)], ids=str)
def test_a_setting_is_one_study_in_three_spellings_or_refused_in_one_sentence(seeds: range) -> None:
    accepted = 0
    for seed in seeds:
        command, study, said = on_the_page(seed)
        if study is None:
            if not any(text in said for text in OF_PAGES):
                assert said == refused_in_a_shell(command), (seed, command)
            continue
        accepted += 1
        again = in_a_shell(command)
        copied = study_from_mapping(tomllib.loads(study_file(study.raw)), file="copied")
        assert templates(study) == templates(again) == templates(copied), (seed, command)
        assert study.replicates == again.replicates == copied.replicates, (seed, command)
        assert study.metrics == again.metrics == copied.metrics, (seed, command)
    assert 0 < accepted < len(seeds)
