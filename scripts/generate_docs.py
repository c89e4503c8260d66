"""Writes docs/study-format.md and docs/run-format.md from the models' own field descriptions, and
the tables of orders and messages in docs/role-protocol.md.

With --check it writes nothing and fails when a file is not what it would write.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from descriptions import describe_fields
from netwarp import wire
from netwarp.fields import Section
from netwarp.metrics import METRICS
from netwarp.path_profiles import PROFILES
from netwarp.sources import SourceFile
from netwarp.study import StudyFile
from netwarp.study.claims import Claim
from netwarp.study.expectations import Expect
from netwarp.study.figure_kinds import FIGURE_KINDS, figure_kind
from netwarp.study.figures import Figure
from netwarp.study.sections.competing import CompetingSection
from netwarp.study.sections.diagnose import describe_type
from netwarp.study.sections.hosts import HostSection, LinkSection, RouterSection
from netwarp.study.sections.limits import LimitsSection
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.timeline import (
    HandoversSection,
    OutagesSection,
    RedrawSection,
    TimelineEntry,
    TraceSection,
)
from netwarp.study.sections.topology import TopologySection
from netwarp.study.sections.transport import TransportSection
from netwarp.study.variants import Control, Sensitivity
from netwarp.ui.lessons import LESSONS
from netwarp.units import format_duration, format_size
from netwarp.wire import role_protocol
from netwarp.wire.base import Wire
from netwarp.workloads import WORKLOADS
from netwarp.workloads.command.section import ProgramSection
from wire_schema import Choice, NamedType, Tagged, field_type, named, parts, types_of

describe_fields(Section, Wire)

DOCS = Path(__file__).resolve().parents[1] / "docs"
JSON_TYPES = {bool: "boolean", str: "string", float: "number", int: "integer"}
WRITTEN_HERE = "written by scripts/generate_docs.py from src/netwarp/wire/role_protocol.py"
GENERATED = "<!-- Written by scripts/generate_docs.py: change the models' docstrings instead. -->"

STUDY_TABLES: Mapping[str, type[BaseModel]] = {
    "Top level": StudyFile,
    "`[path]`": PathSection,
    "`[[path.timeline]]`": TimelineEntry,
    "`[path.handovers]`": HandoversSection,
    "`[path.outages]`": OutagesSection,
    "`[path.redraw]`": RedrawSection,
    "`[path.trace]`": TraceSection,
    "`[topology]`": TopologySection,
    "`[[host]]`": HostSection,
    "`[[router]]`": RouterSection,
    "`[[link]]`": LinkSection,
    "`[transport]`": TransportSection,
    **{f'`[workload]`, `kind = "{each.name}"`': each.section for each in WORKLOADS.values()},
    "`[[workload]]`": CompetingSection,
    "`[[workload.program]]`": ProgramSection,
    "`[limits]`": LimitsSection,
    "`[[figure]]`": Figure,
    "`[[claim]]`": Claim,
    "`[[expect]]`": Expect,
    "`[[control]]`": Control,
    "`[[sensitivity]]`": Sensitivity,
    "`source.toml`": SourceFile,
}
STUDY_INTRO = """\
A study is one TOML file: a path, a workload, and the factors that are varied. Line one is a comment
that states its question. Unknown keys are refused, and every cell is built completely before
anything runs.

Quantities carry their unit: durations `ns`, `us`, `ms`, `s`, `min`, `h`; rates in bit/s, decimal:
`bit`, `kbit`, `mbit`, `gbit`; sizes in bytes, `B`, decimal `kB`, `MB`, `GB` or binary `KiB`, `MiB`,
`GiB`; ratios in `%`.

