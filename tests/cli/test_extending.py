"""The package of docs/extending.md is installed, and everything it adds is used."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli.conftest import Netwarp
from guides import DOCS, blocks
from netwarp.plugins import GROUPS
from support import write_run_directory

WORST = 14
"""Lines of an example, without blank ones and imports."""
EMPTY = re.compile(r"an empty `([^`]+)`")
"""What the document says of files without content."""
Lab = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install what the document gives, and no other package, where guests see it: not in /tmp."""
    package = tmp_path_factory.mktemp("lab")
    with TemporaryDirectory(dir=sys.prefix) as site:
        _install(package, site)
        yield Path(site)


def _install(package: Path, site: str) -> None:
    for block in blocks(DOCS / "extending.md"):
        assert block.file is not None
        (package / block.file).parent.mkdir(parents=True, exist_ok=True)
        (package / block.file).write_text(block.text)
    for empty in EMPTY.findall((DOCS / "extending.md").read_text(encoding="utf-8")):
        (package / empty).touch()
    (package / "netwarp_lab/lab_quic/role").write_text("#!/bin/sh\n")
    (package / "netwarp_lab/lab_quic/role").chmod(0o755)
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-index", "--no-deps", "--no-build-isolation", "--target", site, package,
        ],
        check=True, timeout=120,
    )  # fmt: skip


@pytest.fixture
def lab(netwarp: Netwarp, site: Path, tmp_path: Path) -> Lab:
    """Run the program where the package is installed and the laboratory has a run directory."""
    write_run_directory(tmp_path / "runs/monday")
    environ = {"PYTHONPATH": str(site), "LAB_RUNS": str(tmp_path / "runs")}

    def run(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        return netwarp(*arguments, **environ, **more)

    return run


def test_every_kind_has_a_short_example() -> None:
    text = (DOCS / "extending.md").read_text(encoding="utf-8")
    for kind in GROUPS:
        assert f'"netwarp.{kind}" = ' in text
    for block in blocks(DOCS / "extending.md"):
        if block.language == "py":
            lines = [line for line in block.text.splitlines() if line.strip()]
            assert len([line for line in lines if "import " not in line]) <= WORST, block.file


def test_a_source_s_study_is_run_in_a_backend_with_a_workload_of_the_package(lab: Lab) -> None:
    """Its jobs are those of the recorded directory, whose study has a bulk of 10 MB."""
    done = lab("run", "lab_notes/loss", "--backend", "archive:monday", "--out", "out")
    assert done.returncode == 1, done.stderr  # one of the recorded runs failed
    assert "setup" not in done.stdout
    assert "completion-time-survival" in lab("figure", "out").stdout
    shown = lab("show", "out", "--metric", "setup_ratio,completion_time_s")
    assert shown.returncode == 0, shown.stderr
    assert "share of the setup" in shown.stdout
    unknown = lab("show", "out", "--metric", "setup_share")
    assert 'did you mean "setup_ratio"?' in unknown.stderr


def test_a_source_of_the_package_is_reproduced(lab: Lab) -> None:
    done = lab("reproduce", "lab_notes", "--quick", "--seed", "1", "--backend", "archive:monday")
    assert "QUIC is faster than TCP at 5 % loss" in done.stdout, done.stderr
    assert "reproduced (provisional)" in done.stdout


def test_a_backend_of_the_package_is_named_with_the_others(lab: Lab) -> None:
    told = lab("run", "lab_notes/loss", "--backend", "cloud")
    assert "archive:NAME" in told.stderr


def test_what_the_code_of_the_package_fails_at_is_told_as_the_package_s(
    netwarp: Netwarp, site: Path, tmp_path: Path
) -> None:
    told = netwarp(
        "run", "lab_notes/loss", "--backend", "archive:monday",
        PYTHONPATH=str(site), TMPDIR=str(tmp_path),
    )  # fmt: skip
    assert told.returncode == 70
    (line,) = [each for each in told.stderr.splitlines() if "error:" in each]
    assert "the package netwarp-lab failed, which adds the backend archive (KeyError" in line
    assert "a defect of netwarp" not in told.stderr
    (report,) = tmp_path.glob("netwarp-error-*.txt")
    assert "LAB_RUNS" in report.read_text()


def test_a_stack_of_the_package_is_listed(lab: Lab, site: Path) -> None:
    listed = lab("stack", "list")
    assert "lab-quic   1.0" in listed.stdout
    assert (site / "netwarp_lab/lab_quic/role").stat().st_mode & 0o100


def test_without_the_package_there_is_none_of_it(netwarp: Netwarp, tmp_path: Path) -> None:
    figure = '[[figure]]\nkind = "survival"\ny = "completion_time_s"\n'
    (tmp_path / "study.toml").write_text(f'title = "t"\n[workload]\nsize = "1kB"\n{figure}')
    assert "figure.0.kind" in netwarp("run", "study.toml").stderr
    for arguments in (["run", "lab_notes/loss"], ["compare", "--backend", "archive:monday"]):
        told = netwarp(*arguments)
        assert told.returncode == 2
        assert "archive:NAME" not in told.stderr


def _broken(place: Path) -> Path:
    """Make a package whose modules cannot be imported."""
    info = place / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    entries = "".join(f"[netwarp.{kind}]\nbroken = broken_package:it\n" for kind in GROUPS)
    (info / "entry_points.txt").write_text(entries)
    (place / "broken_package.py").write_text("raise OSError('it is broken\\nin two lines')\n")
    return place


FAILING = """
from netwarp.metrics import Metric

def fail(run):
    raise AttributeError("oops")

failing = Metric("oops_s", "s", "lower", "Oops", "It fails.", "connection", fail)
wordy = Metric("wordy_s", "s", "lower", "Wordy", "No number.", "connection", lambda _: "many")
"""


def test_a_metric_that_fails_has_no_value_and_harms_no_run(
    netwarp: Netwarp, tmp_path: Path
) -> None:
    info = tmp_path / "site/failing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: failing\nVersion: 1.0\n")
    entries = "[netwarp.metrics]\noops_s = its_module:failing\nwordy_s = its_module:wordy\n"
    (info / "entry_points.txt").write_text(entries)
    (tmp_path / "site/its_module.py").write_text(FAILING)
    recorded = write_run_directory(tmp_path / "recorded")
    shown = netwarp("show", recorded, PYTHONPATH=str(tmp_path / "site"))
    assert (shown.returncode, shown.stdout) == (0, netwarp("show", recorded).stdout)
    for metric, error in (("oops_s", "AttributeError: oops"), ("wordy_s", "ValueError: could not")):
        (line,) = [each for each in shown.stderr.splitlines() if f"metric {metric}," in each]
        assert "which the package failing adds, has no value in runs in which it fails" in line
        assert error in line


