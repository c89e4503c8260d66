"""The lanes of scripts/test.sh: every test is of one of them, and a failure of each is counted."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
REPOSITORY = TESTS.parent
TOOLS = ("ruff", "mypy", "lint-imports", "shellcheck", "cargo", "rustc", "go", "id",
         "debootstrap")  # fmt: skip
# Instead of pytest: one test passed in each lane, and one failed in that of $FAILS.
PYTHON = f"""#!/bin/sh
case "$*" in
*--junit-xml=*)
    for word; do case $word in --junit-xml=*) xml=${{word#*=}};; esac; done
    failed=0
    [ "$(basename "$xml" .xml)" != "$FAILS" ] || failed=1
    echo "<testsuite tests='$((1 + failed))' failures='$failed' errors='0' skipped='0'/>" >"$xml"
    exit $failed;;
scripts/audit.py) exit ${{AUDIT_STATUS-0}};;
esac
exec {sys.executable} "$@"
"""
TOOL = """#!/bin/sh
case "$(basename "$0") $*" in
"id -u") echo 0;;
"rustc --version") echo "rustc 1.99.0";;
"cargo test "*) echo "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured";;
"go test "*) echo "--- PASS: TestOne (0.00s)";;
"$FAILS "*) exit 1;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory that has the script, and tools that do nothing."""
    for name in ("scripts/test.sh", "scripts/toolchain.sh", "src/netwarp/stacks.py",
                 "endpoint/Cargo.toml", "stacks/role/Cargo.toml"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    (tmp_path / "stacks" / "quic-go").mkdir()
    for directory in (tmp_path / ".venv" / "bin", tmp_path / "bin"):
        directory.mkdir(parents=True)
        for name in TOOLS:
            (directory / name).write_text(TOOL)
            (directory / name).chmod(0o755)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    (tmp_path / "cache" / "netwarp").mkdir(parents=True)
    return tmp_path


def run(
    checkout: Path, fails: str, *words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    path = f"{checkout / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", checkout / "scripts" / "test.sh", *words], cwd=checkout, check=False,
        env={**os.environ, "PATH": path, "FAILS": fails, "XDG_CACHE_HOME": str(checkout / "cache")}
        | environ,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


# Six lanes of pytest, the wheels', two of cargo and one of Go, a test in each.
@pytest.mark.parametrize(
    ("fails", "last"),
    [
        ("", ["10 passed, 0 failed"]),
        ("guest", ["failed: pytest, guest lane", "10 passed, 1 failed"]),
        ("browser", ["failed: pytest, browser lane", "10 passed, 1 failed"]),
        ("native", ["failed: pytest, native lane", "10 passed, 1 failed"]),
        ("installed", ["failed: wheels in an empty root", "10 passed, 1 failed"]),
        ("mypy", ["failed: mypy", "10 passed, 1 failed"]),
    ],
)
def test_what_fails_beside_the_tests_counts_as_well(
    checkout: Path, fails: str, last: list[str]
) -> None:
    done = run(checkout, fails)
    assert done.stdout.splitlines()[-len(last) :] == last, done.stdout + done.stderr
    assert done.returncode == (1 if fails else 0)
    assert done.stdout.count("== pytest, ") == 6 + (
        1 if last[0].startswith("failed: pytest") else 0
    )


@pytest.mark.parametrize(
    ("status", "last"),
    [
        ("0", ["10 passed, 0 failed"]),
        ("3", ["10 passed, 0 failed"]),  # an index could not be asked
        ("4", ["failed: advisories", "10 passed, 1 failed"]),
    ],
)
def test_an_advisory_fails_the_tests_where_it_is_looked_for(
    checkout: Path, status: str, last: list[str]
) -> None:
    done = run(checkout, "", "audit", AUDIT_STATUS=status)
    assert done.stdout.splitlines()[-len(last) :] == last, done.stdout + done.stderr
    assert done.returncode == (status == "4")
    assert ("not everything could be asked about" in done.stdout) == (status == "3")
    assert "== advisories" not in run(checkout, "").stdout


@pytest.mark.parametrize(
    ("directory", "marker", "why"),
    [
        ("plan", "native", "move it to tests/native"),
        ("cli", "guest", "move it to tests/guest"),
        ("cli", "filterwarnings", "is marked as of no lane, and its directory is cli"),
    ],
)
def test_a_test_that_the_lane_of_its_marker_does_not_find_is_refused(
    tmp_path: Path, directory: str, marker: str, why: str
) -> None:
    place = tmp_path / "tests" / directory
    place.mkdir(parents=True)
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    (place / "test_one.py").write_text(
        f"import pytest\n@pytest.mark.{marker}('error')\ndef test_one(): pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", REPOSITORY / "pyproject.toml",
         "-p", "no:cacheprovider", "--rootdir", tmp_path, "tests"],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
    )  # fmt: skip
    assert done.returncode == 4, done.stdout + done.stderr
    assert why in done.stdout + done.stderr


def test_a_lane_begins_with_its_longest_files_and_then_with_those_of_most_tests(
    tmp_path: Path,
) -> None:
    place = tmp_path / "tests" / "guest"
    place.mkdir(parents=True)
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    for name, count in (("few", 1), ("guides", 2), ("many", 3)):
        lines = [f"@pytest.mark.guest\ndef test_{each}(): pass\n" for each in range(count)]
        (place / f"test_{name}.py").write_text("import pytest\n" + "".join(lines))
    environ = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-n", "1", "--dist", "loadfile",
         "--no-loadscope-reorder", "-c", REPOSITORY / "pyproject.toml", "-p", "no:cacheprovider",
         "--rootdir", tmp_path, "tests"],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120, env=environ,
    )  # fmt: skip
    ended = re.findall(r"PASSED tests/guest/test_(\w+)\.py", done.stdout)
    assert ended == ["guides"] * 2 + ["many"] * 3 + ["few"], done.stdout + done.stderr


def test_the_longest_files_are_there() -> None:
    for name in runpy.run_path(str(TESTS / "conftest.py"))["LONGEST"]:
        assert (TESTS / name).is_file(), name
