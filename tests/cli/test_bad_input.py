"""Bad input gets one clear line that names what, where and the remedy; exit 2; nothing is run."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from netwarp.output.export import EXPORTS
from support import write_run_directory

STUDY = """# Is this a study?
title = "small"
replicates = 1
[path]
rtt = "10ms"
[workload]
kind = "bulk"
size = "1kB"
[factors]
transport = ["tcp"]
"""

CLAIM = """[[claim]]
text = "it is quick"
metric = "completion_time_s"
less = { transport = "tcp" }
than = { transport = "tcp" }
"""
BAD_STUDIES = {
    "unknown key": (STUDY.replace("rtt", "rrt"), ["path.rrt", "rtt"]),
    "unknown section": (STUDY + "[pth]\n", ["pth", "path"]),
    "loss beyond all": (STUDY.replace('rtt = "10ms"', 'loss = "120%"'), ["path.loss", "120%"]),
    "negative delay": (STUDY.replace('"10ms"', '"-10ms"'), ["path.rtt", "-10ms"]),
    "rate of nothing": (STUDY.replace('rtt = "10ms"', 'rate = "0mbit"'), ["path.rate", "0mbit"]),
    "unknown transport": (STUDY.replace('"tcp"', '"tpc"'), ["tpc", "tcp"]),
    "level that is impossible": (
        STUDY + '"path.loss" = ["1%", "101%"]\n',
        ["path.loss", "101%"],
    ),
    "cubic sctp": (
        STUDY.replace('"tcp"]', '"sctp"]\n"transport.congestion" = ["cubic"]'),
        ["sctp", "cubic"],
    ),
    "not TOML": (STUDY.replace("[path]", "[path"), ["line 4"]),
    "missing file": (STUDY.replace('size = "1kB"', 'file = "gone"'), ["workload.file", "gone"]),
    "kind that is a table": (
        STUDY.replace("[factors]\ntransport", "[transport]\nkind = {a = 1}\n[factors]\n#"),
        ["transport.kind"],
    ),
    "level that is a list": (STUDY.replace('"tcp"', '["tcp"]'), ["factors.transport"]),
    "lists in lists": (f"x = {'[' * 500}{']' * 500}\n{STUDY}", ["deep"]),
    "tables in tables": (f"{STUDY}[{'.'.join(['a'] * 500)}]\n", ["deep"]),
    "number of 4400 digits": (f"seed = {'9' * 4400}\n{STUDY}", ["64 bits"]),
    "number of 8000 hexadecimal digits": (f"seed = 0x{'f' * 8000}\n{STUDY}", ["64 bits"]),
    "duration of 5 million digits": (STUDY.replace("10ms", "1" * 5_000_000 + "ms"), ["path.rtt"]),
    "digits of another script": (STUDY.replace("10ms", "١٠ms"), ["path.rtt"]),
    "key of a million letters": (f"{STUDY}[{'k' * 1_000_000}]\n", ["unknown key"]),
    "key of two lines": (f'{STUDY}["a\\nb"]\n', ["unknown key"]),
    "NUL in a file's name": (
        STUDY.replace('size = "1kB"', 'file = "a\\u0000b"'),
        ["workload.file", "NUL"],
    ),
    "nobody's home": (
        STUDY.replace('size = "1kB"', 'file = "~nouser/x"'),
        ["workload.file", "~nouser"],
    ),
    "device as content": (
        STUDY.replace('size = "1kB"', 'file = "/dev/zero"'),
        ["workload.file", "device"],
    ),
    "device as trace": (
        STUDY.replace("[path]", '[path]\ntrace = { down = "/dev/zero" }'),
        ["path.trace.down", "device"],
    ),
    "misspelt key of a command": (
        STUDY.replace(
            'kind = "bulk"\nsize = "1kB"', 'kind = "command"\nserver = "a"\nclinet = "b"'
        ),
        ["workload.clinet", 'did you mean "client"?', ":9:"],
    ),
    "bound of a claim": (
        f"{STUDY}{CLAIM}at_most = '3s'\n",
        ["claim.0.at_most", "there are no absolute bounds"],
    ),
    "discipline that is misspelt": (
        STUDY.replace("[path]", '[path]\nrate = "1mbit"\ndiscipline = "cacke"'),
        ["path.discipline", 'did you mean "cake"?'],
    ),
    "stack as a transport": (
        STUDY.replace('"tcp"', '"quic-go", "quic"'),
        ["quic-go", "a stack of QUIC", 'stack = "quic-go"'],
    ),
    "size in bits": (
        STUDY.replace('"1kB"', '"10Mb"'),
        ["workload.size", "megabits", 'write "1.25MB"'],
    ),
    "wrong quick": (f"{STUDY}[quick]\nrepicates = 3\n", ["repicates", "replicates", ":12:"]),
}
SCREENFUL = 24 * 80


@pytest.mark.parametrize("name", BAD_STUDIES)
def test_bad_studies_are_refused(netwarp: Netwarp, tmp_path: Path, name: str) -> None:
    text, mentioned = BAD_STUDIES[name]
    (tmp_path / "study.toml").write_text(text)
    answer = netwarp("run", "study.toml", "--out", "out")
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout == ""
    (line,) = answer.stderr.strip().splitlines()
    assert len(line) < SCREENFUL + len("error: ")
    for word in ("error:", "study.toml", *mentioned):
        assert word in line
    assert not (tmp_path / "out").exists()


def test_what_is_no_regular_file_is_not_read(netwarp: Netwarp, tmp_path: Path) -> None:
    """A device would never end, a FIFO never begin; a large file would fill the memory."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    with (tmp_path / "large").open("w") as large:
        large.truncate(10 << 30)
    for name, reason in {
        "/dev/zero": "a device",
        "fifo": "a FIFO",
        "link": "a device",
        "large": "MiB",
        ".": "a directory",
    }.items():
        answer = netwarp("run", name)
        assert answer.returncode == 2, answer.stderr
        (line,) = answer.stderr.strip().splitlines()
        assert reason in line


