"""The table of transports is the one place that says what each can do."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import netwarp
from netwarp import wire
from netwarp.errors import StudyError
from netwarp.study import study_from_mapping
from netwarp.study.sections.transport import (
    OWN_OPTIONS,
    TransportOptions,
    TransportSection,
    owners,
)
from netwarp.transports import TRANSPORTS
from support import job_of, tables

PACKAGE = Path(netwarp.__file__).parent
SECOND = {"rtt": "10ms", "second": {"rtt": "20ms"}}


def test_every_kind_of_the_wire_format_is_in_the_table() -> None:
    kinds, _ = get_args(wire.TransportKind)
    assert list(TRANSPORTS) == list(get_args(kinds))


def test_own_options_are_options() -> None:
    assert set(TransportOptions.model_fields) >= set(OWN_OPTIONS)
    assert set(TransportSection.model_fields) >= set(TRANSPORTS)
    assert all(owners(option) for option in OWN_OPTIONS)


def test_names_colours_and_shapes_tell_transports_apart() -> None:
    for attribute in ("name", "colour", "shape"):
        values = [getattr(traits, attribute) for traits in TRANSPORTS.values()]
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_what_the_table_says_is_what_a_study_gets(kind: str) -> None:
    traits = TRANSPORTS[kind]  # type: ignore[index]
    path = SECOND if traits.second_path == "needed" else {"rtt": "10ms"}
    least, most = traits.mss_bytes or (88, 65_495)
    largest_bytes = traits.most_packet_bytes or 65_535 - traits.header_bytes
    mtu = largest_bytes + traits.header_bytes
    flow = {"kind": "flow", "interval": "1ms", "count": 10}
    workload = {"size": "1MB"} if traits.repeats_what_is_lost else flow

    def job(**options: object) -> wire.Job:
        level = {"kind": kind, "label": kind, **options}
        return job_of(level, path=path | {"mtu": mtu}, workload=workload)

    def refusal(**options: object) -> str:
        with pytest.raises(StudyError) as told:
            job(**options)
        return str(told.value)

    for congestion in traits.congestion_controls:
        assert job(congestion=congestion).only.transport.congestion == congestion
    assert job().only.transport.congestion == traits.congestion_controls[0]
    assert kind in refusal(congestion="tahoe")
    fits = min(most, largest_bytes)
    if traits.mss_bytes is None:
        assert traits.mss_reason in refusal(mss=fits)
    else:
        assert job(mss=fits).only.transport.mss_bytes == fits
    if most < 65_495:
        assert traits.mss_reason in refusal(mss=most + 1)
    if least > 88:
        assert traits.mss_reason in refusal(mss=least - 1)
    for reconnect, missing in traits.missing_reconnect.items():
        moving = {"rtt": "10ms", "handovers": {"every": "1s", "count": 1}}
        level = {"kind": kind, "reconnect": reconnect, "label": kind}
        with pytest.raises(StudyError, match=re.escape(missing.reason)):
            study_from_mapping(tables(level, path=moving))
    for resume, missing in traits.missing_resume.items():
        assert missing.reason in refusal(resume=resume)


def test_nobody_else_lists_transports() -> None:
    """A second list is what the table is there to spare: two names side by side, or a comparison
    with one.
    """
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).as_posix() in ("transports.py", "wire/transport.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            parts: list[ast.expr] = []
            line = getattr(node, "lineno", 0)
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                parts = node.elts
            elif isinstance(node, ast.Dict):
                parts = [key for key in node.keys if key is not None]
            elif isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
            names = [each.value for each in parts if isinstance(each, ast.Constant)]
            listed = [name for name in names if name in TRANSPORTS]
            if len(listed) > (0 if isinstance(node, ast.Compare) else 1):
                found.append(f"{path.relative_to(PACKAGE)}:{line}: {listed}")
    assert found == []
