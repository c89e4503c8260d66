"""What containment costs: the CPU time of runs in an enclosure and outside it, in turn.

Since decision 42 a guest's kernel runs in an enclosure, and what is not netwarp's own under ptrace
(`docs/decisions/0042-a-guest-kernel-is-a-hostile-process.md`). Before, guests had Landlock's rules
on writing alone, and all their programs ran under the mode of User-Mode Linux that uses seccomp.
Both are run here by the same netwarp, endpoint and guest kernel. Whether they also wrote the same
records is told with them.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

from bench.lines import FAST
from bench.printing import tell
from netwarp.backends.base import Backend
from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import run_job
from netwarp.plan import PlannedRun, plan_study
from netwarp.stacks import installed
from netwarp.study import study_from_mapping
from netwarp.wire import Job

SECCOMP = "seccomp=on"
ENCLOSES = ("--enclosed", "--must")


@dataclass(frozen=True)
class Line:
    """A run: the tables of its study, and what the machine must have for it."""

    name: str
    study: Mapping[str, Any]
    programs: tuple[str, ...] = ()
    stack: str | None = None

    def missing(self) -> str | None:
        """Say what this machine lacks for the run; None if it has all of it."""
        lacking = [program for program in self.programs if which(program) is None]
        if lacking:
            return f"{', '.join(lacking)}: not installed"
        if self.stack is not None and self.stack not in installed():
            return f"the stack is not built: netwarp stack build {self.stack}"
        return None


def _bulk(name: str, transport: Any, size: str, path: Mapping[str, str], stack: str | None) -> Line:
    workload = {"kind": "bulk", "size": size, "verify": False}
    return Line(name, {"path": path, "transport": transport, "workload": workload}, stack=stack)


LINES = (
    Line(
        "exec: curl of 10 MB from Python's server",
        {
            "path": {"rtt": "100ms", "rate": "20mbit"},
            "workload": {
                "kind": "command",
                "server": "head -c 10M /dev/zero > file; exec python3 -m http.server 80",
                "client": "curl -sSfO http://server/file",
            },
        },
        programs=("curl", "python3"),
    ),
    Line(
        "a page of 30 resources, loaded by Chromium",
        {
            "path": {"rtt": "100ms", "rate": "20mbit"},
            "transport": {"kind": "tls"},
            "workload": {"kind": "page", "page": "web-30", "http": "2", "client": "chromium"},
        },
        programs=("chromium",),
    ),
    _bulk("100 MB by quic-go", {"kind": "quic", "stack": "quic-go"}, "100MB", FAST, "quic-go"),
    _bulk("own: empty run", {"kind": "tcp"}, "1B", {"rtt": "10ms"}, None),
    _bulk("own: 100 MB TCP", {"kind": "tcp"}, "100MB", FAST, None),
    _bulk("own: 100 MB QUIC", {"kind": "quic"}, "100MB", FAST, None),
)


class Uncontained(VirtualBackend):
    """Runs guests as they were run before they were held to be hostile. Of no use but here."""

    def _command(self, cpu: int, job: Job, memory: Path, *, must: bool) -> list[str]:
        command = super()._command(cpu, job, memory, must=must)
        return uncontained(command, has_seccomp=self._kernel_of(job).has_seccomp)


def uncontained(command: Sequence[str], *, has_seccomp: bool) -> list[str]:
    """Take the enclosure from a guest's command, and have its programs run under seccomp."""
    bare = [argument for argument in command if argument not in (*ENCLOSES, SECCOMP)]
    if not has_seccomp:
        return bare
    (after,) = (at for at, each in enumerate(bare) if each.startswith("time-travel-start="))
    return [*bare[: after + 1], SECCOMP, *bare[after + 1 :]]


def measure(repeats: int, only: str = "") -> dict[str, Any]:
    """Run each line contained and uncontained in turn; which is first alternates."""
    backends: dict[str, VirtualBackend] = {"before": Uncontained(), "now": VirtualBackend()}
    for backend in backends.values():
        backend.check(jobs=1)
    lines = [line for line in LINES if only.lower() in line.name.lower()]
    left_out = {line.name: reason for line in lines if (reason := line.missing())}
    there = [line for line in lines if line.name not in left_out]
    cpu_s: dict[str, dict[str, list[float]]] = {
        line.name: {name: [] for name in backends} for line in there
    }
    records: dict[str, set[bytes]] = {line.name: set() for line in there}
    for repeat in range(repeats):
        order = list(backends) if repeat % 2 == 0 else list(reversed(backends))
        for line in there:
            tell(f"{repeat + 1}/{repeats} {line.name}")
            for name in order:
                spent_s, record = _run(backends[name], line)
                cpu_s[line.name][name].append(spent_s)
                records[line.name].add(record)
    lines_found = [summed_up(name, found, len(records[name])) for name, found in cpu_s.items()]
    return {"lines": lines_found, "left_out": left_out}


def summed_up(name: str, cpu_s: Mapping[str, Sequence[float]], records: int) -> dict[str, Any]:
    """Give each pair, the medians and ranges, and the median of the pairs' ratios.

    Args:
        name: the line.
        cpu_s: the CPU times before and now, pair by pair.
        records: how many different records all of its runs wrote.
    """
    pairs = list(zip(cpu_s["before"], cpu_s["now"], strict=True))
    ratios = [now / before for before, now in pairs]
    return {
        "name": name,
        "pairs": pairs,
        "different_records": records,
        **{each: [statistics.median(of), min(of), max(of)] for each, of in cpu_s.items()},
        "ratio": [statistics.median(ratios), min(ratios), max(ratios)],
    }


def table(found: Mapping[str, Any], repeats: int) -> Iterator[str]:
    """Write medians and ranges side by side, and below them every pair."""
    yield f"CPU s of a run, medians of {repeats} [smallest – largest]; × is now against before\n"
    yield f"{'':44} {'before':>24} {'now':>24} {'×':>24}"
    for line in found["lines"]:
        cells = (f"{_spread(line[each]):>24}" for each in ("before", "now", "ratio"))
        yield f"{line['name']:44} {' '.join(cells)}"
    yield "\npairs (before, now), in the order in which they were run:"
    for line in found["lines"]:
        pairs = ", ".join(f"({before:.2f}, {now:.2f})" for before, now in line["pairs"])
        yield f"{line['name']}: {pairs}"
    for line in found["lines"]:
        if line["different_records"] > 1:
            yield f"{line['name']}: wrote {line['different_records']} different records"
    for name, reason in found["left_out"].items():
        yield f"left out: {name}: {reason}"


def _spread(of: Sequence[float]) -> str:
    median, least, most = of
    return f"{median:.2f} [{least:.2f} – {most:.2f}]"


def _run(backend: Backend, line: Line) -> tuple[float, bytes]:
    """Run one line, and give its CPU time and its records; a failed run ends the bench."""
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        place = Path(directory)
        outcome = run_job(backend, plan(line).job, place)
        if outcome.failed:
            raise SystemExit(f"{line.name} failed: {outcome.status.reason}")
        return outcome.status.cpu_s, (place / "records.jsonl").read_bytes()


def plan(line: Line) -> PlannedRun:
    """Turn a line into the one run of its study."""
    study = {"title": line.name, "replicates": 1, "seed": 1, **line.study}
    (planned,) = plan_study(study_from_mapping(study, folder=Path("/")))
    return planned