`[factors]` lists the levels of what is varied, by key: `transport`, or any key of `[path]`,
`[transport]` and `[workload]` with its section, such as `"path.loss"`. A factor's levels take the
place of the key in its section.
"""
RUN_INTRO = """\
Each run has a directory of its own in the run directory's `runs/`, named after cell and replicate,
such as `c003-r01`. `job.json` is what the endpoint was asked to do, `records.jsonl` what it gave
back: one JSON object a line, `start` first, `end` last. Times are integer nanoseconds since the
run's epoch, when the path is built and nobody has sent anything. Unknown keys are refused on both
sides; `format` changes with the meaning of any of them. A key that says what it is where it is left
out was added later, and is written only where it is something else.
"""


def main(arguments: list[str]) -> int:
    """Write the documents, or check them; give the exit status."""
    stale = 0
    for name, text in (documents() | pages()).items():
        path = DOCS / name
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"docs/{name} is out of date: run `python scripts/generate_docs.py`")
            stale = 1
    return stale


def documents() -> dict[str, str]:
    """Make the text of each document, by file name."""
    return {
        "study-format.md": "\n".join(_study_format()),
        "run-format.md": "\n".join(_run_format()),
        "role-protocol.md": _role_protocol((DOCS / "role-protocol.md").read_text(encoding="utf-8")),
    }


def pages() -> dict[str, str]:
    """Make the text of each page without tables of keys, by file name."""
    return {"lessons.md": "\n".join(_lessons())}


def _lessons() -> Iterator[str]:
    """Yield the lines of the page of lessons."""
    yield from (
        "# Lessons",
        "",
        "<!-- Written by scripts/generate_docs.py from src/netwarp/ui/lessons.py. -->",
        "",
        "Twelve things to see for yourself, on the [local pages](ui.md) (`netwarp ui`, then"
        " Lessons) or in a shell. What each states, at first and after each turn, is an expectation"
        " that a test judges by runs.",
    )
    for lesson in LESSONS:
        yield from (
            "", f"## {lesson.title}", "", lesson.sentence, "", "```", lesson.command, "```", "",
            f"*Look for:* {lesson.look_for}", "", "*Turn next:*", "",
            *(f"- {turn.text}" for turn in lesson.next_turns),
        )  # fmt: skip
    yield ""


def _role_protocol(page: str) -> str:
    """Replace the tables of a page, which stand between marks, by those of the models."""
    for name, union in (("Orders", role_protocol.Order), ("Messages", role_protocol.Message)):
        begin, end = f"<!-- {name}: {WRITTEN_HERE} -->\n", f"<!-- End of {name.lower()}. -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = "".join((before, begin, "\n", "\n".join(_lines_said(union)), "\n", end, after))
    return page


def _lines_said(union: Any) -> Iterator[str]:
    """Describe each object of a union that travels alone: its JSON, and what its keys mean."""
    (tagged, *_) = (kind for kind in types_of(union) if isinstance(kind, Tagged))
    rows = []
    for variant in tagged.variants:
        keys = {key: field for key, field in variant.model_fields.items() if key != tagged.tag}
        example = f'"{tagged.tag}":"{tagged.tag_of(variant)}"'
        example += "".join(f',"{key}":{_placeholder(field)}' for key, field in keys.items())
        meanings = (f"`{key}`: {_line(field.description)}" for key, field in keys.items())
        rows.append((f"`{{{example}}}`", " ".join((_line(variant.__doc__), *meanings))))
    yield from _table((tagged.tag, "meaning"), rows)


def _placeholder(field: FieldInfo) -> str:
    """Give what stands for a value in an example."""
    value = _value(*field_type(field))
    words = {"integer": "N", "string": "TEXT", "string or null": "HEX"}
    return words.get(value, value.partition("]")[0].removeprefix("[").upper())


def _study_format() -> Iterator[str]:
    yield from ("# The study file", "", GENERATED, "", STUDY_INTRO)
    for direction, model in STUDY_TABLES.items():
        yield from (f"## {direction}", "")
        if model is not StudyFile:
            yield from (_prose(model), "")
        yield from _table(("key", "value", "default", "meaning"), _study_rows(model))
        if model is Figure:
            yield from ("### Kinds of figures", "")
            kinds = ((f"`{name}`", _line(figure_kind(name).__doc__)) for name in FIGURE_KINDS)
            yield from _table(("kind", "what is drawn"), kinds)
    yield from ("## Path profiles", "", "What `path.profile` stands for, in its year.", "")
    yield from _table(
        ("profile", "rtt", "rate_down", "rate_up", "year", "source"),
        (
            (f"`{name}`", each.rtt, each.rate_down, each.rate_up, str(each.year), each.source)
            for name, each in PROFILES.items()
        ),
    )


def _run_format() -> Iterator[str]:
    yield from ("# Jobs, records and metrics", "", GENERATED, "", RUN_INTRO)
    described: set[NamedType] = set()
    for title, root in (("`job.json`", wire.Job), ("`records.jsonl`", wire.Record)):
        yield from (f"## {title}", "")
        for kind in types_of(root):
            if kind not in described:
                yield from _wire_type(kind)
        described.update(types_of(root))
    yield from ("## Metrics", "", "What is computed from a run's records.", "")
    rows = (
        (f"`{metric.name}`", metric.unit, metric.better, metric.description, metric.source)
        for metric in METRICS.values()
    )
    yield from _table(("metric", "unit", "better", "meaning", "from records"), rows)


def _study_rows(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    keys = {field.alias or name: field for name, field in model.model_fields.items()}
    # A property of each direction is one row; the section says what its three keys stand for.
    of_directions = {key: (f"{key}_down", f"{key}_up") for key in keys if f"{key}_down" in keys}
    left_out = {key for both in of_directions.values() for key in both}
    for key, field in keys.items():
        if key in left_out:
            continue
        words = describe_type(field.annotation, field.metadata)
        yield (
            ", ".join(f"`{each}`" for each in (key, *of_directions.get(key, ()))),
            words,
            _default(field.get_default(), words) if not field.is_required() else "required",
            _line(field.description),
        )


def _wire_type(kind: NamedType) -> Iterator[str]:
    if isinstance(kind, Choice):
        yield from (f"### {kind.name}", "", kind.meaning.description, "")
        rows = (
            (f"`{json.dumps(value)}`", meaning) for value, meaning in kind.meaning.choices.items()
        )
        yield from _table(("value", "meaning"), rows)
    elif isinstance(kind, Tagged):
        yield from (
            f"### {kind.name}",
            "",
            f"{kind.meaning.description} `{kind.tag}` says which:",
            "",
        )
        rows = ((f"`{json.dumps(kind.tag_of(each))}`", _reference(each)) for each in kind.variants)
        yield from _table(("value", "object"), rows)
    else:
        yield from (f"### {kind.__name__}", "", _prose(kind), "")
        fields = kind.model_fields.items()
        keys = ((f"`{k}`", _value(*field_type(f)), _wire_meaning(f)) for k, f in fields)
        yield from _table(("key", "value", "meaning"), keys)


def _wire_meaning(field: FieldInfo) -> str:
    """Say what a key of a job or record means, and what it is where it is left out."""
    if field.is_required():
        return _line(field.description)
    return f"{_line(field.description)} Left out: `{json.dumps(field.default)}`."


def _reference(kind: NamedType) -> str:
    name = kind.name if isinstance(kind, Choice | Tagged) else kind.__name__
    return f"[{name}](#{name.lower()})"


def _value(annotation: Any, metadata: tuple[Any, ...] = ()) -> str:
    """Say what a key's value is: a type of JSON, a literal, or one described on its own."""
    kind = named(annotation, metadata)
    if kind is not None:
        return _reference(kind)
    if get_origin(annotation) is Literal:
        return f"`{json.dumps(get_args(annotation)[0])}`"
    if annotation in JSON_TYPES:
        return JSON_TYPES[annotation]
    (inner,) = parts(annotation)
    if get_origin(annotation) is tuple:
        return f"list of {_value(inner)}"
    return _value(inner) + (" or null" if NoneType in get_args(annotation) else "")


def _default(value: Any, words: str) -> str:
    if value in (None, PydanticUndefined, [], {}, ()):
        return "–"
    if words.startswith("a duration"):
        return f'`"{format_duration(value)}"`'
    if words.startswith("a list of durations"):
        return f"`{json.dumps([format_duration(each) for each in value])}`"
    if words.startswith("a table of sizes"):
        sizes = (f'{name} = "{format_size(size)}"' for name, size in value.items())
        return f"`{{ {', '.join(sizes)} }}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        return f'`"{value:.0%}"`'
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def _prose(model: type[BaseModel]) -> str:
    lines = (model.__doc__ or "").strip().splitlines()
    return "\n".join(line.strip() for line in lines)


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
