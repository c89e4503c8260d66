"""The command line's options, said once and used by every command that has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from netwarp.errors import InputError
from netwarp.units import NS_PER_S, UnitError, parse_duration_ns, parse_ratio

if TYPE_CHECKING:
    from netwarp.estimate.staging import Staging, TimeLimit

STUDY = "The study"
PATH = "The path: every option takes a list, such as 0%,1%,5%; lists are factors"
ONE_PATH = "The path: every option takes one value"
RUNNING = "How to run"


def study_option(help_text: str) -> typer.models.OptionInfo:
    """Declare one option of transport or workload that takes a list."""
    option: typer.models.OptionInfo = typer.Option(
        help=help_text, metavar="LIST", rich_help_panel=STUDY
    )
    return option


Backend = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="Where to run: virtual (a guest in virtual time), native (this host's own kernel, in"
        " real time), remote:HOST:PORT (this host's kernel and that of HOST, where `netwarp"
        " serve` listens at PORT), or replay:DIR (what DIR recorded). Default: the study's, usually"
        " virtual.",
        metavar="virtual|native|remote:HOST:PORT|replay:DIR",
        rich_help_panel=RUNNING,
    ),
]
Server = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="With --backend remote, instead of remote:HOST:PORT: where `netwarp serve` listens.",
        metavar="HOST:PORT",
        rich_help_panel=RUNNING,
    ),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option(
        help="Run directory; the same one resumes. Default: netwarp-out/NAME-HASH.",
        metavar="DIR",
        rich_help_panel=RUNNING,
    ),
]
Jobs = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        min=1,
        help="Runs at a time. Default: one per CPU; native: always 1.",
        metavar="N",
        rich_help_panel=RUNNING,
    ),
]
Executor = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="Whose CPUs: local, dask-local:N (N processes on this machine), or dask://HOST:PORT"
        " (the workers of a cluster; see docs/scale.md). Default: local.",
        metavar="local|dask-local:N|dask://HOST:PORT",
        rich_help_panel=RUNNING,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        help="Everything random follows from it. Default: the study's.",
        metavar="N",
        rich_help_panel=RUNNING,
    ),
]
Replicates = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        help="Runs of each cell. Default: the study's, or 10 where it says none.",
        metavar="N",
        rich_help_panel=RUNNING,
    ),
]
Set = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--set",
        help="Change a key of the study: path.rtt=50ms. A list makes it a factor: path.rtt=50ms,1s."
        " Repeatable.",
        metavar="KEY=VALUE",
        rich_help_panel=RUNNING,
    ),
]
Filter = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--filter",
        help="Run only these cells: transport=quic or path.loss=0%,1%. Repeatable.",
        metavar="FACTOR=LEVEL",
        rich_help_panel=RUNNING,
    ),
]
Relevant = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="The smallest relevant difference: nothing below it is called one. Default: the"
        " study's, usually 1%.",
        metavar="SHARE",
        rich_help_panel=RUNNING,
    ),
]
Metric = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="The metrics that are compared, such as completion_time_s,rtt_under_load_s_p95."
        " Default: the study's.",
        metavar="NAME[,NAME]",
        rich_help_panel=RUNNING,
    ),
]
Against = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="What the others are compared against: transport.congestion=cubic compares congestion"
        " controls. Default: the study's, usually the first transport.",
        metavar="FACTOR=LEVEL",
        rich_help_panel=RUNNING,
    ),
]
Precision = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="Add replicates, up to eight times as many, until every mean is known to ± this"
        " share: 5%.",
        metavar="SHARE",
        rich_help_panel=RUNNING,
    ),
]
Decide = Annotated[
    bool,
    typer.Option(
        "--decide",
        help="Add replicates, up to eight times as many, until every claim is decided; in a study"
        " without claims, every comparison.",
        rich_help_panel=RUNNING,
    ),
]
MaxTime = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="Add no more replicates after this time: 10min. What every cell has at first is run in"
        " any case.",
        metavar="TIME",
        rich_help_panel=RUNNING,
    ),
]
Listed = Optional[str]  # noqa: UP045


def backend_at(backend: str | None, server: str | None) -> str | None:
    """Join `--backend` and `--server` to the name that opens the backend.

    Raises:
        InputError: one without the other.
    """
    if backend == "remote":
        if server is None:
            raise InputError(
                "--backend remote: where is the server? Give --server HOST:PORT, as `netwarp serve`"
                " says on that host"
            )
        return f"remote:{server}"
    if server is not None:
        raise InputError(f"--server {server}: only --backend remote has a server; add it")
    return backend


def levels(text: str | None) -> list[str]:
    """Split an option's list; an option that is not given is an empty one."""
    return [] if text is None else [level.strip() for level in text.split(",")]


def relevant_override(relevant: str | None) -> list[str]:
    """Write `--relevant` as an override of the study's key."""
    return [] if relevant is None else [f"relevant={relevant}"]


def question_overrides(metric: str | None, against: str | None) -> list[str]:
    """Write `--metric` and `--against` as overrides of the study's keys.

    Raises:
        InputError: `--against` is not FACTOR=LEVEL.
    """
    overrides = []
    if metric is not None:
        overrides.append(f"metrics={json.dumps(levels(metric))}")
    for factor, level in against_level(against).items():
        overrides.append(f"against={{{json.dumps(factor)} = {json.dumps(level)}}}")
    return overrides


def against_level(against: str | None) -> dict[str, str]:
    """Read `--against`: the level by its factor; empty where it is not given.

    Raises:
        InputError: not FACTOR=LEVEL.
    """
    if against is None:
        return {}
    factor, equals, level = (part.strip() for part in against.partition("="))
    if not factor or not equals or not level:
        raise InputError(
            f"--against {against}: not FACTOR=LEVEL; such as transport.congestion=cubic"
        )
    return {factor: level}


def staging(precision: str | None, decide: bool, max_time: str | None) -> Staging | None:
    """Say how replicates are added; None where neither option asks for any.

    Raises:
        InputError: both are given, the precision is no share above 0, or a time limit limits
            nothing.
    """
    from netwarp.estimate.staging import Staging

    if max_time is not None and precision is None and not decide:
        raise InputError(
            f"--max-time {max_time}: no replicates are added without --decide or --precision;"
            " give one of them, or drop it"
        )
    limit = time_limit(max_time)
    if precision is None:
        return Staging(limit=limit) if decide else None
    if decide:
        raise InputError("--precision and --decide: replicates are added for one of them; drop one")
    wanted = share(precision, "--precision")
    if wanted <= 0:
        raise InputError(f"--precision {precision}: no number of replicates reaches it; give 5%")
    return Staging(wanted, limit)


def share(text: str, option: str) -> float:
    """Read an option that is a share, such as 5%.

    Raises:
        InputError: it is none.
    """
    try:
        return parse_ratio(text)
    except UnitError as error:
        raise InputError(f"{option} {text}: {error}") from None


def time_limit(max_time: str | None, times: int = 1) -> TimeLimit | None:
    """Read `--max-time`, which begins now, and so many times as long; None where it is not given.

    Raises:
        InputError: not a duration.
    """
    from netwarp.execution import time_limits

    if max_time is None:
        return None
    try:
        return time_limits.time_limit(times * parse_duration_ns(max_time) / NS_PER_S)
    except UnitError as error:
        raise InputError(f"--max-time {max_time}: {error}") from None
