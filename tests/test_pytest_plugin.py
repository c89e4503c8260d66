"""The plugin of pytest, used by a test suite of somebody else."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import netwarp.library

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).parents[1]


class Finished:
    """What a run of programs gives."""

    def __init__(self, out: Path, *, exit_status: int = 0) -> None:
        program = {"exit_status": exit_status, "signal": None, "stdout": "", "stderr": ""}
        self.directory = out
        self._summary = {
            "exit_status": exit_status,
            "failure": None if exit_status == 0 else "the client exited with 7",
            "client": {**program, "stdout": "hello\n", "stderr": "it broke\n" * bool(exit_status)},
            "server": {**program, "stdout": "serving\n", "exit_status": None, "signal": 15},
            "metrics": {"run_time_s": 0.3},
        }

    def summary(self) -> dict[str, Any]:
        return self._summary


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What is asked of `netwarp.exec`, which runs nothing: a client `exit 7` fails."""
    asked: list[dict[str, Any]] = []

    def run_programs(client: list[str], **options: Any) -> Finished:
        asked.append({"client": client, "cwd": str(Path.cwd()), **options})
        return Finished(options["out"], exit_status=7 if "exit 7" in client else 0)

    monkeypatch.setattr(netwarp.library, "exec", run_programs)
    return asked


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite that has this plugin once, installed or not."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # Pytest warns of a plugin that is imported already, as the one that is installed is.
    monkeypatch.delitem(sys.modules, "netwarp.pytest_plugin", raising=False)
    pytester.makeini("[pytest]\naddopts = -p netwarp.pytest_plugin\n")
    return pytester


def test_programs_run_as_markers_say_and_their_outputs_come_back(
    suite: pytest.Pytester, ran: list[dict[str, Any]]
) -> None:
    suite.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.netwarp(rtt="10ms", rate="20mbit")

        @pytest.mark.netwarp(rtt="100ms")
        class TestFetch:
            @pytest.mark.netwarp(loss="1%")
            def test_it(self, netwarp_path, tmp_path):
                done = netwarp_path.run("curl http://server/ | wc", server="serve", cwd=tmp_path)
                assert (done.exit_status, done.stdout, done.failure) == (0, "hello\\n", None)
                assert (done.server.stdout, done.server.signal) == ("serving\\n", 15)
                assert done.metrics["run_time_s"] == 0.3
                again = netwarp_path.run(["curl", "server"], server="serve", loss="5%", seed=2)
                assert again.directory != done.directory
        """
    )
    suite.runpytest_inprocess("--strict-markers", "-W", "error").assert_outcomes(passed=1)
    first, second = ran
    path = {key: first[key] for key in ("rtt", "rate", "loss", "server")}
    assert path == {"rtt": "100ms", "rate": "20mbit", "loss": "1%", "server": "serve"}
    assert first["client"] == "curl http://server/ | wc"
    assert first["cwd"] == str(first["out"].parent)
    assert second["client"] == ["curl", "server"]
    assert (second["loss"], second["seed"]) == ("5%", 2)


def test_a_failed_test_shows_what_the_programs_printed(
    suite: pytest.Pytester, ran: list[dict[str, Any]]
) -> None:
    suite.makepyfile(
        """
        def test_it(netwarp_path):
            assert netwarp_path.run("exit 7", server="serve").exit_status == 0
        """
    )
    result = suite.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*Captured netwarp call*", "client: exit 7", "server: serve",
            "exit status 7; the client exited with 7", "client's standard error:", "it broke",
            "server's output:", "serving",
        ]
    )  # fmt: skip
    assert len(ran) == 1


def test_what_is_wrong_is_said_and_nothing_is_run(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        @pytest.mark.netwarp(bandwith="5mbit")
        def test_unknown(netwarp_path):
            netwarp_path.run("true", server="true")

        @pytest.mark.netwarp("100ms")
        def test_without_name(netwarp_path):
            pass
        """
    )
    result = suite.runpytest_inprocess()
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["*exec: --bandwith: unknown option*"])
    result.stdout.fnmatch_lines(["*netwarp('100ms'): options have names, such as netwarp(rtt=*"])


def test_the_marker_and_the_fixture_are_told(suite: pytest.Pytester) -> None:
    suite.runpytest_inprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.netwarp(rtt=*"])
    told = suite.runpytest_inprocess("--fixtures").stdout
    told.fnmatch_lines(["netwarp_path*", "*path between two hosts*"])


def test_pytest_finds_the_plugin_where_netwarp_is_installed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {name: name for name in ["netwarp.pytest_plugin"]}


def test_a_suite_that_does_not_use_it_imports_nothing_of_netwarp(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import sys

        def test_it():
            assert "netwarp.library" not in sys.modules
            assert "pydantic" not in sys.modules
        """
    )
    suite.runpytest_subprocess().assert_outcomes(passed=1)
