"""The golden files: read and written alike by both languages, and one for everything there is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from netwarp.wire import Job, Record, job_from_json, job_to_json, read_records, record_to_json
from netwarp.wire.base import Wire
from netwarp.wire.record import Failure
from netwarp.wire.role_protocol import Message, Order
from wire_schema import Choice, NamedType, Tagged, field_type, named, parts, types_of

GOLDEN = Path(__file__).parents[1] / "golden"
JOBS = sorted(GOLDEN.glob("job-*.json"))
RECORDS = sorted(GOLDEN.glob("records-*.jsonl"))


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_golden_jobs_survive_the_round_trip(path: Path) -> None:
    text = path.read_text()
    assert json.loads(job_to_json(job_from_json(text, path.name))) == json.loads(text)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_golden_records_survive_the_round_trip_to_the_byte(path: Path) -> None:
    assert [record_to_json(each) for each in read_records(path)] == path.read_text().splitlines()


def test_every_model_and_every_choice_is_in_a_golden_job() -> None:
    jobs = [job_from_json(path.read_text(), path.name) for path in JOBS]
    assert missing(Job, jobs) == []


def test_every_kind_of_record_is_in_the_golden_records() -> None:
    records = [record for path in RECORDS for record in read_records(path)]
    # Jobs have all of these, and a record has them from its job.
    jobs = set(types_of(Job))
    assert missing(Record, records, but=jobs) == []


@pytest.mark.parametrize(("name", "union"), [("orders", Order), ("messages", Message)])
def test_every_order_and_message_of_roles_is_in_a_golden_file(name: str, union: Any) -> None:
    lines = (GOLDEN / f"role-{name}.jsonl").read_text().splitlines()
    adapter: TypeAdapter[Wire] = TypeAdapter(union)
    values = [adapter.validate_json(line) for line in lines]
    assert [each.model_dump_json() for each in values] == lines
    records = set(types_of(Record)) - {Failure}
    assert missing(union, values, but=records) == []


def test_what_has_no_golden_file_is_named() -> None:
    job = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    without = missing(Job, [job])
    assert {"TransportKind: tls", "GemodelLoss", "BolaRule", "Attach"} <= set(without)
    assert not {"TransportKind: quic", "NoLoss", "Bulk"} & set(without)


def missing(root: Any, values: list[Any], but: set[NamedType] | None = None) -> list[str]:
    """Name the models and choices below a type that no value has."""
    seen = {each for value in values for each in _seen(value)}
    wanted: list[str] = []
    for kind in types_of(root):
        if kind in (but or ()):
            continue
        if isinstance(kind, Choice):
            wanted += [f"{kind.name}: {value}" for value in kind.meaning.choices]
        elif not isinstance(kind, Tagged):
            wanted.append(kind.__name__)
    return [each for each in wanted if each not in seen]


def _seen(value: Wire) -> Iterator[str]:
    yield type(value).__name__
    type(value).model_rebuild()  # a model is built when it is needed; until then types are names
    for name, field in type(value).model_fields.items():
        yield from _seen_within(*field_type(field), getattr(value, name))


def _seen_within(annotation: Any, metadata: tuple[Any, ...], value: Any) -> Iterator[str]:
    kind = named(annotation, metadata)
    if isinstance(kind, Choice):
        yield f"{kind.name}: {value}"
    elif isinstance(value, Wire):
        yield from _seen(value)
    elif isinstance(value, tuple):
        (of,) = parts(annotation)
        for each in value:
            yield from _seen_within(of, (), each)
