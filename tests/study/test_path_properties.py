"""A property of a path is one row; keys, options, inheritance and the job follow from it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

import pytest

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.options.study import PATH
from netwarp.path_properties import OF_EACH_DIRECTION, PATH_PROPERTIES, PathProperty
from netwarp.plan import plan_study
from netwarp.study.compare import study_from_compare
from netwarp.study.sections.inheritance import completed, inherited
from netwarp.study.sections.path import ReadByName, SinglePath
from netwarp.study.sections.properties import value_type
from netwarp.study.tables import Table, Written
from support import job_of

TABLES = {"redraw", "trace"}
DELAYED = {"rtt": "100ms", "rate": "50mbit"}
# Two values of each property that each direction has, and what they are in a job.
VALUES: dict[str, tuple[Any, Any]] = {
    "delay": ("10ms", 10_000_000),
    "jitter": ("2ms", 2_000_000),
    "aggregate": ("1ms", 1_000_000),
    "link_loss": ("10%", 0.1),
    "link_repair": ("4ms", 4_000_000),
    "policer": ("30kB", 30_000),
    "loss": ("1%", wire.RandomLoss(kind="random", ratio=0.01, correlation=0.0)),
    "rate": ("7mbit", 7_000_000),
    "queue": ("40p", None),
    "discipline": ("codel", None),
    "reorder": ("5%", wire.Reorder(ratio=0.05, correlation=0.0, gap=0)),
    "duplicate": ("3%", 0.03),
    "corrupt": ("4%", 0.04),
}
FIELDS = {"delay": "delay_ns", "rate": "rate_bit_s"}
# What each needs in order to have an effect.
NEEDED = {"link_repair": {"link_loss": "10%"}, "policer": {"rate": "5mbit"}}


def test_every_key_of_a_path_is_a_row_or_a_table_and_an_option() -> None:
    keys = [key for row in PATH_PROPERTIES for key in row.keys]
    assert set(SinglePath.model_fields) == {*keys, *TABLES}
    assert [row.name for row in PATH] == keys
    assert set(VALUES) == {row.key for row in OF_EACH_DIRECTION}


@pytest.mark.parametrize("key", ReadByName.model_fields)
def test_what_the_code_reads_by_name_is_its_row_s(key: str) -> None:
    typed, made = ReadByName.model_fields[key], SinglePath.model_fields[key]
    assert (typed.annotation, typed.metadata) == (made.annotation, made.metadata)
    assert typed.default == made.default


def test_what_becomes_a_field_of_the_job_is_one() -> None:
    named = [row.netem for row in PATH_PROPERTIES if row.netem is not None]
    assert len(set(named)) == len(named)
    assert set(named) < set(wire.Impairments.model_fields)


@pytest.mark.parametrize("row", OF_EACH_DIRECTION, ids=lambda row: row.key)
def test_each_key_reaches_its_directions_and_no_other(row: PathProperty) -> None:
    given, expected = VALUES[row.key]
    base = {"delay": "50ms"} if row.key != "delay" else {}
    base |= NEEDED.get(row.key, {})
    field = row.netem or FIELDS.get(row.key)
    if field is None:  # a queue is counted with the delay line, and a discipline needs a rate
        return
    for key, directions in (
        (row.key, row.plain_key_covers),
        (f"{row.key}_down", ("down",)),
        (f"{row.key}_up", ("up",)),
    ):
        (path,) = job_of("tcp", path={**base, key: given}).paths
        for direction in ("down", "up"):
            found = getattr(getattr(path, direction), field)
            assert (found == expected) == (direction in directions), (key, direction, found)


@pytest.mark.parametrize("row", OF_EACH_DIRECTION, ids=lambda row: row.key)
def test_a_second_path_inherits_what_it_does_not_say_otherwise(row: PathProperty) -> None:
    plain, down, up = row.keys

    def both(first: dict[str, str], second: dict[str, str]) -> dict[str, str]:
        return inherited(Table.of(first), Table.of(second)).plain()

    assert both({plain: "1"}, {}) == {plain: "1"}
    assert both({plain: "1"}, {plain: "2"}) == {plain: "2"}
    assert both({down: "1"}, {plain: "2"}) == {plain: "2"}
    assert both({up: "1"}, {down: "2"}) == {up: "1", down: "2"}
    kept = {up: "1"} if row.directions == "down" else {}
    assert both({up: "1"}, {plain: "2"}) == {plain: "2", **kept}


def test_what_is_taken_over_is_told_where_it_was_written() -> None:
    path = {"rtt": "10ms", "second": {"delay_up": "1ms"}}
    second = completed(Table.of({"path": path}).table("path")).table("second")
    assert second["delay_down"] == Written("5ms", "path.rtt", "10ms").made("5000000ns")
    told = completed(Table.of({"profile": "lte"}, "path")).located(KeyValueError("rtt", None, "no"))
    assert (told.key, told.value) == ("path.profile", "lte")


@pytest.mark.parametrize("key", ["reorder_up", "duplicate_up", "corrupt_up", "loss_up"])
def test_options_offer_what_the_key_does(key: str) -> None:
    varied: Any = {key: ["1%", "2%"]}
    study = study_from_compare(transport="tcp", rtt="10ms", size="1kB", **varied)
    assert [factor.key for factor in study.factors] == ["transport", f"path.{key}"]
    first, second = (run.job.paths[0] for run in plan_study(study) if run.replicate == 0)
    assert first.down == second.down
    assert first.up != second.up


def test_correlations_are_options_too() -> None:
    study = study_from_compare(
        transport="tcp", rtt="10ms", loss="5%", loss_correlation=["0%", "25%"], size="1kB"
    )
    losses = [run.job.paths[0].down.loss for run in plan_study(study) if run.replicate == 0]
    assert [loss.correlation for loss in losses if loss.kind == "random"] == [0.0, 0.25]


def test_help_names_every_choice_there_is() -> None:
    """Help texts do not wait for the models; here they are held to them."""
    for row in PATH_PROPERTIES:
        values = value_type(row)
        bare = get_args(values)[0] if get_origin(values) is Annotated else values
        for choice in get_args(bare) if get_origin(bare) is Literal else ():
            assert str(choice) in row.option_help, (row.key, choice)
