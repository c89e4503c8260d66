"""The state of a page is its address: read as options, written as a command and as a study."""

from __future__ import annotations

import re
import shlex
import tomllib
from typing import Any

import pytest

from netwarp.cli.compare import compare
from netwarp.errors import InputError, StudyError
from netwarp.options import COMPARE
from netwarp.study.compare import study_from_compare
from netwarp.study.study import study_from_mapping
from netwarp.ui.address import MOST_CHARACTERS, command_of, options_of
from netwarp.ui.asked import refusal
from netwarp.ui.knobs import (
    GROUPS,
    KINDS,
    NETWORKS,
    OPTIONS,
    START,
    implied_kinds,
    kinds_of,
    networks_without,
    other_options,
    with_labels,
)  # fmt: skip
from netwarp.ui.study_file import study_file
from netwarp.ui.what_if import MOST_RUNS, looks, study_of

GIVEN = [
    ("transport", "tcp, quic"), ("rtt", "50ms"), ("loss", "0%,1%"), ("rate", "20mbit"),
    ("replicates", "3"), ("set", "transport.ecn=true"), ("set", "transport.mss=1200"),
    ("verify", "no"), ("queue", ""),
]  # fmt: skip


def test_an_address_is_read_as_the_options_of_a_command() -> None:
    given = options_of(GIVEN)
    assert given == {
        "transport": ["tcp", "quic"], "rtt": ["50ms"], "loss": ["0%", "1%"], "rate": ["20mbit"],
        "replicates": 3, "set": ["transport.ecn=true", "transport.mss=1200"], "verify": False,
    }  # fmt: skip


def test_the_command_has_the_same_options_in_a_shell() -> None:
    given = options_of(GIVEN)
    program, name, *arguments = shlex.split(command_of(given))
    assert (program, name) == ("netwarp", "compare")
    read: dict[str, Any] = compare.make_context("compare", arguments).params
    found = {key: list(value) if isinstance(value, tuple) else value for key, value in read.items()}
    assert {key: found[key] for key in given} == given


@pytest.mark.parametrize(
    "given",
    [
        GIVEN,
        [("page", "web-30"), ("http", "2,3"), ("rtt", "50ms")],
        [("flow", "1mbit"), ("transport", "udp,quic"), ("profile", "lte")],
        [("rtts", "20ms,160ms"), ("rate", "20mbit"), ("transport", "tcp")],
        [("loss", "gemodel 1% 30% 100% 0%"), ("transport", "tcp")],
    ],
)
def test_the_study_file_is_the_same_study(given: list[tuple[str, str]]) -> None:
    study = study_from_compare(**options_of(given))
    text = study_file(study.raw, "What if?")
    assert text.startswith("# What if?\n")
    again = study_from_mapping(tomllib.loads(text), file="copied")
    assert [cell.template for cell in again.cells] == [cell.template for cell in study.cells]
    assert again.replicates == study.replicates


def test_texts_of_a_study_file_are_quoted() -> None:
    tables = {"title": 'a "b" \\ \n\x7fé', "factors": {"path.loss": ["0%", 1, 1.5, True]}}
    assert tomllib.loads(study_file(tables)) == tables


def test_what_is_no_option_is_refused_by_name() -> None:
    with pytest.raises(InputError, match='--los: unknown; did you mean "loss"'):
        options_of([("los", "1%")])
    with pytest.raises(InputError, match="--file: unknown"):
        options_of([("file", "/etc/passwd")])
    with pytest.raises(InputError, match="characters"):
        options_of([("set", "x" * (MOST_CHARACTERS + 1))])


@pytest.mark.parametrize(
    ("name", "value"),
    [("rtt", "5furlong"), ("loss", "9999%"), ("transport", "carrier-pigeon"), ("replicates", "0"),
     ("replicates", "many"), ("size", "-1MB"), ("discipline", "red-ish")],
)  # fmt: skip
def test_a_refusal_is_the_studys_and_names_the_option(name: str, value: str) -> None:
    with pytest.raises(InputError) as caught:
        study_of(options_of([(name, value)]))
    said = refusal(caught.value)
    assert said["option"] == OPTIONS[name].on_command_line[0]
    assert said["message"] == str(caught.value)


def test_programs_and_hours_of_runs_are_left_to_the_command_line() -> None:
    with pytest.raises(InputError, match="programs are not run from a page"):
        study_of(options_of([("page", "web-30"), ("client", "chromium")]))
    with pytest.raises(InputError, match=f"at most {MOST_RUNS}"):
        study_of(options_of([("transport", "tcp,quic"), ("replicates", str(MOST_RUNS))]))


@pytest.mark.parametrize(("replicates", "steps"), [
    (1, [1]), (2, [1, 2]), (4, [1, 2, 3, 4]), (10, [1, 2, 3, 5, 10]),
    (25, [1, 2, 3, 5, 10, 20, 25]),
])  # fmt: skip
def test_looks_end_with_the_number_that_was_asked_for(replicates: int, steps: list[int]) -> None:
    assert looks(replicates) == steps


