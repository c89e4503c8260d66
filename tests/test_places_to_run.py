"""The table of places where netwarp runs, and what takes system calls away to try one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from flips import flips, ran
from minute import report
from places import BEGIN, END, PAGE, PLACES, Found, debian_mirror, last_error, read, table
from without_calls import parsed

SCRIPT = Path(__file__).parents[1] / "scripts" / "without_calls.py"


def answered(stdout: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], 0, stdout, "")


def test_what_a_place_printed_is_read() -> None:
    doctor = {
        "findings": [
            {"name": "kernel", "ok": True},
            {"name": "native", "ok": False},
            {"name": "huge pages", "ok": False},
        ]
    }
    found = read("here", answered(f"study\nrecords 12ab  -\nexec\ndoctor {json.dumps(doctor)}\n"))
    assert found == Found("here", None, True, "12ab", True, ("native", "huge pages"))
    assert read("nowhere", answered("")) == Found("nowhere")


def test_a_row_says_whether_records_are_the_same() -> None:
    text = table(
        [
            Found("a", study=True, records="12ab", program=True),
            Found("b", study=True, records="12ab", lacking=("native", "stacks")),
            Found("c", study=True, records="34cd", program=True),
            Found("d"),
            Found("e", refusal="ERROR: another Python"),
        ]
    )
    assert text.splitlines()[2:] == [
        "| a | the same records | yes | – |",
        "| b | the same records | no | native, stacks |",
        "| c | **other records** | yes | – |",
        "| d | no | no | – |",
        "| e | no: `ERROR: another Python` | no | |",
    ]


def test_pip_s_reason_is_its_error_not_its_notice() -> None:
    said = (
        "WARNING: old pip\nERROR: Package 'netwarp' requires a different Python\nnotice: new pip\n"
    )
    assert last_error(said) == "ERROR: Package 'netwarp' requires a different Python"
    assert last_error("one\ntwo\n") == "two"
    assert last_error("") == "(nothing was said)"


def test_the_page_has_every_place() -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    rows, _, _ = rest.partition(END)
    named = [line.split(" | ")[0].removeprefix("| ") for line in rows.splitlines()[2:]]
    assert named == [place.name for place in PLACES]


@pytest.mark.parametrize(
    ("ranges", "refused"),
    [
        ("110-110", True),
        ("1000-1001,100-111", True),
        ("111-115", False),
        ("105-109,400-600", False),
    ],
)
def test_a_program_runs_without_some_calls(ranges: str, refused: bool) -> None:
    """getppid(2), number 110, never fails otherwise."""
    asks = """if True:
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.syscall(110) == -1 and ctypes.get_errno() == errno.ENOSYS)
    """
    command = [sys.executable, str(SCRIPT), ranges, sys.executable, "-c", asks]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == str(refused)


def test_ranges_are_read() -> None:
    assert parsed("430-432,444-446") == [(430, 432), (444, 446)]


def test_roots_are_made_from_the_archive_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETWARP_DEBIAN_MIRROR", "http://mirror.example/debian/")
    assert debian_mirror() == "http://mirror.example/debian"


def test_without_an_archive_roots_are_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("NETWARP_DEBIAN_MIRROR", raising=False)
    with pytest.raises(SystemExit, match="set NETWARP_DEBIAN_MIRROR=URI"):
        debian_mirror()


def test_times_are_read_off_the_stamps_of_the_steps() -> None:
    stamps = (
        "begin at 10.00 with 0m0.50s 0m0.25s\nfirst at 41.50 with 0m20.00s 0m4.75s\n"
        "warm at 50.00 with 1m0.00s 0m5.00s\none at 50.75 with 1m0.50s 0m5.25s\n"
        "ready at 60.00 with 1m1.00s 0m6.00s\njob at 100.00 with 2m1.00s 0m16.00s\n"
    )
    assert report(f"{stamps}what else is printed\n") == [
        "install and demo: 31.5 s (goal 60 s), 24.0 s of CPU",
        "compare of one run: 0.8 s (goal 1 s), 0.8 s of CPU",
        "a job of 100 runs: 40.0 s (goal 90 s), 70.0 s of CPU",
    ]


@pytest.mark.parametrize(
    ("said", "is_answer"),
    [
        ("", True),
        ('<failure message="AssertionError: assert 1 == 0"/>', True),
        ('<failure message="netwarp.errors.BackendError: the endpoint is older"/>', False),
        ('<error message="fixture netwarp_path not found"/>', False),
    ],
)
def test_a_repeat_that_could_not_be_run_is_no_answer(said: str, is_answer: bool) -> None:
    case = ElementTree.fromstring(f"<testcase>{said}</testcase>")  # noqa: S314 - ours
    assert ran(case) == is_answer


def test_a_seed_that_passed_once_and_failed_once_flipped() -> None:
    assert flips({"1": [True, True], "2": [False, False], "3": [True, False]}) == ["3"]
