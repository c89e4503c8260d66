"""Commands and the library's calls have the same options, of the same rows."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import click
import pytest

import netwarp
from netwarp import wire
from netwarp.cli.command import RowOption
from netwarp.cli.commands import COMMANDS, load_command
from netwarp.errors import InputError, StudyError
from netwarp.library.calls import divided
from netwarp.options import CHECKS, COMPARE, EXEC, RUN, Takes, keywords
from netwarp.options.study import PATH
from netwarp.path_properties import PATH_PROPERTIES
from netwarp.plan import plan_study
from netwarp.study.compare import study_from_compare
from netwarp.study.exec import study_from_exec

GENERATOR = runpy.run_path(str(Path(__file__).parents[1] / "scripts/generate_options.py"))


def test_the_types_of_options_are_fresh() -> None:
    assert GENERATOR["main"](["--check"]) == 0


@pytest.mark.parametrize("name", ["compare", "exec", "run"])
def test_a_call_has_every_option_of_its_command(name: str) -> None:
    of_command = [
        each.row.name for each in load_command(name).params if isinstance(each, RowOption)
    ]
    taken = inspect.signature(getattr(netwarp, name)).parameters
    of_call = {*getattr(keywords, f"{name.capitalize()}Options").__annotations__, *taken}
    # `netwarp.library.expected` answers what a dry run does.
    of_command_alone = {"as_json", "dry_run", *(each.name for each in CHECKS)}
    assert set(of_command) - of_command_alone <= of_call
    for option in of_command:
        if option not in of_command_alone:
            assert f"{option}: " in (getattr(netwarp, name).__doc__ or "")


@pytest.mark.parametrize("name", ["compare", "exec", "run"])
def test_a_call_refuses_what_its_command_does(name: str) -> None:
    given: dict[str, Any] = {"bandwith": "5mbit"}
    first = [] if name == "compare" else [["true"]] if name == "exec" else ["no/such.toml"]
    with pytest.raises(StudyError, match=rf"^{name}: --bandwith: unknown option"):
        getattr(netwarp, name)(*first, **given)


def test_options_of_a_call_say_what_is_asked() -> None:
    study = netwarp.study_from_compare(
        transport=["tcp", "quic"], loss=["0%", "1%"], size="1MB", metric="goodput_bit_s",
        against="transport=quic", relevant="5%", set="transport.mss=1200", seed=7,
    )  # fmt: skip
    asked = {key: study.raw[key] for key in ("metrics", "against", "relevant", "seed")}
    assert asked == {
        "metrics": ["goodput_bit_s"], "against": {"transport": "quic"}, "relevant": "5%", "seed": 7,
    }  # fmt: skip
    assert study.raw["transport"] == {"mss": 1200}


def test_a_page_and_a_flow_at_once_are_refused() -> None:
    with pytest.raises(StudyError, match="--flow"):
        netwarp.study_from_compare(page="web-30", flow="1mbit")


def test_a_study_that_is_loaded_is_not_changed() -> None:
    study = netwarp.study_from_compare(size="1kB")
    with pytest.raises(netwarp.InputError, match="seed= changes a study in a file"):
        netwarp.run(study, seed=3)
    with pytest.raises(netwarp.InputError, match="quick= changes a study in a file"):
        netwarp.run(study, quick=True)


def test_all_that_changes_a_study_is_applied_when_it_is_loaded() -> None:
    changes = {"quick": True, "seed": 3, "replicates": 2, "set": ["path.rtt=1ms"]}
    assert divided("run", RUN, changes | {"jobs": 1}) == (changes, {"jobs": 1})


def test_no_replicate_of_programs_is_refused() -> None:
    with pytest.raises(StudyError, match="replicates"):
        study_from_exec(["true"], server="true", replicates=0)


@pytest.mark.parametrize(
    ("client", "argv"),
    [
        ("curl server | wc", ("/bin/sh", "-c", "curl server | wc")),
        (["curl", "server"], ("curl", "server")),
        (("true",), ("true",)),
    ],
)
def test_a_client_that_is_a_text_is_a_line_for_the_shell(
    client: Any, argv: tuple[str, ...]
) -> None:
    (planned,) = plan_study(study_from_exec(client, server="true"))
    command = planned.job.only.workload
    assert isinstance(command, wire.Command)
    assert command.client == argv


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_the_common_options_and_help_all_every_one(name: str) -> None:
    command = load_command(name)
    ctx = click.Context(command, info_name=name)
    rows = [each.row for each in command.params if isinstance(each, RowOption)]
    told = click.unstyle(command.get_help(ctx))
    for row in rows:
        flag = row.on_command_line[0].partition("/")[0]
        assert bool(re.search(rf"│ {flag}[ ,]", told)) is row.is_common, row.name
    assert ("--help-all" in told) is (not all(row.is_common for row in rows))


def test_all_of_compare_is_on_help_all(capsys: pytest.CaptureFixture[str]) -> None:
    command = load_command("compare")
    command.main(["--help-all"], standalone_mode=False)
    whole = capsys.readouterr().out
    assert all(f"{row.on_command_line[0].partition('/')[0]}" in whole for row in COMPARE)
    command.main(["--help"], standalone_mode=False)
    assert len(capsys.readouterr().out.splitlines()) < 0.7 * len(whole.splitlines())


def test_a_path_is_described_alike_wherever_it_is() -> None:
    assert [row.name for row in PATH] == [key for row in PATH_PROPERTIES for key in row.keys]
    for rows in (COMPARE, EXEC):
        assert [row.name for row in rows if row.key.startswith("path.")] == [
            row.name for row in PATH
        ]
    assert {row.takes for row in (*COMPARE, *EXEC, *RUN)} == set(Takes)


def test_a_directory_of_exec_is_not_said_to_be_resumed() -> None:
    (out,) = (row for row in EXEC if row.name == "out")
    assert "resumes" not in out.help
    assert "replaced" in out.help
    assert "resumes" in next(row for row in COMPARE if row.name == "out").help


def test_programs_are_expected_to_keep_a_bound_by_enough_replicates_alone() -> None:
    """One replicate of programs decides nothing, so that the bound is refused before it runs."""
    bound = "run_time_s < 2 s"
    with pytest.raises(netwarp.InputError, match=r"fewer than 5 runs .* give --replicates 7"):
        netwarp.exec(["true"], server="true", expect=bound)
    with pytest.raises(StudyError, match="not a metric"):
        netwarp.exec(["true"], server="true", replicates=7, expect="runtime < 2 s")


@pytest.mark.parametrize("value", [0.5, True, [1]])
def test_a_list_of_texts_that_is_something_else_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(InputError, match=r"metric: .* is neither a text nor a list of texts"):
        study_from_compare(metric=value)


def test_one_command_is_not_told_to_take_lists() -> None:
    told = {row.name: row.help for row in EXEC}
    assert "list" in {row.name: row.help for row in COMPARE}["set"]
    assert not [name for name, text in told.items() if re.search(r"\b(a list|factor)\b", text)]
