"""A Dask cluster on the loopback device, and a study for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from netwarp.study import Study, study_from_mapping

PYTHON = (sys.executable, "-m", "dask")


def study(replicates: int = 3, size: str = "100kB") -> Study:
    return study_from_mapping(
        {
            "title": "cluster",
            "replicates": replicates,
            "path": {"rtt": "20ms", "loss": "1%"},
            "workload": {"kind": "bulk", "size": size},
            "factors": {"transport": ["tcp", "quic"]},
        }
    )


class Cluster:
    """A scheduler and its workers, each a process of its own in the session of the test."""

    def __init__(self, place: Path, **environ: str) -> None:
        self.place = place
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--host", "tcp://127.0.0.1", "--port", "0", "--no-dashboard", **environ
        )
        self.address = self._reported(self.scheduler, "Scheduler at:").removeprefix("tcp://")

    def add_worker(
        self, *options: str, nanny: str = "--no-nanny", **environ: str
    ) -> subprocess.Popen[bytes]:
        """Start a worker of one guest; it is ready when it says that it is registered."""
        worker = self._start(
            "worker", f"tcp://{self.address}", "--nthreads", "1", "--resources", "guest=1",
            nanny, "--no-dashboard", "--local-directory", str(self.place), *options, **environ,
        )  # fmt: skip
        self._reported(worker, "Registered to:")
        self.workers.append(worker)
        return worker

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.communicate()

    def _start(self, *arguments: str, **environ: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PYTHON, *arguments],
            env={**os.environ, **environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    @staticmethod
    def _reported(process: subprocess.Popen[bytes], what: str) -> str:
        """Read a process's log up to a line, and give that line's last word."""
        assert process.stderr is not None
        for line in process.stderr:
            if what in line.decode():
                return line.decode().split()[-1]
        raise AssertionError(f"{process.args!r} ended before it said {what!r}")
