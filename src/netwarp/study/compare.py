"""Builds a study from the options of ``netwarp compare``; options with a list become factors."""

import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Unpack

from netwarp.errors import InputError, show_value
from netwarp.fields import KeyValueError
from netwarp.options import COMPARE, Option, Takes
from netwarp.options.keywords import CompareStudyOptions
from netwarp.study.both_ways import BOTH, both_ways
from netwarp.study.contenders import LATENCY, contender_factor, shapes_queues
from netwarp.study.overrides import apply_overrides, overrides_of
from netwarp.study.refusal import Refusals
from netwarp.study.sharing import Asked, on_a_network
from netwarp.study.study import Study, study_from_mapping
from netwarp.suggestions import did_you_mean
from netwarp.transports import ON_ONE_PATH
from netwarp.workloads import WORKLOADS
from netwarp.workloads.bulk.section import USUAL_SIZE
from netwarp.workloads.section import WorkloadSection

COMMAND = "compare"
_OF_STUDY = tuple(row for row in COMPARE if row.defines_study)


def study_from_compare(
    *, folder: Path | None = None, is_closed: bool = False, **options: Unpack[CompareStudyOptions]
) -> Study:
    """Build a study from the options of `compare`. An option with one level is not a factor.

    ``transport`` is always a factor, except when a page is loaded: then versions of HTTP are
    compared, and each implies its transport.

    Args:
        folder: the folder to which a relative ``file`` belongs; None for the working directory.
        is_closed: see :func:`netwarp.study.study.study_from_mapping`.
        options: those of :data:`netwarp.options.COMPARE` that change the study.

    Raises:
        StudyError: an option or combination cannot be run; the message names the option.
        InputError: an option that needs a level has none.
    """
    given = given_of({**options}, _OF_STUDY, COMMAND)
    levels = {
        row.name: [typed(row, level) for level in levels_of(row, given[row.name])]
        for row in _OF_STUDY
        if row.takes is Takes.LEVELS and row.name in given
    }
    rtts, shapes = levels.pop("rtts", None), levels.pop("shape", None)
    kind = next((row.workload for row in COMPARE if row.workload and row.name in levels), "bulk")
    section = WORKLOADS[kind].section
    begin = _http_tables if section.races_http else _transport_tables
    has_content = bool(section.relative_paths.keys() & given.keys())
    for key, usual in section.compared.items() if not has_content else ():
        levels.setdefault(key, list(usual))
    tables = begin(section, levels)
    tables["workload"] |= {"kind": kind, **section.compared_with}
    if section.compared_metrics:
        tables["metrics"] = list(section.compared_metrics)
    if "verify" in section.model_fields:
        tables["workload"]["verify"] = given.get("verify", True)
    if "direction" in given:
        tables["workload"]["direction"] = given["direction"]
    if "file" in given:
        tables["workload"]["file"] = fspath(given["file"])
    for row in sorted(
        _OF_STUDY, key=lambda row: 0 if row.workload else 1 if row.key.startswith("path.") else 2
    ):
        place, _, key = row.key.partition(".")
        if row.name in levels and place in tables and key not in ("", "kind", "http"):
            _vary(tables, place, key, levels[row.name])
    if "resume" in levels:
        tables["workload"] |= section.again
    if len(levels.get("kernel", ())) > 1:
        tables["factors"]["kernel"] = levels["kernel"]
    tables["figure"] = _figures(tables["factors"], section.compared_by)
    is_network = rtts is not None or shapes is not None
    if given.get("direction") == BOTH and "direction" in section.model_fields:
        tables = both_ways(tables, section.compared_by, COMMAND, is_network=is_network)
    tables = on_a_network(tables, Asked(rtts, shapes, levels, given), COMMAND)
    return study_from_mapping(
        apply_overrides(
            tables, overrides_of(given), replicates=given.get("replicates"), seed=given.get("seed")
        ),
        file=COMMAND,
        folder=folder or Path.cwd(),
        display=display_by(COMPARE),
        is_closed=is_closed,
    )


def given_of(options: Mapping[str, Any], rows: Sequence[Option], command: str) -> dict[str, Any]:
    """Return the options that were given, which are those that are not None.

    Raises:
        StudyError: no option has this name; the message names the one that was probably meant.
        InputError: a value has a type that the option does not take.
    """
    known = {row.name: row for row in rows}
    for name in options:
        if name not in known:
            remedy = did_you_mean(name, known)
            unknown = KeyValueError(option_of(name), None, "unknown option", remedy)
            raise Refusals(command).study_error(unknown)
        _refuse_another_type(known[name], options[name])
    return {
        name: value
        for name, value in options.items()
        if value is not None or known[name].takes is Takes.LEVELS
    }


