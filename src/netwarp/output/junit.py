"""Converts test cases to JUnit's XML, which CI servers read; undecided cases are errors there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args
from xml.etree import ElementTree

from netwarp.errors import without_controls
from netwarp.output.cases import Case, Suite

if TYPE_CHECKING:
    from netwarp.evaluation import RunData

_ELEMENTS = {"failed": "failure", "undecided": "error", "skipped": "skipped"}
"""XML elements for cases that have not passed; CI servers show the message of each."""


def junit_xml(data: RunData, listed: Sequence[Case]) -> str:
    """Return test cases as an XML document, with a suite for each kind of case.

    Args:
        data: the results; their wall time is that of the suite of runs.
        listed: the test cases.
    """
    wall_s = float(data.provenance.get("wall_s") or 0.0)
    root = ElementTree.Element(
        "testsuites",
        {
            "name": _plain(f"netwarp: {data.study.title}"),
            **_counts(listed),
            "time": f"{wall_s:.3f}",
        },
    )
    for suite in get_args(Suite):
        of_suite = [case for case in listed if case.suite == suite]
        if of_suite:
            _add_suite(root, suite, of_suite, wall_s if suite == "runs" else 0.0)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_suite(
    root: ElementTree.Element, suite: Suite, listed: Sequence[Case], time_s: float
) -> None:
    skipped = sum(case.outcome == "skipped" for case in listed)
    attributes = {"name": f"netwarp.{suite}", **_counts(listed), "skipped": str(skipped)}
    element = ElementTree.SubElement(root, "testsuite", {**attributes, "time": f"{time_s:.3f}"})
    for case in listed:
        said = {"classname": f"netwarp.{suite}", "name": _plain(case.name), "time": "0"}
        tested = ElementTree.SubElement(element, "testcase", said)
        sentence = _plain(f"{case.word}: {case.found}")
        if case.outcome == "passed":
            ElementTree.SubElement(tested, "system-out").text = sentence
            continue
        reason = {"message": sentence}
        if case.outcome != "skipped":
            reason["type"] = case.word.replace(" ", "-")
        told = ElementTree.SubElement(tested, _ELEMENTS[case.outcome], reason)
        if case.outcome != "skipped":
            told.text = f"{_plain(case.name)}\n{sentence}"


def _counts(listed: Sequence[Case]) -> dict[str, str]:
    counted = {"tests": len(listed)}
    for key, outcome in (("failures", "failed"), ("errors", "undecided")):
        counted[key] = sum(case.outcome == outcome for case in listed)
    return {key: str(number) for key, number in counted.items()}


def _plain(text: str) -> str:
    """Return a text in which characters that XML forbids, such as control characters and
    surrogates, are escaped.
    """
    return without_controls(text).translate({0xFFFE: None, 0xFFFF: None})