def test_a_file_that_is_no_trace_is_not_shown(netwarp: Netwarp, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root:$6$salt:19000:0:99999:7:::\n")
    traced = STUDY.replace("[path]", '[path]\ntrace = { down = "secret" }')
    (tmp_path / "study.toml").write_text(traced)
    answer = netwarp("run", "study.toml")
    assert answer.returncode == 2
    assert "secret:1: not a whole number" in answer.stderr
    assert "salt" not in answer.stderr


@pytest.mark.parametrize(
    ("override", "mentioned"),
    [
        (f"a={'[' * 600}{']' * 600}", "deep"),
        (f"{'a.' * 600}b=1", "deep"),
        (f"seed={'9' * 4400}", "seed"),
        (f"path.rtt={'9' * 100_000}ms", "path.rtt"),
    ],
)
def test_bad_overrides_are_refused(
    netwarp: Netwarp, tmp_path: Path, override: str, mentioned: str
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    answer = netwarp("run", "study.toml", "--set", override)
    assert answer.returncode == 2, answer.stderr
    (line,) = answer.stderr.strip().splitlines()
    assert mentioned in line


@pytest.mark.parametrize(
    ("arguments", "mentioned"),
    [
        (["--loss", "120%"], ["--loss", "120%"]),
        (["--transport", "tcp,carrier-pigeon"], ["--transport", "carrier-pigeon"]),
        (["--rtt=-5ms"], ["--rtt", "-5ms"]),
        (["--duplicate-up", "200%"], ["--duplicate-up", "200%"]),
        (["--jitter-correlation", "5%"], ["--jitter-correlation", "no effect without jitter"]),
        (["--file", "/does/not/exist"], ["/does/not/exist"]),
        (["--queue", "1bdp"], ["--queue"]),
        (["--filter", "path.los=1%"], ["--filter", "path.los"]),
        (["--backend", "cloud"], ["--backend", "cloud", "virtual"]),
        (["--executor", ""], ["--executor", "dask-local:N"]),
        (["--executor", "dask-local:0"], ["--executor dask-local:0", "dask-local:N"]),
        (["--executor", "dask://localhost"], ["--executor dask://localhost", "HOST:PORT"]),
        (["--executor", "dask://localhost:99999"], ["localhost:99999", "1 to 65535"]),
        (["--executor", "dask-local:2", "--jobs", "2"], ["--jobs 2", "leave it away"]),
        (["--backend", "replay:/nonexistent"], ["--backend", "/nonexistent"]),
        (["--file", "~nouser/x"], ["--file", "~nouser"]),
        (["--chunks", "9" * 4400], ["--chunks"]),
        (["--out", "\udcff"], ["UTF-8"]),
        (["--out", ""], ["--out", '"" is no path']),
        (["--junit", ""], ["--junit", '"" is no path']),
    ],
)
def test_bad_options_are_refused(
    netwarp: Netwarp, tmp_path: Path, arguments: list[str], mentioned: list[str]
) -> None:
    answer = netwarp("compare", *arguments)
    assert answer.returncode == 2, answer.stderr
    (line,) = answer.stderr.strip().splitlines()
    for word in ("error:", *mentioned):
        assert word in line
    assert not (tmp_path / "netwarp-out").exists()


@pytest.mark.parametrize(
    ("arguments", "mentioned"),
    [
        (["compare", "--bogus"], ["netwarp compare", "--bogus", "--help"]),
        (["compare", "--jobs", "many"], ["--jobs", "whole number"]),
        (["compare", "--seed"], ["--seed", "requires an argument"]),
        (["run"], ["netwarp run", "STUDY"]),
        (["race"], ["command: race", "netwarp --help"]),
    ],
)
def test_what_is_no_command_line_gets_one_line(
    netwarp: Netwarp, arguments: list[str], mentioned: list[str]
) -> None:
    answer = netwarp(*arguments)
    assert answer.returncode == 2
    assert answer.stdout == ""
    (line,) = answer.stderr.strip().splitlines()
    for word in ("error:", *mentioned):
        assert word in line


def test_no_kernel_is_said_with_the_remedy(netwarp: Netwarp, tmp_path: Path) -> None:
    answer = netwarp("compare", NETWARP_KERNEL=str(tmp_path))
    assert answer.returncode == 2
    assert "netwarp kernel build" in answer.stderr


def test_no_scratch_is_said_with_the_remedy(netwarp: Netwarp, tmp_path: Path) -> None:
    answer = netwarp("compare", NETWARP_SCRATCH=str(tmp_path / "nothing"))
    assert answer.returncode == 2
    assert "NETWARP_SCRATCH" in answer.stderr


def test_an_out_that_is_a_file_is_refused(netwarp: Netwarp, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    answer = netwarp("compare", "--out", "out")
    assert answer.returncode == 2
    assert "cannot write to out (it is a file, not a directory): choose another with --out" in (
        answer.stderr
    )


@pytest.mark.parametrize("command", ["show", "report", "export"])
def test_what_is_no_run_directory_is_refused(
    netwarp: Netwarp, tmp_path: Path, command: str
) -> None:
    answer = netwarp(command, tmp_path)
    assert answer.returncode == 2
    assert "netwarp run" in answer.stderr


@pytest.mark.parametrize("command", ["show", "report", "export"])
def test_a_file_is_no_run_directory(netwarp: Netwarp, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("root:x:0:0\n")
    answer = netwarp(command, "file")
    assert answer.returncode == 2
    assert answer.stderr == (
        "error: file is not a run directory: name one that `netwarp run` made\n"
    )


def test_a_file_of_a_run_directory_stands_for_it(netwarp: Netwarp, tmp_path: Path) -> None:
    """What a shell completes to, and what a browser shows: the report."""
    directory = write_run_directory(tmp_path / "out")
    (directory / "report.html").touch()
    folder, file = netwarp("show", directory), netwarp("show", directory / "report.html")
    assert folder.returncode == 0, folder.stderr
    assert (file.returncode, file.stdout) == (folder.returncode, folder.stdout)


@pytest.mark.parametrize("command", ["", "demo", "run", "compare", "show", "report", "doctor"])
def test_help_teaches(netwarp: Netwarp, command: str) -> None:
    answer = netwarp(*command.split(), "--help")
    assert answer.returncode == 0
    assert len(answer.stdout.splitlines()) > 5


def test_the_version_is_said(netwarp: Netwarp) -> None:
    answer = netwarp("--version")
    assert (answer.returncode, answer.stdout) == (0, f"netwarp {metadata.version('netwarp')}\n")


def test_all_formats_are_named_in_the_help(netwarp: Netwarp) -> None:
    answer = netwarp("export", "--help")
    for name in EXPORTS:
        assert name in answer.stdout


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--precision", "5%", "--decide"], ["--precision and --decide", "drop one"]),
        (["--precision", "0%"], ["--precision 0%", "no number of replicates"]),
        (["--precision", "much"], ["--precision much"]),
        (["--decide", "--max-time", "soon"], ["--max-time soon"]),
        (["--max-time", "10min"], ["--max-time 10min", "--decide"]),
        (["--relevant", "much"], ["relevant", "much"]),
    ],
)
def test_how_replicates_are_added_is_checked_before_anything_runs(
    netwarp: Netwarp, options: list[str], parts: list[str]
) -> None:
    answer = netwarp("compare", "--size", "1kB", *options)
    assert answer.returncode == 2
    assert not answer.stdout
    for part in parts:
        assert part in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "key", "remedy"),
    [
        (["compare", "--rate", "20Mbps"], "--rate", "write a rate"),
        (["compare", "--bandwidth", "5mbit"], "--bandwidth", 'did you mean "--rate"?'),
        (["compare", "--cc", "bbr"], "--cc", 'did you mean "--congestion"?'),
        (["compare", "--jobs", "0"], "--jobs", "netwarp compare --help"),
        (["show", "nowhere"], None, None),
    ],
)
def test_an_error_is_an_object_where_one_was_asked_for(
    netwarp: Netwarp, arguments: list[str], key: str | None, remedy: str | None
) -> None:
    answer = netwarp(*arguments, "--json")
    error = json.loads(answer.stdout)["error"]
    assert answer.returncode == 2
    assert answer.stderr.strip() == f"error: {error['message']}"
    assert error["key"] == key
    assert remedy in error["remedy"] if remedy else error["remedy"] is None
    assert netwarp(*arguments).stdout == ""


@pytest.mark.parametrize("option", [("--replicates", "0"), ("--server", ""), ("--filter", "x=y")])
def test_verify_ignores_no_option_that_says_nothing(
    netwarp: Netwarp, tmp_path: Path, option: tuple[str, str]
) -> None:
    recorded = write_run_directory(tmp_path / "recorded")
    answer = netwarp("verify", recorded, *option)
    assert answer.returncode == 2, answer.stdout
    assert f"{option[0]}: it says something of --against only" in answer.stderr
