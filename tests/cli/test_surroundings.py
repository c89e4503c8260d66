"""What the machine refuses is told as the machine's, never as a defect of netwarp."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from fuzz.toml import to_toml
from netwarp.cli.surroundings import BYTES_PER_CPU, LEAST_BYTES
from support import STUDY, write_run_directory

NETWARP = Path(sys.prefix) / "bin" / "netwarp"
TOO_LONG = "/tmp/" + "b/" * 2500
LONG_NAME = "a" * 300
A_RUN_FAILED = 1
"""Exit status of commands about the recorded directory, of which one run failed."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_directory(tmp_path_factory.mktemp("recorded") / "run")


@pytest.fixture(scope="module")
def studied(recorded: Path) -> Path:
    """The file of the study that the recorded directory holds."""
    file = recorded.parent / "study.toml"
    file.write_text(to_toml(STUDY))
    return file


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", TOO_LONG],
        ["report", LONG_NAME],
        ["timeline", TOO_LONG, "c000-r00"],
        ["export", LONG_NAME],
        ["diff", TOO_LONG, LONG_NAME],
        ["figure", TOO_LONG, "1"],
        ["run", LONG_NAME],
        ["run", TOO_LONG],
        ["verify", TOO_LONG],
        ["reproduce", TOO_LONG],
        ["stack", "check", TOO_LONG],
        ["pair", f"{LONG_NAME}:4434", "token"],
        ["run", "latency-under-load", "--backend", f"remote:{LONG_NAME}:4434"],
        ["run", "latency-under-load", "--backend", f"replay:{TOO_LONG}"],
    ],
    ids=lambda arguments: " ".join(arguments)[:30],
)
def test_a_name_that_no_file_or_host_can_have_is_refused(
    netwarp: Netwarp, arguments: list[str], tmp_path: Path
) -> None:
    answer = netwarp(*arguments, XDG_CONFIG_HOME=str(tmp_path))
    assert answer.returncode == 2, answer.stderr
    (line,) = answer.stderr.splitlines()
    assert line.startswith("error: ")


def test_an_out_that_no_directory_can_be_is_refused(
    netwarp: Netwarp, recorded: Path, studied: Path
) -> None:
    for name in (TOO_LONG, LONG_NAME):
        answer = netwarp("run", studied, "--backend", f"replay:{recorded}",
                         "--out", name)  # fmt: skip
        assert answer.returncode == 2, answer.stderr
        assert "File name too long): choose another with --out DIR" in answer.stderr


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("/bin/true", "is not a netwarp-endpoint"),
        ("/bin", "no endpoint program at /bin"),
        ("text", "Exec format error"),
    ],
)
def test_an_endpoint_that_is_none_is_told_so(
    netwarp: Netwarp, tmp_path: Path, program: str, said: str
) -> None:
    if program == "text":
        program = str(tmp_path / "endpoint")
        Path(program).write_text("neither a program nor a script\n")
        Path(program).chmod(0o755)
    answer = netwarp("compare", "--size", "1kB", "--backend", "native", NETWARP_ENDPOINT=program)
    assert answer.returncode == 2, answer.stderr
    (line,) = answer.stderr.splitlines()
    assert said in line


