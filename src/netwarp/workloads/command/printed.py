"""Reads from the programs' output the metrics that a study defines."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import KeyValueError, Section
from netwarp.measure.printed import ENDINGS, printed_metric
from netwarp.wire import Program, Record, Side
from netwarp.workloads.command.search import last_match

RECORDED_BYTES = 1 << 20
"""Maximum number of bytes of a program's output that its record contains
(endpoint/programs/src/output.rs)."""


class PrintedSection(Section):
    """Where a number stands in a program's output: by a path in JSON, or by a regular
    expression.
    """

    json_path: str | None = Field(default=None, alias="json", min_length=1)
    """Path to the number in the JSON document that the program prints: names, and indices from 0 in
    arrays, joined by dots. The document is the whole output, or its last line that is JSON."""
    regex: str | None = None
    """A regular expression (Python's `re`) that is searched in each line; its group, or the whole
    match, is the number. Of several matches the last counts."""
    program: str = "client"
    """The program whose standard output is read: `client`, `server`, or a further program's host.
    """
    scale: float = Field(default=1.0, allow_inf_nan=False)
    """Factor by which the number is multiplied to get the unit in the metric's name: `0.001` for
    milliseconds and a name that ends in `_s`."""

    @model_validator(mode="after")
    def _refuse_what_says_no_place(self) -> Self:
        given = [self.json_path is not None, self.regex is not None]
        if sum(given) != 1:
            reason = "a number is in a JSON document or found by a regular expression"
            remedy = 'write { json = "end.bits_per_second" } or { regex = "took (.*) s" }'
            raise KeyValueError("json" if all(given) else "regex", None, reason, remedy)
        if self.regex is not None:
            _refuse_pattern(self.regex)
        return self

    def rule(self, name: str) -> wire.PrintedMetric:
        """Return the rule for the job that says how the number is found."""
        extraction: wire.JsonValue | wire.Pattern = (
            wire.JsonValue(kind="json", path=self.json_path)
            if self.json_path is not None
            else wire.Pattern(kind="regex", pattern=self.regex or "")
        )
        is_further = self.program not in ("client", "server")
        return wire.PrintedMetric(
            name=name,
            by_server=self.program == "server",
            extraction=extraction,
            scale=self.scale,
            host=self.program if is_further else None,
        )


def refuse_names_without_unit(names: Mapping[str, PrintedSection]) -> None:
    """Refuse metrics whose names do not end in a unit.

    Raises:
        KeyValueError: a name does not end in a unit.
    """
    for name in names:
        if printed_metric(name) is None:
            remedy = f"small letters and digits, then one of {ENDINGS}; scale converts other units"
            raise KeyValueError(f"metrics.{name}", None, "a metric's name ends in its unit", remedy)


def _refuse_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise KeyValueError("regex", pattern, f"not a regular expression: {error}") from None
    if groups > 1:
        remedy = "write the others as (?:…)"
        raise KeyValueError("regex", pattern, "more than one group", remedy)


class NothingPrintedError(ValueError):
    """A program's output does not contain the number that a metric reads from it."""


def program_of(
    job: wire.Job, records: Sequence[Record], side: Side, further: str | None = None
) -> Program | None:
    """Return the record of a program: that of `side`, or the one on host `further` of a network.
    None if it did not end, as in a failed run.
    """
    ends = job.only.ends
    host = further or (None if ends is None else getattr(ends, side))
    programs = (each for each in records if isinstance(each, Program))
    return next((each for each in programs if each.side == side and each.host == host), None)


def printed_value(rule: wire.PrintedMetric, job: wire.Job, records: Sequence[Record]) -> float:
    """Return the value of a metric, read from a program's output.

    Raises:
        NothingPrintedError: the number is not in the output, or the program did not end.
    """
    side: Side = "server" if rule.by_server or rule.host is not None else "client"
    who = f"the {side}'s program" if rule.host is None else f"the program of {rule.host}"
    program = program_of(job, records, side, rule.host)
    if program is None:
        raise NothingPrintedError(f"{who} has no record")
    try:
        found = _found(rule.extraction, program.stdout)
        value = float(found)
    except (LookupError, ValueError, TypeError, OverflowError) as error:
        more = program.stdout_bytes > RECORDED_BYTES
        within = f" in the first MiB of {program.stdout_bytes} bytes" if more else ""
        raise NothingPrintedError(f"{who} printed no {rule.name}{within}: {error}") from None
    if isinstance(found, bool) or not math.isfinite(value):
        raise NothingPrintedError(f"{who} printed {found} as {rule.name}")
    return value * rule.scale


def _found(extraction: wire.JsonValue | wire.Pattern, text: str) -> str | float:
    """Find the number that a rule describes in a program's output."""
    if isinstance(extraction, wire.Pattern):
        found = last_match(extraction.pattern, text)
        if found is None:
            raise LookupError(f"nothing matches {extraction.pattern}")
        return found
    value: Any = _document(text)
    for step in extraction.path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (LookupError, TypeError, ValueError):
            raise LookupError(f"its JSON has no {extraction.path} ({step} is missing)") from None
    if not isinstance(value, int | float | str):
        raise TypeError(f"{extraction.path} is not a number")
    return value


def _document(text: str) -> object:
    """Return the JSON document in a program's output: the whole output, or its last line that is
    JSON.
    """
    for candidate in (text, *reversed(text.splitlines())):
        try:
            document: object = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict | list):
            return document
    raise ValueError("there is no JSON document in its output")
