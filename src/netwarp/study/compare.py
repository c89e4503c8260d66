"""Builds a study from the options of ``netwarp compare``; options with a list become factors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netwarp.fields import KeyValueError
from netwarp.path_properties import BY_KEY, options
from netwarp.study.contenders import LATENCY, contender_factor, shapes_queues
from netwarp.study.overrides import apply_overrides
from netwarp.study.refusal import Refusals
from netwarp.study.study import Study, study_from_mapping
from netwarp.suggestions import did_you_mean

COMMAND = "compare"
PATH_OPTIONS = tuple(key for key, _ in options())
"""Keys of ``[path]`` that are options of the command line, where ``_`` is ``-``."""
PAGE_OPTIONS = ("page", "http", "client", "server")
"""Keys of a ``[workload]`` of the kind ``page`` that are options of the command line."""
FLOW_OPTIONS = ("payload", "interval", "duration", "arrivals")
"""Keys of a ``[workload]`` of the kind ``flow`` that are options of the command line."""
USUAL_HTTP = ("2", "3")
USUAL_DURATION = "10s"
_OPTIONS = (
    *(f"path.{key}" for key in PATH_OPTIONS),
    *(f"workload.{key}" for key in ("size", "file", "chunks", "dial", "direction", "verify")),
    *(f"workload.{key}" for key in PAGE_OPTIONS),
    *(f"workload.{key}" for key in FLOW_OPTIONS),
    *(f"transport.{key}" for key in ("congestion", "streams", "resume")),
)
"""Keys that have an option of their own; any other is set with `--set`."""


def study_from_compare(
    *,
    transports: Sequence[str],
    path: Mapping[str, Sequence[str]],
    sizes: Sequence[str] = (),
    page: Mapping[str, Sequence[str]] | None = None,
    flow: Sequence[str] = (),
    of_flow: Mapping[str, Sequence[str]] | None = None,
    file: str | None = None,
    congestion: Sequence[str] = (),
    chunks: Sequence[str] = (),
    dial: Sequence[str] = (),
    streams: Sequence[str] = (),
    resume: Sequence[str] = (),
    direction: str = "down",
    verify: bool = True,
    replicates: int | None = None,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    folder: Path | None = None,
) -> Study:
    """Build a study from lists of levels; an option with a single level is not a factor.

    Args:
        transports: levels of the factor ``transport``, always a factor.
        path: levels by key of ``[path]``, see :data:`PATH_OPTIONS`.
        sizes: levels of the workload's size, unless ``file`` is given.
        page: levels by key of a page's ``[workload]``, see :data:`PAGE_OPTIONS`; where it has any
            of ``page``, pages are loaded in place of a content that is sent, and versions of HTTP
            take the place of transports.
        flow: rates at which messages are sent in place of a content.
        of_flow: levels by key of a flow's ``[workload]``, see :data:`FLOW_OPTIONS`.
        file: the file to send.
        congestion: levels of ``transport.congestion``.
        chunks: levels of the number of parts the content is cut into.
        dial: levels of how connections are opened.
        streams: levels of the streams of an SCTP association.
        resume: levels of what a second transfer uses of a first; given at all, there are two.
        direction: which way the content goes.
        verify: whether both ends hash it.
        replicates: None for the default.
        seed: None for the default.
        overrides: ``KEY=VALUE`` each.
        folder: where a relative ``file`` starts; None for where the command was given.

    Raises:
        StudyError: an option or combination that cannot be run; the message names the option.
    """
    for key in path:
        if key not in PATH_OPTIONS:
            unknown = KeyValueError(
                option_of(key), None, "unknown option", did_you_mean(key, PATH_OPTIONS)
            )
            raise Refusals(COMMAND).study_error(unknown)
    asked = {key: levels for key, levels in (page or {}).items() if levels}
    paced = {key: levels for key, levels in (of_flow or {}).items() if levels}
    if asked:
        tables = _of_pages(asked, transports)
    elif flow or paced:
        tables = _of_flows(flow, paced, transports)
    else:
        tables = _of_contents(transports)
    if tables["workload"]["kind"] != "flow":
        tables["workload"]["verify"] = verify
    if direction != "down":
        tables["workload"]["direction"] = direction
    for key, levels in path.items():
        _vary(tables, "path", key, [typed_level(key, level) for level in levels])
    _vary(tables, "transport", "congestion", congestion)
    _vary(tables, "workload", "size", sizes)
    _vary(tables, "workload", "chunks", [_whole(level) for level in chunks])
    _vary(tables, "workload", "dial", dial)
    _vary(tables, "transport", "streams", [_whole(level) for level in streams])
    _vary(tables, "transport", "resume", resume)
    if resume:
        tables["workload"] |= {"visit": "second"} if asked else {"transfers": 2}
    if file is not None:
        tables["workload"]["file"] = file
    tables["figure"] = _figures(tables["factors"], _metric_of(tables["workload"]["kind"]))
    return study_from_mapping(
        apply_overrides(tables, overrides, replicates=replicates, seed=seed),
        file=COMMAND,
        folder=folder or Path.cwd(),
        display=_display,
    )


def _of_contents(transports: Sequence[str]) -> dict[str, Any]:
    return {
        "title": f"{_listed(transports)} compared",
        "path": {},
        "transport": {},
        "workload": {"kind": "bulk"},
        "factors": {"transport": list(transports)},
    }


def _of_flows(
    rates: Sequence[str], paced: Mapping[str, Sequence[str]], transports: Sequence[str]
) -> dict[str, Any]:
    tables = _of_contents(transports)
    tables["workload"] = {"kind": "flow"}
    if "duration" not in paced:
        tables["workload"]["duration"] = USUAL_DURATION
    _vary(tables, "workload", "rate", rates)
    for key, levels in paced.items():
        _vary(tables, "workload", key, levels)
    return tables


def _of_pages(asked: Mapping[str, Sequence[str]], transports: Sequence[str]) -> dict[str, Any]:
    for page in asked.get("page", ()):
        if "/" in page or "." in page:
            reason = "not the name of a page; one of your own is named by where it lies"
            remedy = f"write --http 2,3 --set workload.directory={page} (or workload.har=FILE)"
            raise Refusals(COMMAND).study_error(KeyValueError("--page", page, reason, remedy))
    if len(transports) > 1:
        reason = "the transport of a page follows from its version of HTTP"
        remedy = (
            "choose --http 1.1, 2 (over tcp and TLS) or 3 (over quic), and leave --transport away"
        )
        given = ",".join(transports)
        raise Refusals(COMMAND).study_error(KeyValueError("--transport", given, reason, remedy))
    http = asked.get("http", USUAL_HTTP)
    tables: dict[str, Any] = {
        "title": f"{_listed([f'HTTP/{each}' for each in http])} compared",
        "path": {},
        "transport": {},
        "workload": {"kind": "page"},
        "factors": {"workload.http": list(http)},
    }
    for key, levels in asked.items():
        if key != "http":
            _vary(tables, "workload", key, levels)
    _vary(tables, "transport", "kind", transports)
    return tables


def _vary(tables: dict[str, Any], section: str, key: str, levels: Sequence[Any]) -> None:
    if len(levels) == 1:
        tables[section][key] = levels[0]
    elif levels:
        tables["factors"][f"{section}.{key}"] = list(levels)


def typed_level(key: str, level: str) -> str | int:
    """Convert a level to its type in a study file: text, or a number where the key takes one."""
    row = BY_KEY.get(key)
    return _whole(level) if row is not None and row.type == "Mtu" else level


def _whole(level: str) -> str | int:
    # No count or size in bytes that is given as a plain number needs more than ten digits.
    return int(level) if re.fullmatch("[0-9]{1,10}", level) else level


def _metric_of(workload: str) -> str:
    """Choose the metric that the figures of a workload show."""
    if workload == "flow":
        return "message_delay_s_p95"
    return "completion_time_s" if workload == "bulk" else "page_load_time_s"


def _figures(factors: Mapping[str, Sequence[Any]], metric: str) -> list[dict[str, Any]]:
    """Make a line figure of the metric over each condition, or a bar chart if there is none.

    Where queues may differ there is one of the round-trip time under load as well.
    """
    racing = contender_factor(factors)
    conditions = [key for key, levels in factors.items() if key != racing and len(levels) > 1]
    metrics = [metric, *([LATENCY] if any(map(shapes_queues, factors)) else [])]
    if not conditions:
        return [{"kind": "bar", "x": racing, "y": each} for each in metrics]
    return [
        {"kind": "line", "x": key, "y": each, "series": racing}
        for each in metrics
        for key in conditions
    ]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _display(key: str) -> str:
    """Name the option by which a key was given: ``path.loss_up`` is ``--loss-up``."""
    bare = key.removeprefix("factors.").replace('"', "")
    if bare in ("transport", "transport.kind"):
        return "--transport"
    if bare == "workload.rate":
        return "--flow"
    section, _, name = bare.partition(".")
    if bare in _OPTIONS or not name:
        return option_of(name or bare)
    return key if section == "figure" else f"--set {bare}"


def option_of(name: str) -> str:
    """Name the option of a key: ``loss_up`` is ``--loss-up``."""
    return "--" + name.replace("_", "-")
