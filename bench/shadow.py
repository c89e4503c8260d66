"""Asks Shadow for jobs: two of its hosts, one Python program on each, over its own TCP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Any

from bench import shadow_host
from bench.guests import plan
from bench.lines import Transfer
from bench.measured import Cost
from netwarp import wire
from netwarp.units import NS_PER_S

VARIABLE = "NETWARP_SHADOW"
"""Names the program, where it is not on PATH."""
NOT_INSTALLED = (
    "Shadow is not measured: there is no `shadow` on PATH, and no package registry has it."
    f" Build it from github.com/shadow/shadow, and name the program by {VARIABLE}"
)
CLIENT_START_S = 1
"""The server listens by then; time before it does not count."""


class Shadow:
    """The installed Shadow: one simulation, and so one process, for each job."""

    name = "Shadow"
    note = (
        "Shadow: its process and two Python programs; its own TCP (Reno, no CUBIC) with its own"
        " buffers, and queues that cannot be set: the sender's waits, the receiver's is CoDel"
    )

    def __init__(self, program: str) -> None:
        self._program = program

    def run(self, line: Transfer, seed: int) -> Cost | None:
        """Simulate one job; None when it did not finish within the job's time limit.

        CPU time is that of Shadow and of the programs that it runs.
        """
        job = plan(line, seed).job
        with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
            start_s = time.monotonic()
            cpu_s = self._simulate(configuration(job, seed), Path(directory))
            wall_s = time.monotonic() - start_s
            outputs = sorted(Path(directory).glob("shadow.data/hosts/client/*.stdout"))
            printed = "".join(path.read_text() for path in outputs)
        virtual_s = download_s(printed, size_of(job))
        return None if virtual_s is None else Cost(cpu_s, wall_s, virtual_s=virtual_s)

    def _simulate(self, asked: Mapping[str, Any], place: Path) -> float:
        """Run one simulation in a directory; give the CPU seconds of all its processes."""
        # JSON is YAML, which Shadow reads.
        (place / "shadow.yaml").write_text(json.dumps(asked))
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(
                [self._program, "shadow.yaml"], cwd=place, stdout=log, stderr=log
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said = (place / "log").read_text(errors="replace")
            errors = said[max(0, said.find("[ERROR]")) :][:1000]
            raise SystemExit(f"{self._program} ended with {process.returncode}: {errors}")
        return usage.ru_utime + usage.ru_stime


def find(environ: Mapping[str, str]) -> str | None:
    """Give the path of Shadow's program, or None where it is not installed."""
    named = environ.get(VARIABLE)
    found = which(named or "shadow", path=environ.get("PATH"))
    if named and found is None:
        raise SystemExit(f"{VARIABLE}={named}: no such program")
    return found and str(Path(found).absolute())


def configuration(job: wire.Job, seed: int) -> dict[str, Any]:
    """Word a job as a Shadow simulation (its docs/shadow_config_spec.md)."""
    size = str(size_of(job))
    end_s = CLIENT_START_S + job.limits.virtual_ns // NS_PER_S
    # A client that is not done by the end is told so, and says how far it came.
    client = {"start_time": f"{CLIENT_START_S} s", "shutdown_time": f"{end_s} s"}
    return {
        "general": {
            "seed": seed,
            "stop_time": f"{end_s + 1} s",
            "parallelism": 1,
            "heartbeat_interval": None,
            "log_level": "warning",
        },
        "network": {"graph": {"type": "gml", "inline": graph(job.paths[0])}},
        "hosts": {
            "server": _host(0, ["serve", size], {"expected_final_state": "running"}),
            "client": _host(1, ["download", "server", size], client),
        },
    }


def graph(path: wire.Path) -> str:
    """Write the path in GML: node 0 is the server's, node 1 the client's."""
    parts = (
        _node(0, up_bit_s=path.down.rate_bit_s, down_bit_s=path.up.rate_bit_s),
        _node(1, up_bit_s=path.up.rate_bit_s, down_bit_s=path.down.rate_bit_s),
        _edge(0, 1, path.down),
        _edge(1, 0, path.up),
        # Shadow wants a way from each node to itself, which nothing takes here.
        _edge(0, 0, path.up),
        _edge(1, 1, path.up),
    )
    return "\n".join(("graph [", "directed 1", *parts, "]"))


def _node(number: int, up_bit_s: int | None, down_bit_s: int | None) -> str:
    return _gml(
        "node",
        id=number,
        host_bandwidth_up=f'"{up_bit_s} bit"',
        host_bandwidth_down=f'"{down_bit_s} bit"',
    )


def _edge(source: int, target: int, way: wire.Impairments) -> str:
    loss = way.loss.ratio if isinstance(way.loss, wire.RandomLoss) else 0.0
    latency = f'"{way.delay_ns} ns"'
    return _gml("edge", source=source, target=target, latency=latency, packet_loss=loss)


def _gml(kind: str, **values: object) -> str:
    """Write a list of GML, one key a line, as Shadow's parser asks for."""
    return "\n".join((f"{kind} [", *(f"{key} {value}" for key, value in values.items()), "]"))


def _host(node: int, arguments: Sequence[str], life: Mapping[str, str]) -> dict[str, Any]:
    script = str(Path(shadow_host.__file__).resolve())
    process = {
        "path": str(Path(sys.executable).resolve()),
        # Isolated: looking for the environment's packages and the user's would only take time.
        "args": ["-I", "-S", script, *arguments],
        **life,
    }
    return {"network_node_id": node, "processes": [process]}


def size_of(job: wire.Job) -> int:
    """Give how many bytes the job's one transfer has."""
    assert isinstance(job.only.workload, wire.Bulk)
    return job.only.workload.content.size_bytes


def download_s(printed: str, size_bytes: int) -> float | None:
    """Read the simulated seconds of a download from what its client printed; None: unfinished."""
    try:
        answer = json.loads(printed)
        got_bytes, elapsed_s = int(answer["bytes"]), float(answer["elapsed_s"])
    except (ValueError, KeyError, TypeError):
        raise SystemExit(f"the client in Shadow printed {printed[:200]!r}") from None
    return elapsed_s if got_bytes == size_bytes else None
