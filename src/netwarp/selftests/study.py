"""Makes the study whose cells are tests: each is a command in a guest."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netwarp.selftests.catalogue import ROOT, SELFTESTS, SelfTest
from netwarp.study import Study, study_from_mapping

FACTOR = "command.test"
AGAIN = "command.again"
STATUS = "netwarp-selftest: exit status"
"""Beginning of the last line that a run prints, which has the test's exit status."""
STALL_CPU_S = 20
LIMIT_S = 20_000
"""Time in s of the run's clock after which any test is stopped. A test without a limit in its file
`settings` has 45 s, as in the kernel's own runner."""
_SCRIPT = f"""\
mount -t sysfs sysfs /sys && ip link set lo up && cd "$(dirname "$1")" || exit 125
limit=$(sed -n 's/^timeout=//p' settings 2>/dev/null)
test="./$(basename "$1")"
[ -x "$test" ] || test="$(sed -n '1s/^#!//p' "$test") $test"
timeout --kill-after=10 "${{limit:-45}}" $test 2>&1
echo "{STATUS} $?"
"""
"""Shell script that runs a test in a separate network namespace, as the kernel's own runner does
(tools/testing/selftests/kselftest/runner.sh, `run_in_netns`). A file that is not executable is run
by its interpreter."""


def study_of(
    tests: Sequence[SelfTest],
    place: Path,
    *,
    repeat: int,
    same_seed: bool = False,
    kernel: str | None = None,
    seed: int | None = None,
) -> Study:
    """Return the study that runs these tests.

    Args:
        tests: tests that lack nothing, at least one.
        place: the directory of the built tests.
        repeat: number of runs of each test, each with its own seed.
        same_seed: whether all runs have the same seed instead. They are then cells of one
            replicate, which differ in an argument that is not read and always has the same length.
        kernel: name of the kernel; None for the default one.
        seed: seed of the study; None for the default one.
    """
    tables: dict[str, Any] = {
        "title": "The kernel's own tests",
        "replicates": repeat,
        "path": {"rtt": "1ms"},
        "transport": {"kind": "tcp"},
        "workload": {
            "kind": "command",
            "server": "echo ready",
            "ready": "line:ready",
            "client": [
                *("unshare", "--net", "--mount", "--propagation", "private", "--"),
                *("/bin/sh", "-c", _SCRIPT, "selftest", "{test}"),
            ],
            "directory": str(place / SELFTESTS / ROOT),
        },
        "limits": {"virtual_s": LIMIT_S, "stall_cpu_s": STALL_CPU_S},
        "factors": {FACTOR: [each.file for each in tests]},
    }
    if same_seed:
        tables["replicates"] = 1
        tables["workload"]["client"].append("{again}")
        tables["factors"][AGAIN] = [f"{number:06}" for number in range(repeat)]
    if kernel is not None:
        tables["kernel"] = kernel
    if seed is not None:
        tables["seed"] = seed
    return study_from_mapping(tables, file="selftest", folder=place)
