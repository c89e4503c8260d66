"""The address of a page has no file of this machine read, and does not tell which there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.errors import InputError
from netwarp.study.cells.factors import what_can_vary
from netwarp.study.sections.diagnose import keys_of
from netwarp.study.study import StudyFile
from netwarp.transports import TRANSPORTS
from netwarp.ui.address import options_of
from netwarp.ui.what_if import study_of
from netwarp.workloads import WORKLOADS

BEGUN = {
    "bulk": ("size", "1kB"), "page": ("page", "web-30"), "stream": ("stream", "bola"),
    "flow": ("flow", "64kbit"), "rr": ("requests", "2kB"),
    **{kind: ("set", f"workload.kind={kind}") for kind in ("command", "traffic")},
}  # fmt: skip
"""What asks for each kind of workload."""
OF_STACKS = [f"transport.{each}stack" for each in ("", *(f"{kind}." for kind in TRANSPORTS))]
KEYS = sorted({*keys_of(StudyFile), *what_can_vary(), *OF_STACKS})
WRITTEN = (
    "{key}={file}",
    'factors.{key}=["{file}", "1"]',
    "{key}={{interop='{file}', down='{file}'}}",
)
"""Ways to write a file's name, or a program's, into a key."""
WHOLE = (
    "link=[{name='a', trace={down='FILE'}}]",
    "link=[{name='a', trace={down='/f'}}, {name='b', second={trace={up='FILE'}}}]",
    "workload=[{name='a', kind='bulk', file='FILE'}]",
    "workload=[{name='a', kind='bulk', transport={kind='quic', stack={interop='FILE'}}}]",
    "factors={transport=[{kind='quic', label='x', stack={interop='FILE'}}]}",
    "factors={workload=[{kind='page', label='x', har='FILE'}]}",
    "factors={workload={file=['FILE']}}",
    "factors={path={trace={down=['FILE']}}}",
)
"""Sections and lists that are given as a whole."""


def answer(*pairs: tuple[str, str]) -> str:
    try:
        study_of(options_of(pairs))
    except InputError as error:
        return str(error)
    return "taken"


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a file that is a trace and a program, in the working directory."""
    (tmp_path / "there").write_text("1\n2\n3\n")
    (tmp_path / "there").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return "./there"


@pytest.mark.parametrize("kind", WORKLOADS)
def test_no_key_tells_which_files_there_are(there: str, kind: str) -> None:
    gone = "./other"
    keys = [key for key in KEYS if kind == "bulk" or key.startswith("workload")]
    told = {}
    for written in (way.format(key=key, file="FILE") for key in keys for way in WRITTEN):
        said = [
            answer(BEGUN[kind], ("set", written.replace("FILE", each))) for each in (there, gone)
        ]
        if said[0].replace(there, gone) != said[1]:
            told[written] = said
    assert told == {}


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        *((kind, f"workload.{key}") for kind, each in WORKLOADS.items()
          for key in each.section.relative_paths),
        *(("bulk", f"path.{second}trace.{way}") for second in ("", "second.")
          for way in ("down", "up")),
        *(("bulk", key) for key in OF_STACKS),
    ],
)  # fmt: skip
def test_what_names_files_and_programs_is_refused(there: str, kind: str, key: str) -> None:
    for value in (there, "{label='x', file='/f', step_ns=1, rates_bit_s=[1]}"):
        said = answer(BEGUN[kind], ("set", f"{key}={value}"))
        assert said.startswith((f"compare: --set {key} =", "compare: --file ="))
        assert "names files or programs of this machine" in said


@pytest.mark.parametrize("written", WHOLE)
def test_what_is_given_as_a_whole_is_looked_through(there: str, written: str) -> None:
    said = answer(("transport", "quic"), ("set", written.replace("FILE", there)))
    assert "names files or programs of this machine" in said
