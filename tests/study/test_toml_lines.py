"""Lines of keys in a TOML file, and in what refuses a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import load_study
from netwarp.study.toml_lines import key_lines, line_of

TEXT = '''\
# Question?
title = "x [path]"
description = """
[path]
rtt = "no"
"""
[path]   # [[path.timeline]]
rtt = "1ms"
list = [
  "a = [",  # rate = 3
  { inner = 1 },
]
'single quoted' . b = 1
[[path.timeline]]
at = "1s"
[[path.timeline]]
at = "2s"
[path.timeline.deep]
key = 1
[factors]
"path.loss" = ["0%"]
path.rate = ["1mbit"]
last = \'\'\'
[x]\'\'\'
[[figure]]
x = "last"
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("title", 2),
        ("path", 7),
        ("path.rtt", 8),
        ("path.list", 9),
        ("path.list.1.inner", 9),
        ("path.single quoted.b", 13),
        ("path.timeline.0.at", 15),
        ("path.timeline.1", 16),
        ("path.timeline.1.at", 17),
        ("path.timeline.1.deep.key", 19),
        ("path.timeline.1.change", 16),
        ("path.timeline.2.change", 14),
        ("path.absent", 7),
        ('factors."path.loss"', 21),
        ("factors.path.rate", 22),
        ("figure.0.x", 26),
        ("nowhere", None),
    ],
)
def test_keys_have_lines(key: str, line: int | None) -> None:
    assert line_of(key_lines(TEXT), key) == line


STUDY = """\
# Does it move?
title = "t"
transport = "tcp"
[workload]
size = "1MB"
[path]
rtt = "10ms"
[[path.timeline]]
at = "2s"
change = "outage"
[[path.timeline]]
at = "3s"
change = "restore"
[quick]
path.rtt = "5ms"
"""


def refusal(folder: Path, old: str, new: str, *overrides: str, quick: bool = False) -> str:
    """Change a good study, and give the line that refuses it, without its folder."""
    file = folder / "s.toml"
    assert old in STUDY
    file.write_text(STUDY.replace(old, new))
    with pytest.raises(StudyError) as caught:
        load_study(file, overrides=overrides, quick=quick)
    return str(caught.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"3s"', '"1s"', 's.toml:12: path.timeline.1.at = "1s": earlier than the entry before it'),
        ('"outage"', '"outage"\npath = 3', "s.toml:11: path.timeline.0.path = 3: too large"),
        ('"outage"', '"outage"\npath = 2', "s.toml:11: path.timeline.0.path = 2: there is one"),
        ('"restore"', '"retsore"', 's.toml:13: path.timeline.1.change = "retsore": unknown; did'),
        ('at = "2s"\n', "", "s.toml:8: path.timeline.0.at: missing"),
        ("rtt =", "rrt =", 's.toml:7: path.rrt = "10ms": unknown key'),
        ('size = "1MB"', 'size = "1"', 's.toml:5: workload.size = "1": the unit is missing'),
        ('title = "t"\n', "", "s.toml: title: missing"),
        ('transport = "tcp"', 'transport = "pct"', 's.toml:3: transport.kind = "pct": unknown'),
        ("[quick]", '[factors]\n"path.loss" = ["x"]\n[quick]', 's.toml:15: factors."path.loss"'),
        ("[quick]", "[[figure]]\nx = 1\n[quick]", "s.toml:15: figure.0.x = 1: "),
    ],
)
def test_what_refuses_a_study_names_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert refusal(tmp_path, old, new).startswith(message)


def test_what_the_command_line_set_stands_in_no_line(tmp_path: Path) -> None:
    said = refusal(tmp_path, "10ms", "20ms", "path.rtt=5")
    assert said.startswith("s.toml: path.rtt = 5: the unit is missing")
    with pytest.raises(StudyError, match=r"s\.toml: replicates = 0: too small"):
        load_study(tmp_path / "s.toml", replicates=0)
    assert refusal(tmp_path, '"1MB"', '"1M"', "path.rtt=5ms").startswith("s.toml:5: workload.size")


def test_a_file_that_cannot_be_read_is_named_with_the_line_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(STUDY.replace('size = "1MB"', 'file = "absent"'))
    with pytest.raises(StudyError, match=r"s\.toml:5: workload\.file = .*: no such file"):
        plan_study(load_study(file))
    with pytest.raises(StudyError, match=r"s\.toml: workload\.file = .*: no such file"):
        plan_study(load_study(file, overrides=[f"workload.file={tmp_path}/gone"]))


def test_what_is_quick_stands_in_its_own_table(tmp_path: Path) -> None:
    assert refusal(tmp_path, '"5ms"', '"5"', quick=True).startswith("s.toml:15: path.rtt")


def test_a_byte_order_mark_is_no_part_of_a_study(tmp_path: Path) -> None:
    """Editors of Windows begin files with one."""
    file = tmp_path / "study.toml"
    text = 'title = "t"\r\n[workload]\r\nsize = "1kB"\r\n[transport]\r\nkind = "tcp"\r\n'
    file.write_bytes(text.encode("utf-8-sig"))
    assert load_study(file).title == "t"