def _refuse_another_type(row: Option, value: Any) -> None:
    """Refuse a value of the wrong type for an option that is read in this module. The values of
    other options are checked by the study's keys.
    """
    match row.takes:
        case _ if value is None:
            return
        case Takes.PATH:
            fits, wanted = isinstance(value, str | PathLike), "a path"
        case Takes.TEXTS:
            several = list(value) if isinstance(value, Sequence) else [value]
            fits = all(isinstance(each, str) for each in several)
            wanted = "a text, or a list of texts"
        case Takes.TEXT if "." not in row.key:
            fits, wanted = isinstance(value, str), "a text"
        case Takes.LEVELS:
            levels_of(row, value)
            return
        case _:
            return
    if not fits:
        raise InputError(f"{row.name}={show_value(value)}: give {wanted}")


def levels_of(row: Option, value: Any) -> list[str]:
    """Return the levels of an option as texts, as they would be on the command line.

    Raises:
        InputError: there is no level, or one is neither a text nor a number.
    """
    several = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else None
    each = [value] if several is None else several
    if not each or not all(isinstance(level, str | int | float) for level in each):
        example = {"transport": "tcp", "size": USUAL_SIZE}.get(row.name, "100ms")
        raise InputError(
            f"{row.name}={show_value(value)}: give a level such as {row.name}={example!r}, or a"
            " list of at least one"
        )
    return [str(level) for level in each]


def display_by(rows: Iterable[Option]) -> Any:
    """Return a function that returns the option for a key: ``--loss-up`` for ``path.loss_up``."""
    options = {row.key: row.on_command_line[0].partition("/")[0] for row in rows if row.key}

    def display(key: str) -> str:
        bare = key.removeprefix("factors.").replace('"', "")
        kept = key if key.startswith("figure") else f"--set {bare}"
        of_any = re.sub(r"\.[0-9]+", "", bare)  # an element of a list, or one of several workloads
        return options.get("transport.kind" if bare == "transport" else of_any, kept)

    return display


def option_of(name: str) -> str:
    """Return the option for a key: ``--loss-up`` for ``loss_up``."""
    return "--" + name.replace("_", "-")


def typed(row: Option, level: str) -> str | int:
    """Convert a level to the type that it has in a study file: a number if its key takes one, else
    text.
    """
    # No count or size in bytes that is written as a plain number needs more than ten digits.
    is_whole = row.type in ("Mtu", "IpVersion", "Whole") and re.fullmatch("[0-9]{1,10}", level)
    return int(level) if is_whole else level


def _transport_tables(
    section: type[WorkloadSection], levels: dict[str, list[Any]]
) -> dict[str, Any]:
    """Return the title and the TOML tables of a study that compares transports with the same
    content.
    """
    usual = ["udp", *ON_ONE_PATH] if section.takes_losses else list(ON_ONE_PATH)
    racing = levels.get("transport", usual)
    return {
        "title": f"{_listed(racing)} compared",
        "path": {},
        "transport": {},
        "workload": {},
        "factors": {"transport": racing},
    }


def _http_tables(section: type[WorkloadSection], levels: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the title and the TOML tables of a study that compares page loads over versions of
    HTTP.
    """
    del section
    for page in levels.get("page", ()):
        if "/" in page or "." in page:
            reason = "not the name of a page; one of your own is named by where it lies"
            remedy = f"write --http 2,3 --set workload.directory={page} (or workload.har=FILE)"
            raise Refusals(COMMAND).study_error(KeyValueError("--page", page, reason, remedy))
    transports = levels.get("transport", [])
    if len(transports) > 1:
        reason = "the transport of a page follows from its version of HTTP"
        remedy = (
            "choose --http 1.1, 2 (over tcp and TLS) or 3 (over quic), and leave --transport away"
        )
        given = ",".join(transports)
        raise Refusals(COMMAND).study_error(KeyValueError("--transport", given, reason, remedy))
    http = levels["http"]
    return {
        "title": f"{_listed([f'HTTP/{each}' for each in http])} compared",
        "path": {},
        "transport": dict(zip(("kind",), transports, strict=False)),
        "workload": {},
        "factors": {"workload.http": http},
    }


def _vary(tables: dict[str, Any], section: str, key: str, levels: Sequence[Any]) -> None:
    if len(levels) == 1:
        tables[section][key] = levels[0]
    elif levels:
        tables["factors"][f"{section}.{key}"] = list(levels)


def _figures(factors: Mapping[str, Sequence[Any]], metric: str) -> list[dict[str, Any]]:
    """Return a line figure of the metric over each condition, or a bar chart if there is no
    condition.

    If queues may differ there is also a figure of the round-trip time under load.
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