def test_what_cannot_be_imported_is_named_in_one_line(netwarp: Netwarp, tmp_path: Path) -> None:
    environ = {"PYTHONPATH": str(_broken(tmp_path / "site"))}
    recorded = write_run_directory(tmp_path / "recorded")
    assert netwarp("--help", **environ).stderr == ""
    shown = netwarp("show", recorded, **environ)
    assert (shown.returncode, shown.stdout) == (0, netwarp("show", recorded).stdout)
    (line,) = [each for each in shown.stderr.splitlines() if "the metric broken" in each]
    assert "which the package broken adds, cannot be imported (OSError: it is broken" in line
    told = netwarp("compare", "--backend", "broken", **environ)
    (line,) = [each for each in told.stderr.splitlines() if "error:" in each]
    assert told.returncode == 2
    assert "mend or uninstall broken" in line


def test_entry_points_are_read_only_when_they_are_needed() -> None:
    program = (
        "import importlib.metadata as m, os\n"
        "os.environ['PYDANTIC_DISABLE_PLUGINS'] = '__all__'\n"
        "def read(*_, **__): raise SystemExit('read')\n"
        "m.entry_points = read\n"
        "import netwarp.library, netwarp.metrics, netwarp.workloads, netwarp.stacks\n"
        "from netwarp.cli.program import app\n"
        "app.main(['compare', '--help'], standalone_mode=False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
