"""The steps of the GitHub Action, run as they stand in action.yml, with a home that has nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
STUDY = """\
# Does a small file arrive soon enough over a bad link?
title = "A small file"
replicates = 2
[path]
rtt = "50ms"
rate = "20mbit"
[workload]
size = "100kB"
[factors]
transport = ["tcp", "sctp"]
[[expect]]
that = "completion_time_s < 2.5 s"
"""
BROKEN = '[[expect]]\nthat = "tcp.completion_time_s < 0.1 s"\n'


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a release's files: two wheels, and their hashes."""
    out = tmp_path_factory.mktemp("release")
    script = REPOSITORY / "scripts" / "wheels.py"
    subprocess.run([sys.executable, script, "--out", out], check=True, stdout=subprocess.DEVNULL)
    return out


class Job:
    """A job on a runner that has Python, and the packages that netwarp needs, but not netwarp."""

    def __init__(self, place: Path, **inputs: str) -> None:
        self.place = place
        self.inputs = inputs
        self.files = {
            name: place / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        (site,) = Path(sys.prefix).glob("lib/python3*/site-packages")
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(place / "home"),
            # Nothing is fetched: dependencies are those of the tests, netwarp the wheels alone.
            "PYTHONPATH": str(site), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1",
            **{name: str(file) for name, file in self.files.items()},
        }  # fmt: skip

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run a step of the action, as a runner does."""
        yaml: Any = import_module("yaml")
        steps = yaml.safe_load((REPOSITORY / "action.yml").read_text())["runs"]["steps"]
        (step,) = (each for each in steps if each["name"] == name)
        assert step["shell"] == "bash"
        environ = {key: self.valued(text) for key, text in step["env"].items()}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.place, env=self.environ | environ,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def valued(self, text: str) -> str:
        """Return the value of an expression, of the few kinds that the action has."""
        (expression,) = re.findall(r"^\$\{\{ (.*) \}\}$", text)
        if expression == "github.action_path":
            return str(REPOSITORY)
        return self.inputs[expression.split(" ")[0].removeprefix("inputs.")]


@pytest.fixture(scope="module")
def job(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Return a job whose first step has installed the release, from its URL."""
    job = Job(tmp_path_factory.mktemp("job"), wheels=release.as_uri())
    installed = job.step("Install")
    assert installed.returncode == 0, installed.stderr
    assert installed.stdout.splitlines()[-1].startswith("netwarp ")
    return job


def test_a_study_that_holds_passes_with_a_summary(job: Job) -> None:
    (job.place / "study.toml").write_text(STUDY)
    job.inputs["run"] = "run study.toml --expect 'sctp.goodput_bit_s > 1 Mbit/s'"
    done = job.step("Run")
    assert done.returncode == 0, done.stderr
    assert "status=0" in job.files["GITHUB_OUTPUT"].read_text()
    summary = job.files["GITHUB_STEP_SUMMARY"].read_text()
    assert "Expectations: 2 of 2 passed" in summary
    assert (job.place / "netwarp-ci" / "results" / "report.html").is_file()
    assert "::" not in done.stdout


def test_an_expectation_that_does_not_hold_fails_and_is_shown_at_its_line(job: Job) -> None:
    (job.place / "study.toml").write_text(STUDY + BROKEN)
    subprocess.run(["rm", "-r", job.place / "netwarp-ci"], check=True)
    job.inputs["run"] = "run study.toml"
    done = job.step("Run")
    assert done.returncode == 1
    (line,) = (each for each in done.stdout.splitlines() if each.startswith("::"))
    assert line.startswith("::error file=study.toml,line=14,title=tcp.completion_time_s < 0.1 s::")
    assert "does not hold: 225.1 ms" in line


def test_a_program_runs_over_a_path(job: Job) -> None:
    (job.place / "file").write_bytes(bytes(1000))
    job.inputs["run"] = (
        "exec --rtt 100ms --server 'exec python3 -m http.server 80' -- "
        "python3 -c 'from urllib.request import *; "
        'print(len(urlopen("http://server/file").read()))\''
    )
    done = job.step("Run")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[0] == "1000"
    assert "## netwarp exec: exit status 0" in job.files["GITHUB_STEP_SUMMARY"].read_text()


def test_what_is_installed_is_kept_for_the_same_release(job: Job) -> None:
    again = job.step("Install")
    assert again.returncode == 0
    assert again.stdout.startswith("kept: netwarp ")


def test_a_release_that_was_changed_is_refused(job: Job, release: Path, tmp_path: Path) -> None:
    for each in release.iterdir():
        content = each.read_bytes()
        (tmp_path / each.name).write_bytes(content + b"x" * (each.suffix == ".whl"))
    other = Job(job.place, wheels=tmp_path.as_uri())
    done = other.step("Install")
    assert done.returncode == 1
    assert "and SHA256SUMS says" in done.stderr


def test_a_release_that_is_not_there_is_refused(job: Job, tmp_path: Path) -> None:
    done = Job(job.place, wheels=(tmp_path / "nothing").as_uri()).step("Install")
    assert done.returncode == 1
    assert "cannot fetch file://" in done.stderr
    assert len(done.stderr.splitlines()) == 1
