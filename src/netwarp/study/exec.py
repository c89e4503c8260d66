"""Builds a study from the options of ``netwarp exec``: one server, one client, one path."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from netwarp.errors import InputError, StudyError
from netwarp.fields import KeyValueError
from netwarp.options import EXEC, Option
from netwarp.options.keywords import ExecStudyOptions
from netwarp.study.compare import display_by, given_of, levels_of, typed
from netwarp.study.overrides import apply_overrides, listed, overrides_of
from netwarp.study.refusal import Refusals
from netwarp.study.study import Study, study_from_mapping

COMMAND = "exec"
STALL_CPU_S = 60
"""Default of `limits.stall_cpu_s` for `exec`, in s. It is shorter than in studies, because a user
waits for the run."""
_OF_STUDY = tuple(row for row in EXEC if row.defines_study)
_option = display_by(EXEC)


def study_from_exec(
    client: str | Sequence[str], *, folder: Path | None = None, **options: Unpack[ExecStudyOptions]
) -> Study:
    """Build a study of one cell from the options of `exec`.

    Args:
        client: the client: a line for the shell, or a program and its arguments.
        folder: the folder in which both programs start; None for the working directory.
        options: those of :data:`netwarp.options.EXEC` that change the study.

    Raises:
        StudyError: an invalid option; the message names it.
        InputError: there is no server.
    """
    given = given_of({**options}, _OF_STUDY, COMMAND)
    if "server" not in given:
        raise InputError(
            "exec: there is no server, and a client alone has nobody at the other end of the path:"
            " give one with --server 'CMD'"
        )
    tables: dict[str, Any] = {
        "title": "A server and a client",
        "replicates": given.pop("replicates", 1),
        "path": {},
        "transport": {"kind": "tcp"},
        "workload": {
            "kind": "command",
            "client": client if isinstance(client, str) else list(client),
        },
        "limits": {"stall_cpu_s": STALL_CPU_S},
    }
    given["env"] = dict(_variable(each) for each in listed(given.get("env", ()), "env"))
    for row in _OF_STUDY:
        section, _, key = row.key.partition(".")
        if key and row.name in given:
            value = given[row.name]
            tables[section][key] = _one_level(row, value) if section == "path" else value
    return study_from_mapping(
        apply_overrides(tables, overrides_of(given), seed=given.get("seed")),
        file=COMMAND,
        folder=folder or Path.cwd(),
        display=_display,
    )


def _one_level(row: Option, value: Any) -> str | int:
    levels = levels_of(row, value)
    if len(levels) > 1:
        reason = f"{len(levels)} levels, but one command is run once"
        remedy = 'give one, or write a study with workload.kind = "command" and factors'
        raise _refusal(KeyValueError(row.key, None, reason, remedy))
    return typed(row, levels[0])


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        reason = f"{text!r} is no NAME=VALUE"
        raise _refusal(KeyValueError("workload.environment", None, reason, "such as DEBUG=1"))
    return name, value


def _refusal(error: KeyValueError) -> StudyError:
    return Refusals(COMMAND, display=_display).study_error(error)


def _display(key: str) -> str:
    """Return the option or argument that sets a key."""
    return "the command" if key == "workload.client" else _option(key)
