"""Builds a study from the options of ``netwarp exec``: one server, one client, one path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.study.compare import option_of, typed_level
from netwarp.study.overrides import apply_overrides
from netwarp.study.refusal import Refusals
from netwarp.study.study import Study, study_from_mapping

COMMAND = "exec"
STALL_CPU_S = 60
"""Default of `limits.stall_cpu_s`, in s; shorter than a study's, as a user waits for the run."""


def study_from_exec(
    *,
    server: str,
    client: Sequence[str],
    path: Mapping[str, Sequence[str]],
    ready: str | None = None,
    environment: Sequence[str] = (),
    memory: str | None = None,
    start_date: str | None = None,
    shared: bool = False,
    keep: bool = False,
    congestion: str | None = None,
    seed: int | None = None,
    replicates: int | None = None,
    overrides: Sequence[str] = (),
    folder: Path | None = None,
) -> Study:
    """Build a study of one cell.

    Args:
        server: a shell command.
        client: a program and its arguments.
        path: one level by key of ``[path]``.
        ready: when the server is ready; None for the default.
        environment: ``NAME=VALUE`` each, for both programs.
        memory: memory for the programs and the files they write; None for the default.
        start_date: the date at which programs start in virtual time; None for the default.
        shared: whether both hosts have the same files.
        keep: whether the files they write are kept.
        congestion: congestion control of the hosts' TCP; None for the default.
        seed: None for the default.
        replicates: runs, each with seeds of its own; None for one.
        overrides: ``KEY=VALUE`` each.
        folder: where both programs start; None for where the command was given.

    Raises:
        StudyError: an invalid option; the message names it.
    """
    for key, levels in path.items():
        if len(levels) > 1:
            reason = f"{len(levels)} levels, but one command is run once"
            remedy = 'give one, or write a study with workload.kind = "command" and factors'
            raise _refusal(KeyValueError(f"path.{key}", None, reason, remedy))
    workload: dict[str, Any] = {"kind": "command", "server": server, "client": list(client)}
    workload["environment"] = dict(_variable(each) for each in environment)
    given: dict[str, Any] = {"ready": ready, "memory": memory, "start_date": start_date}
    given |= {"shared": shared or None, "keep": keep or None}
    workload |= {key: value for key, value in given.items() if value is not None}
    tables = {
        "title": "A server and a client",
        "replicates": replicates or 1,
        "path": {key: typed_level(key, level) for key, (level,) in path.items()},
        "transport": {"kind": "tcp", **({"congestion": congestion} if congestion else {})},
        "workload": workload,
        "limits": {"stall_cpu_s": STALL_CPU_S},
    }
    return study_from_mapping(
        apply_overrides(tables, overrides, seed=seed),
        file=COMMAND,
        folder=folder or Path.cwd(),
        display=_display,
    )


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        reason = f"{text!r} is no NAME=VALUE"
        raise _refusal(KeyValueError("workload.environment", None, reason, "such as DEBUG=1"))
    return name, value


def _refusal(error: KeyValueError) -> StudyError:
    return Refusals(COMMAND, display=_display).study_error(error)


def _display(key: str) -> str:
    """Name the option that a key was given by: ``path.loss_up`` is ``--loss-up``."""
    section, _, name = key.partition(".")
    if section == "path":
        return option_of(name)
    named = {
        "workload.server": "--server",
        "workload.client": "the command",
        "workload.ready": "--ready",
        "workload.environment": "--env",
        "workload.memory": "--memory",
        "workload.start_date": "--start-date",
        "workload.shared": "--shared",
        "transport.congestion": "--congestion",
    }
    return named.get(key, f"--set {key}" if name else option_of(key))