def test_knobs_are_options_and_what_they_offer_is_valid() -> None:
    knobs = [knob for group in GROUPS.values() for knob in group]
    assert len({knob.option for knob in knobs}) == len(knobs)
    rows = {row.name: row for row in COMPARE}
    for knob in knobs:
        assert knob.row is rows[knob.option]
        kinds = kinds_of(knob.row)
        assert set(kinds) <= KINDS.keys()
        for value in filter(None, knob.offers):
            needed = {"jitter": [("rtt", "300ms")], "queue": [("rate", "5mbit"), ("rtt", "100ms")],
                      "discipline": [("rate", "5mbit")], "interval": [("requests", "2kB")],
                      "stop": [("shape", "dumbbell:2"), ("rate", "5mbit")],
                      "shape": [("rate", "5mbit")],
                      "congestion": [("transport", "tcp,quic")]}.get(knob.option, [])  # fmt: skip
            study_from_compare(**options_of([*needed, (knob.option, value)]))
    shown = {knob.option for knob in knobs} | {
        row.name for parts in other_options().values() for part in parts for row in part.rows
    }
    assert shown == OPTIONS.keys()
    study_of(options_of(START.items()))


def test_what_is_run_without_a_value_is_what_the_knob_says() -> None:
    usual = {knob.option: knob.usual for group in GROUPS.values() for knob in group if knob.usual}
    study = study_of({"transport": ["tcp"]})
    size = str(study.raw["workload"]["size"])
    on_a_network = {"transport": ["tcp"], "shape": ["dumbbell:2"], "rate": ["5mbit"]}
    (flow,) = study_of(on_a_network).raw["workload"]
    of_file = {"replicates": str(study.replicates), "size": size}
    assert usual.items() >= {**of_file, "stop": flow["stop"]}.items()
    path = [("transport", "tcp"), ("rtt", "50ms"), ("rate", "20mbit")]
    for name in usual.keys() - {"replicates", "size", "stop"}:
        (unasked,), (asked,) = (
            study_of(options_of(given)).cells for given in (path, [*path, (name, usual[name])])
        )
        assert unasked.template == asked.template, name


FIRST = {
    "bulk": [], "page": [("page", "web-30")], "stream": [("stream", "bola")],
    "flow": [("flow", "1mbit")], "rr": [("requests", "2kB")],
}  # fmt: skip
"""An address of each kind of workload."""


def test_every_kind_of_workload_has_a_knob_that_asks_for_it() -> None:
    assert FIRST.keys() == KINDS.keys()
    for kind, pairs in FIRST.items():
        study = study_of(options_of([*pairs, ("replicates", "1")]))
        assert study.raw["workload"]["kind"] == kind
        if pairs:
            assert next(n for n, of in implied_kinds() if of == kind) == pairs[0][0]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_kind_does_not_have_is_what_the_study_refuses(kind: str) -> None:
    values = {
        "size": "1MB", "direction": "up", "watch": "20s", "chunks": "2", "shape": "chain:2",
        "duration": "5s", "transport": "tcp,quic", "dial": "parallel", "stop": "5s",
        "rtts": "20ms,90ms", "arrivals": "poisson", "payload": "100B",
    }  # fmt: skip
    for name, value in values.items():
        row = OPTIONS[name]
        needed = [("shape", "dumbbell:2")] if name == "stop" else []
        asked = [*FIRST[kind], *needed, ("rate", "5mbit"), (name, value), ("replicates", "1")]
        if kind in kinds_of(row):
            study_of(options_of(asked))
        elif kind != "bulk" or not row.workload:  # which ask for another kind by themselves
            with pytest.raises(StudyError):
                study_of(options_of(asked))


@pytest.mark.parametrize("shape", ["", "dumbbell:2", "incast:3", "parking-lot:2", "chain:2"])
@pytest.mark.parametrize(("name", "value"), [
    ("size", "1MB"), ("stop", "5s"), ("chunks", "2"), ("dial", "parallel"), ("page", "web-30"),
    ("resume", "1rtt"), ("flow", "1mbit"),
])  # fmt: skip
def test_what_a_network_does_not_have_is_what_the_study_refuses(
    shape: str, name: str, value: str
) -> None:
    network = shape.partition(":")[0]
    why, _ = NETWORKS[network].get(name, (None, None))
    assert (why is None) == (network not in networks_without(name))
    given = options_of([("shape", shape), ("rate", "5mbit"), (name, value)])
    given |= {"transport": ["tls"]} if name == "resume" else {}
    if why is None:
        study_of(given)
    else:
        with pytest.raises(StudyError, match=re.escape(why)):
            study_of(given)


def test_what_a_page_says_of_a_knob_has_the_label_of_that_knob() -> None:
    until_stop = "flows that share a path last until “Flows end after”"
    assert networks_without("size") == {"dumbbell": until_stop, "parking-lot": until_stop}
    # The option has no knob of its own: its name is on the page.
    assert with_labels("give --rtts or --shape") == "give --rtts or “Network of hosts”"
