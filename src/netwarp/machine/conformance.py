"""Checks a stack's program against the role protocol (`docs/role-protocol.md`), in actual runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.backends.base import Backend
from netwarp.backends.guest_files import find_endpoint
from netwarp.execution import run_job
from netwarp.file_trees import temporary_directory
from netwarp.measure.select import of_kind
from netwarp.plan import plan_study
from netwarp.run_directory import CONSOLE_FILE, RECORDS_FILE
from netwarp.stacks import ROLE_PROTOCOL, Stack
from netwarp.study import study_from_mapping
from netwarp.transports import TRANSPORTS
from netwarp.version import __version__
from netwarp.wire import Connection, End, Job, Record, Transfer, read_records

SIZE_BYTES = 300_001
"""Size of the content in bytes: a multiple neither of a word nor of the number of chunks."""
CHUNKS = 3
LIMIT_S = 600
STALL_CPU_S = 20
LAST_LINES = 3
"""Number of lines of the roles' output that are shown for a failed run."""


@dataclass(frozen=True)
class Check:
    """A requirement of the protocol, and whether the program met it."""

    demand: str
    failure: str | None
    """What the program did instead; None if it met the requirement."""


@dataclass(frozen=True)
class _Case:
    demand: str
    workload: Mapping[str, Any]
    path: Mapping[str, Any]
    transport: Mapping[str, Any]


def check_stack(stack: Stack, backend: Backend) -> Iterator[Check]:
    """Check a stack against each requirement of the protocol, independently of the others.

    Args:
        stack: the stack; its manifest decides which requirements apply.
        backend: a backend of virtual time.
    """
    with temporary_directory("netwarp-stack-") as folder:
        cases = list(_cases(stack))
        for number, case in enumerate(cases):
            job = _job(stack, case)
            yield Check(case.demand, _failure(job, folder / f"{number}", backend))
        yield _repeats(_job(stack, cases[0]), folder, backend)
        yield _refuses(_job(stack, cases[0]), folder / "refused", backend)


def _cases(stack: Stack) -> Iterator[_Case]:
    """Yield the runs that check a stack, as far as its manifest says that it supports them."""
    yield _Case("a content goes down, byte for byte", {}, {}, {})
    yield _Case("a content goes up, byte for byte", {"direction": "up"}, {}, {})
    yield _Case("packets may be lost", {}, {"loss": "5%"}, {})
    yield _Case("transfers follow each other", {"transfers": 2}, {}, {})
    if stack.chunks:
        yield _Case("chunks travel over streams", {"chunks": CHUNKS}, {}, {})
    for way in stack.resume:
        if way != "none":
            yield _Case(
                f"a later connection resumes ({way})", {"transfers": 2}, {}, {"resume": way}
            )
    for name in stack.congestion[1:]:
        yield _Case(f"congestion control {name}", {}, {}, {"congestion": name})


def _job(stack: Stack, case: _Case) -> Job:
    """Return the job of one check."""
    tables = {
        "title": case.demand,
        "replicates": 1,
        "path": {"rtt": "20ms", "rate": "10mbit", **case.path},
        "transport": {"kind": stack.kind, "stack": stack.model_dump(mode="json"), **case.transport},
        "workload": {"kind": "bulk", "size": f"{SIZE_BYTES}B", "verify": True, **case.workload},
        "limits": {"virtual_s": LIMIT_S, "stall_cpu_s": STALL_CPU_S},
    }
    (planned,) = plan_study(study_from_mapping(tables, file="stack check"))
    return planned.job


def _failure(job: Job, directory: Path, backend: Backend) -> str | None:
    outcome = run_job(backend, job, directory)
    if outcome.failed:
        return f"{outcome.status.reason}{_last_words(directory)}"
    return difference(job, read_records(directory / RECORDS_FILE))


def _last_words(directory: Path) -> str:
    """Return the last lines that the roles of a run (server and client) printed, from the guest's
    console.
    """
    try:
        text = (directory / CONSOLE_FILE).read_text(errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"; the last that was printed: {' / '.join(lines[-LAST_LINES:])}" if lines else ""


def difference(job: Job, records: list[Record]) -> str | None:
    """Return how a successful run's records violate the protocol, in words; None if they do not."""
    connections, transport = of_kind(records, Connection), job.only.transport
    (end,) = of_kind(records, End)
    expected = 2 * int(getattr(job.only.workload, "transfers", 1))
    if len(connections) != expected:
        return f"{len(connections)} records of connections instead of {expected}"
    for each in connections:
        if not each.start_ns <= each.connected_ns <= end.virtual_ns:
            return f"the {each.side}'s connection was ready before it began, or after the end"
        if each.settings.congestion != transport.congestion:
            asked, got = transport.congestion, each.settings.congestion
            return f"asked for congestion control {asked}, the {each.side} has {got}"
        if (
            each.transfer > 0
            and each.side == "client"
            and each.resumed != job.only.transport.resume
        ):
            return f"asked to resume by {transport.resume}, the client did by {each.resumed}"
    for moved in of_kind(records, Transfer):
        if not moved.first_byte_ns <= moved.last_byte_ns <= end.virtual_ns:
            return f"the {moved.side}'s last byte came before its first, or after the end"
        if moved.stream != moved.chunk:
            return f"chunk {moved.chunk} went over stream {moved.stream}"
    return None


def _repeats(job: Job, folder: Path, backend: Backend) -> Check:
    """Check that the same job gives the same records twice."""
    demand = "the same seed gives the same records twice"
    texts = []
    for name in ("first", "second"):
        outcome = run_job(backend, job, folder / name)
        if outcome.failed:
            return Check(demand, f"{outcome.status.reason}{_last_words(folder / name)}")
        texts.append((folder / name / RECORDS_FILE).read_bytes())
    return Check(demand, None if texts[0] == texts[1] else "the records differ")


def _refuses(job: Job, directory: Path, backend: Backend) -> Check:
    """Check that the role refuses an option that no stack has."""
    unknown = job.only.transport.model_copy(update={"congestion": "no-such-congestion-control"})
    outcome = run_job(backend, job.with_only(transport=unknown), directory)
    demand = "what it does not have it refuses, with the reason"
    if not outcome.failed:
        return Check(demand, "it took a congestion control that there is not for another")
    records = read_records(directory / RECORDS_FILE)
    (end,) = of_kind(records, End)
    said = end.failure is not None and end.failure.stage in ("server", "client")
    otherwise = f"it failed otherwise: {outcome.status.reason}{_last_words(directory)}"
    return Check(demand, None if said else otherwise)


def own_stack() -> Stack:
    """Return netwarp's own roles as a stack, to check them against the same protocol."""
    traits = TRANSPORTS["quic"]
    return Stack(
        name="netwarp",
        version=__version__,
        role_protocol=ROLE_PROTOCOL,
        kind="quic",
        program=str(find_endpoint()),
        congestion=traits.congestion_controls,
        workloads=("bulk",),
        chunks=True,
        resume=("1rtt", "0rtt"),
        paced=traits.is_always_paced,
    )
