"""Workloads are modules: what differs between them is said in their folders and nowhere else."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import Field

import netwarp
from netwarp import wire
from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.figures.over_time.run_timeline import run_timeline
from netwarp.metrics import METRICS, failure_from_records, metrics_from_records
from netwarp.units import NS_PER_S
from netwarp.wire import Workload as WireWorkload
from netwarp.wire import read_records
from netwarp.workloads import WORKLOADS, Activity, Phase, section_model, workload_of
from netwarp.workloads.bulk import BulkWorkload
from netwarp.workloads.bulk.section import BulkSection
from support import job_of

PACKAGE = Path(netwarp.__file__).parent
REPOSITORY = Path(__file__).parents[1]
HOME = {"workloads", "wire"}
"""Where workloads may be told apart."""


def test_every_workload_of_the_wire_format_is_registered() -> None:
    union, *_ = get_args(WireWorkload)
    assert {each.wire_type for each in WORKLOADS.values()} == set(get_args(union))
    assert list(WORKLOADS) == [each.name for each in WORKLOADS.values()]


@pytest.mark.parametrize("keys", [{"size": "1MB"}, {"kind": "stream"}])
def test_a_job_has_the_workload_of_its_section(keys: dict[str, str]) -> None:
    job = job_of("tcp", workload=keys)
    workload = workload_of(job)
    assert workload.name == keys.get("kind", "bulk")
    assert workload.of(job) is job.only.workload
    for other in set(WORKLOADS.values()) - {workload}:
        with pytest.raises(TypeError, match=f"{job.run} is not of the workload {other.name}"):
            other.of(job)


def test_the_metrics_of_a_workload_are_among_all() -> None:
    assert WORKLOADS["stream"].metrics
    for workload in WORKLOADS.values():
        assert all(METRICS[each.name] is each for each in workload.metrics)


def test_a_section_is_chosen_by_its_kind() -> None:
    assert section_model({}) is WORKLOADS["bulk"].section
    assert section_model({"kind": "stream", "watch": "3s"}) is WORKLOADS["stream"].section
    with pytest.raises(KeyValueError, match="a stream has it, not a bulk"):
        section_model({"watch": "3s"})
    with pytest.raises(KeyValueError, match="unknown"):
        section_model({"kind": ["stream"]})


def test_nobody_else_tells_workloads_apart() -> None:
    others = (
        path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in HOME
    )
    found = [place for path in others for place in _ladders(path)]
    assert not found, "ask the workload (netwarp.workloads) instead: " + ", ".join(found)


def test_nobody_lists_metrics_that_have_something_in_common() -> None:
    """What some metrics have in common stands in their entries, as `Metric.is_performance`."""
    named = [
        f"{path.name}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in {*HOME, "metrics", "suggestions.py"}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Tuple | ast.List | ast.Set)
        and len([e for e in node.elts if isinstance(e, ast.Constant) and e.value in METRICS]) > 1
    ]
    assert not named, "make it a property of Metric (netwarp.measure.metric): " + ", ".join(named)


def test_a_ladder_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "ladder.py"
    path.write_text(
        'if isinstance(job.only.workload, Bulk | str): pass\nif section.kind == "stream": pass\n'
        'match workload:\n    case Stream(): pass\nif job.only.transport.kind == "tcp": pass\n'
        'if table["kind"] == "page": pass\nif kind != "flow": pass\n'
        'if kind in ("rr", "bulk"): pass\nif table.get("kind") == "bulk": pass\n'
        'if key in ("kind", "http"): pass\n'
    )
    lines = [place.partition(":")[2] for place in _ladders(path)]
    assert sorted(lines) == ["1", "2", "4", "6", "7", "8", "9"]


def _ladders(path: Path) -> Iterator[str]:
    """Find where a module asks which workload something is."""
    models = {each.wire_type.__name__ for each in WORKLOADS.values()}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, asked]):
                tells_apart = bool(models & _names(asked))
            case ast.MatchClass(cls=asked):
                tells_apart = bool(models & _names(asked))
            case ast.Compare(left=asked, comparators=[compared]) if _is_kind(asked):
                constants = (each for each in ast.walk(compared) if isinstance(each, ast.Constant))
                tells_apart = any(each.value in WORKLOADS for each in constants)
            case _:
                tells_apart = False
        if tells_apart and isinstance(node, ast.Call | ast.MatchClass | ast.Compare):
            line = node.lineno if not isinstance(node, ast.MatchClass) else node.cls.lineno
            yield f"{path.name}:{line}"


def _is_kind(asked: ast.expr) -> bool:
    """Say whether an expression has the kind of something: an attribute, a key or a name."""
    match asked:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in ("kind", "workload")
        case ast.Subscript(slice=ast.Constant(value="kind")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="kind"), *_]):
            return True
    return False


def _names(node: ast.AST) -> set[str]:
    """Name the types that an expression mentions."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def test_a_stream_goes_to_its_player() -> None:
    job = job_of("tcp", workload={"kind": "stream"})
    assert isinstance(job.only.workload, wire.Stream)
    assert job.direction == "down"


class ToySection(BulkSection):
    """A file with a key more."""

    laps: int = Field(default=1, ge=1)
    """How often it would go round."""

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        if self.laps > 2:
            raise KeyValueError("workload.laps", self.laps, "it is dizzy", "go round less often")


class Toy(BulkWorkload):
    """A file whose records are read in another way."""

    section = ToySection

    def end_ns(self, job: wire.Job, records: Sequence[wire.Record]) -> int:
        return super().end_ns(job, records) + NS_PER_S

    def difference(self, job: wire.Job, records: Sequence[wire.Record]) -> str | None:
        return None if super().difference(job, records) else "nothing is missing"

    def activity(self, job: wire.Job, records: Sequence[wire.Record]) -> Activity:
        return Activity("The toy", [Phase(0, NS_PER_S, "round")], {"round": "moving"})


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the toy in the place of `bulk`: the registry is all that is changed."""
    entries: Any = WORKLOADS.own
    monkeypatch.setitem(entries, "bulk", Toy())


def test_the_registry_is_asked_by_all(toy: None) -> None:
    workload = {"size": "10MB", "laps": 2}
    job = job_of("tcp", workload=workload, factors={"transport": ["tcp"], "workload.laps": [2]})
    with pytest.raises(StudyError, match=r"workload.laps = 3: it is dizzy; go round less often"):
        job_of("tcp", workload=workload | {"laps": 3})
    with pytest.raises(StudyError, match="a bulk has it, not a stream"):
        job_of("tcp", workload={"kind": "stream", "laps": 2})
    records = read_records(Path(__file__).parent / "golden" / "records-bulk-quic.jsonl")
    failure = failure_from_records(job, records)
    assert failure is not None
    assert failure.message == "nothing is missing"
    short = [each for each in records if each.record != "transfer" or each.side == "client"]
    assert metrics_from_records(job, short)["completion_time_s"] == pytest.approx(14.199999)
    shown = run_timeline(job, records)
    assert (shown.activity, [band.label for band in shown.playback]) == ("The toy", ["round"])
    documents = runpy.run_path(str(REPOSITORY / "scripts" / "generate_docs.py"))["documents"]()
    assert (
        "| `laps` | a whole number | `1` | How often it would go round. |"
        in documents["study-format.md"]
    )
