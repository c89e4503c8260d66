"""Makes the study whose cells are tests: a command in a guest for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netwarp.selftests.catalogue import PACKETDRILLS, ROOT, SELFTESTS, SelfTest
from netwarp.study import Study, study_from_mapping

FACTOR = "command.test"
STATUS = "netwarp-selftest: exit status"
"""Begins the last line that a run prints, which has the test's exit status."""
STALL_CPU_S = 20
LIMIT_S = 20_000
"""Time in s on the run's clock after which a test is given up in any case; those that do not say
otherwise in `settings` have 45 s, as in the kernel's own runner.
"""
_SCRIPT = f"""\
mount -t sysfs sysfs /sys && ip link set lo up && cd "$(dirname "$1")" || exit 125
limit=$(sed -n 's/^timeout=//p' settings 2>/dev/null)
test="./$(basename "$1")"
if [ "${{test%.pkt}}" != "$test" ]; then
    mine=$(mktemp -d)
    printf '#!/bin/sh\\nexec %s "$@"\\n' "$2" >"$mine/packetdrill" || exit 125
    chmod +x "$mine/packetdrill" || exit 125
    PATH="$mine:$PATH"
    test="./ksft_runner.sh $test"
elif ! [ -x "$test" ]; then
    test="$(sed -n '1s/^#!//p' "$test") $test"
fi
timeout --kill-after=10 "${{limit:-45}}" $test 2>&1
echo "{STATUS} $?"
"""
"""Runs a test as the kernel's own runner does with a network namespace of its own
(tools/testing/selftests/kselftest/runner.sh, `run_in_netns`): one that is not executable, by its
interpreter, and a script of packetdrill's by the program beside it.
"""


def study_of(
    tests: Sequence[SelfTest],
    place: Path,
    *,
    repeat: int,
    kernel: str | None = None,
    seed: int | None = None,
    packetdrill: str = "packetdrill",
) -> Study:
    """Make the study that runs these tests.

    Args:
        tests: at least one test that lacks nothing.
        place: the directory of the built tests.
        repeat: the number of times that each is run, each with a seed of its own.
        kernel: the name of the kernel; None for the default.
        seed: the study's seed; None for the usual one.
        packetdrill: the command by which a shell calls packetdrill's program, for its scripts.
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
                *([packetdrill] if any(each.file.endswith(PACKETDRILLS) for each in tests) else []),
            ],
            "directory": str(place / SELFTESTS / ROOT),
        },
        "limits": {"virtual_s": LIMIT_S, "stall_cpu_s": STALL_CPU_S},
        "factors": {FACTOR: [each.file for each in tests]},
    }
    if kernel is not None:
        tables["kernel"] = kernel
    if seed is not None:
        tables["seed"] = seed
    return study_from_mapping(tables, file="selftest", folder=place)