def limited(
    recorded: Path, limit: int, value: int, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of a run directory under a limit of the system."""
    return subprocess.run(
        [NETWARP, arguments[0], recorded, *arguments[1:]],
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=100, check=False,
    )  # fmt: skip


MIB = 1 << 20


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
@pytest.mark.parametrize("most_bytes", [90 * MIB, 300 * MIB])
def test_little_memory_is_told_so(recorded: Path, name: str, most_bytes: int) -> None:
    """It also ends: OpenBLAS asks again for ever for memory that it does not get."""
    answer = limited(recorded, getattr(resource, name), most_bytes, "report")
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert f"memory is limited to {most_bytes // MIB} MiB" in line


def test_the_memory_that_is_asked_for_suffices(recorded: Path) -> None:
    least_bytes = LEAST_BYTES + BYTES_PER_CPU * (os.cpu_count() or 1)
    answer = limited(recorded, resource.RLIMIT_DATA, least_bytes, "report")
    assert (answer.returncode, answer.stderr) == (A_RUN_FAILED, "")


@pytest.mark.parametrize("most", [3, 6, 9])
def test_few_open_files_are_told_so(recorded: Path, most: int) -> None:
    answer = limited(recorded, resource.RLIMIT_NOFILE, most, "report")
    assert answer.returncode != 70, answer.stderr
    assert "defect" not in answer.stderr


def test_a_limit_of_a_file_s_size_is_told_so(recorded: Path) -> None:
    answer = limited(recorded, resource.RLIMIT_FSIZE, 0, "report")
    assert answer.returncode == 1
    assert "File too large" in answer.stderr


@pytest.mark.parametrize(
    "arguments", [["show"], ["show", "--json"], ["export"], ["report"], ["timeline"]], ids=" ".join
)
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&- <&-"])
def test_closed_streams_take_nothing_and_spoil_nothing(
    recorded: Path, arguments: list[str], closed: str
) -> None:
    run = "c003-r01" if arguments == ["timeline"] else ""
    command = f"'{NETWARP}' {arguments[0]} '{recorded}' {run} {' '.join(arguments[1:])} {closed}"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    status = A_RUN_FAILED if arguments == ["report"] else 0
    assert (answer.returncode, answer.stderr) == (status, ""), command


@pytest.mark.parametrize("options", ["", "--json"])
def test_results_are_there_though_nobody_read_the_answer(
    recorded: Path, studied: Path, tmp_path: Path, options: str
) -> None:
    """A pipe's reader that has left is met when the answer is printed, and results come after."""
    out = tmp_path / "out"
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        answer = subprocess.run(
            [NETWARP, "run", studied, "--backend", f"replay:{recorded}",
             "--out", out, *options.split()],
            stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=100, check=False,
        )  # fmt: skip
    assert answer.returncode == 1, answer.stderr
    assert json.loads((out / "summary.json").read_text())
    assert (out / "results.parquet").is_file()
    assert (out / "report.html").is_file()


@pytest.mark.parametrize(
    "arguments", [["show"], ["show", "--json"], ["export"], ["export", "--format", "json"]]
)
def test_what_nobody_reads_any_more_ends_quietly(recorded: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        answer = subprocess.run(
            [NETWARP, arguments[0], recorded, *arguments[1:]],
            stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=100, check=False,
        )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (1, "")


# Root goes everywhere; without these abilities it may not enter what is closed, as nobody else may.
SHUT_OUT = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search",
            "--inh-caps", "-dac_override,-dac_read_search"]  # fmt: skip


def test_what_is_below_a_closed_directory_is_refused(
    recorded: Path, studied: Path, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    told = {
        ("show", closed / "run"): "is not a run directory",
        ("report", closed / "x" / "run"): "is not a run directory",
        ("run", studied, "--backend", f"replay:{recorded}", "--out", closed / "run"): (
            "choose another with --out DIR"
        ),
    }
    for arguments, said in told.items():
        answer = subprocess.run(
            [*SHUT_OUT, NETWARP, *arguments],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert answer.returncode == 2, answer.stderr
        assert said in answer.stderr


def test_a_working_directory_that_is_gone_is_named(recorded: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        f"cd {gone} && rmdir {gone} && {NETWARP} export {recorded} --format csv; {NETWARP} run x"
    )
    answer = subprocess.run(
        ["sh", "-c", f"{script}; {NETWARP} compare --transport tcp --size 1kB --out new"],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert "the working directory has been removed" in answer.stderr
    assert answer.stdout, "what needs none is not refused"


@pytest.mark.parametrize("columns", ["0", "1"])
def test_a_terminal_without_a_size_shows_the_answer(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    answer = subprocess.run(
        [NETWARP, "show", recorded], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split(), "it shows something"
