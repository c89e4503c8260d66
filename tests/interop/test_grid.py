"""The grid: what is planned, how runs are summed up, and the files that it becomes."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import pytest

from netwarp.errors import InputError
from netwarp.interop import Asked, Field, Grid
from netwarp.interop.grid import Judged
from netwarp.interop.packets import AS_SENT, _copy_interfaces
from netwarp.interop.page import render
from netwarp.interop.run import CHECKS, _still_holds, is_unsupported
from netwarp.interop.runner_json import changes, read_results, runner_json
from netwarp.interop.wording import repeat_command
from netwarp.interop_cases import CASES, CaseName
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.wire import Bulk, Program

PROGRAM = Path(__file__).parents[1] / "guest" / "interop" / "right.sh"
UNSUPPORTED = "client: it says that it does not support the test case"


def asked(cases: tuple[str, ...] = (), seeds: int = 1) -> Asked:
    return Asked.of(stacks=[str(PROGRAM)], cases=cases, seeds=seeds, folder=Path.cwd())


def field(*wrong: str | None, case: CaseName = "handshake") -> Field:
    runs = tuple(
        Judged(f"c000-r{at:02}", at + 1, why, is_unsupported=why == UNSUPPORTED)
        for at, why in enumerate(wrong)
    )
    return Field("right.sh", "right.sh", case, runs)


def grid(*fields: Field, seeds: int = 1) -> Grid:
    of = asked(tuple(each.case for each in fields), seeds)
    return Grid(of, {(each.client, each.server, each.case): each for each in fields})


@pytest.mark.parametrize("case", CASES)
def test_every_case_can_be_planned(case: CaseName) -> None:
    study = asked().study(case)
    assert study is not None
    (planned,) = plan_study(study)
    bulk = planned.job.only.workload
    assert planned.job.capture
    assert isinstance(bulk, Bulk)
    assert bulk.case is not None
    assert bulk.case.file_bytes == CASES[case].file_bytes
    assert planned.job.limits.virtual_ns == CASES[case].limit_s * 10**9


def test_a_case_is_found_by_name_and_by_the_runners_abbreviation() -> None:
    assert asked(("L1", "handshake")).cases == ("handshake", "handshakeloss")
    assert asked().cases == tuple(CASES)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("handshak", "did you mean .handshake"),
        ("rebind-port", "translate no addresses"),
        ("connectionmigration", "a run has one of the two"),
    ],
)
def test_a_case_that_is_none_is_refused(named: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        asked((named,))


def test_a_field_succeeds_if_every_loss_pattern_has() -> None:
    assert field(None, None).result == "succeeded"
    some = field(None, "it hangs", None)
    assert (some.result, some.reason) == (
        "failed",
        "fails in 1 of 3 loss patterns: it hangs",
    )
    assert field("it hangs").reason == "it hangs"
    assert field(UNSUPPORTED, UNSUPPORTED).result == "unsupported"
    assert field().result == "failed"


@pytest.mark.parametrize(("exit_status", "expected"), [(127, True), (1, False), (None, False)])
def test_a_case_is_unsupported_by_a_programs_exit_status(
    tmp_path: Path, exit_status: int | None, expected: bool
) -> None:
    assert not is_unsupported(tmp_path)
    program = Program(
        record="program", side="server", started_ns=0, ready_ns=None, ended_ns=1,
        exit_status=exit_status, signal=None if exit_status else 9, stdout_bytes=0, stderr_bytes=0,
        stdout="it does not support the test case",
    )  # fmt: skip
    (tmp_path / RECORDS_FILE).write_text(f"{program.model_dump_json()}\n")
    assert is_unsupported(tmp_path) == expected


def test_a_failure_is_repeated_by_one_command() -> None:
    command = repeat_command(field(None, "it hangs"), Path("out"), asked())
    assert command == (
        f"netwarp interop --clients {PROGRAM} --servers {PROGRAM} --cases handshake --seed 1"
        " --pattern 2 --out out-again"
    )
    words = command.split()
    again = Asked.of(clients=[words[3]], servers=[words[5]], folder=Path.cwd())
    assert again.pairs == [("right.sh", "right.sh")]


def test_two_programs_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match=r"would both be right\.sh in the grid"):
        Asked.of(stacks=[str(PROGRAM), f"{PROGRAM.parent}/./right.sh"], folder=Path.cwd())


def test_a_number_of_seeds_that_no_study_takes_is_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="--seeds 10001: write a whole number from 1 to 10000"):
        asked(seeds=10001)


def test_a_stack_without_a_name_is_refused() -> None:
    with pytest.raises(InputError, match="a stack's name is empty"):
        Asked.of(stacks=[str(PROGRAM), ""], folder=Path.cwd())


def test_the_runners_file_can_be_read_back_and_compared(tmp_path: Path) -> None:
    before = grid(field(None), field("it hangs", case="transfer"), field(None, case="goodput"))
    file = tmp_path / "result.json"
    file.write_text(json.dumps(runner_json(before, tmp_path)))
    found = read_results(file)
    assert found["right.sh", "right.sh", "transfer"] == "failed"
    after = grid(field(None), field(None, case="transfer"), field(None, case="goodput"))
    assert [(each.case, was) for each, was in changes(found, after)] == [("transfer", "failed")]
    assert changes(found, before) == []


def test_the_runners_file_has_the_runners_keys(tmp_path: Path) -> None:
    found = runner_json(grid(field(None), field(None, case="goodput")), tmp_path)
    assert set(found) - {"netwarp"} == {
        "start_time", "end_time", "log_dir", "servers", "clients", "urls", "tests",
        "quic_version", "results", "measurements",
    }  # fmt: skip
    assert found["tests"]["H"]["name"] == "handshake"
    (entry,) = found["results"][0]
    assert (entry["abbr"], entry["name"], entry["result"]) == ("H", "handshake", "succeeded")


@pytest.mark.parametrize("text", ["", "[]", '{"clients": ["a"], "servers": ["b"]}'])
def test_another_file_is_no_result(tmp_path: Path, text: str) -> None:
    file = tmp_path / "result.json"
    file.write_text(text)
    with pytest.raises(InputError, match="not a result of the interop runner"):
        read_results(file)


def test_the_page_says_why_a_field_failed_and_shows_no_markup_of_programs() -> None:
    page = render(grid(field("it said <script>alert(1)</script>")), Path("out"), [])
    assert "it said &lt;script&gt;" in page
    assert "--pattern 1" in page
    assert "<script>alert" not in page


def test_a_run_that_failed_by_an_earlier_check_is_judged_again() -> None:
    assert _still_holds({"wrong": None})
    assert _still_holds({"wrong": "it hangs", "checks": CHECKS})
    assert not _still_holds({"wrong": "it hangs"})
    assert not _still_holds({"wrong": "it hangs", "checks": CHECKS - 1})


def test_only_the_packets_of_some_interfaces_are_read() -> None:
    def block(kind: int, body: bytes) -> bytes:
        length = 12 + len(body)
        return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

    def interface(name: bytes) -> bytes:
        option = struct.pack("<HH", 2, len(name)) + name + bytes(-len(name) % 4)
        return block(1, struct.pack("<HHI", 1, 0, 0) + option + bytes(4))

    names = (b"client-side-in", b"client-side-out", b"server-side-in")
    packets = [block(6, struct.pack("<IIIII", at, 0, 0, 4, 4) + b"pkt%d" % at) for at in range(3)]
    secrets = block(10, b"keys")
    head = b"".join(map(interface, names))
    copied = io.BytesIO()
    _copy_interfaces(io.BytesIO(head + secrets + b"".join(packets)), copied, AS_SENT)
    assert copied.getvalue() == head + secrets + packets[0] + packets[2]
