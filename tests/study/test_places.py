"""A value of a study keeps the place where it was written, whatever is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.study import study_from_mapping
from netwarp.study.tables import Table, Written

RAW: dict[str, Any] = {
    "path": {"rtt": "20ms", "loss_up": "1%", "timeline": [{"at": "1s"}, {"at": "2s"}]},
    "transport": "tcp",
}


def test_a_table_is_what_was_written_and_knows_where() -> None:
    table = Table.of(RAW)
    assert table.plain() == RAW
    assert table.find("path", "rtt") == Written("20ms", "path.rtt")
    assert table.find("path", "timeline", "1", "at") == Written("2s", "path.timeline.1.at")
    assert table.find("path", "rate") == Written(None, "path.rate")
    assert table.find("transport", "mss") == Written(None, "transport.mss")


def test_a_level_stands_in_a_cell_s_table_and_is_told_where_its_factor_is() -> None:
    table = Table.of(RAW)
    level = Written("5ms", 'factors."path.rtt"')
    changed = table.with_value(level, "path", "rtt")
    assert changed.plain()["path"]["rtt"] == "5ms"
    assert table.plain() == RAW, "tables are never changed"
    told = changed.located(KeyValueError("path.rtt", None, "no"))
    assert (told.key, told.value) == (level.place, "5ms")


def test_what_is_made_of_a_value_is_told_as_what_stands_there() -> None:
    table = Table.of(RAW).changed(lambda written: len(str(written.value)), "path", "rtt")
    assert table.plain()["path"]["rtt"] == 4
    told = table.located(KeyValueError("path.rtt", 4, "no"))
    assert (told.key, told.value) == ("path.rtt", "20ms")


def test_an_error_of_both_directions_is_told_at_the_one_that_was_written() -> None:
    told = Table.of(RAW).located(KeyValueError("path.loss", None, "no"))
    assert (told.key, told.value) == ("path.loss_up", "1%")


def test_what_is_no_table_holds_nothing() -> None:
    with pytest.raises(KeyValueError, match="not a table") as refused:
        Table.of(RAW).with_value(Written(1, "x"), "transport", "mss")
    assert refused.value.key == "transport"


SEVERAL: dict[str, Any] = {
    "title": "several",
    "path": {"rtt": "20ms", "rate": "20mbit"},
    "workload": [{"name": "one", "transport": "tcp", "start": "1s", "stop": "5s"}],
}


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"workload": [{"name": "one", "kind": "bluk"}]}, 'workload.0.kind = "bluk": unknown'),
        ({"workload": [{"name": "one", "interval": "1s"}]}, 'workload.0.interval = "1s": a flow'),
        ({"transport": {"congestion": "x"}}, 'transport.congestion = "x": tcp has no'),
        ({"transport": {"tcp": "x"}}, 'transport.tcp = "x": not a table; write [transport.tcp]'),
        ({"limits": {"virtual_s": 5}}, 'workload.0.stop: one would go on until 5s'),
        ({"factors": {"workload.one.stop": ["1ms"]}}, 'factors."workload.one.stop" = "1ms": it'),
    ],
)  # fmt: skip
def test_an_error_of_one_of_several_is_told_where_it_was_written(
    tables: dict[str, Any], said: str
) -> None:
    with pytest.raises(StudyError) as refused:
        study_from_mapping(SEVERAL | tables)
    assert said in str(refused.value)


def test_a_file_is_told_by_the_name_that_was_written(tmp_path: Path) -> None:
    (tmp_path / "times").write_text("1s\n2s\n")
    flow = {"kind": "flow", "interval": "20ms", "count": 1, "trace": "times"}
    tables = {"title": "t", "transport": "udp", "workload": flow}
    with pytest.raises(StudyError, match=r'workload\.trace = "times": '):
        study_from_mapping(tables, folder=tmp_path)
