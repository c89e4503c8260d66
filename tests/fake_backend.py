"""A backend that needs no guest, for tests of what carries runs out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from netwarp.backends.needs import Need
from netwarp.run_directory import RECORDS_FILE, Clock
from netwarp.run_status import Status
from netwarp.wire import Job, record_to_json
from support import records_of

OK = Status("ok", None, 0.1, 0.1, 1 << 20, 2.0)


class FakeBackend:
    """Writes records that suit the job, or those it is told to; fails, or interrupts, likewise."""

    name = "fake"
    needs: tuple[Need, ...] = ()
    clock: Clock = "virtual"
    parallel = True
    interleaved = False
    sets_path = True
    suffix = ""
    cpu_is_free = False

    def __init__(
        self,
        fails: tuple[str, ...] = (),
        interrupts: str | None = None,
        records: dict[str, str] | None = None,
    ) -> None:
        self.fails = fails
        self.records = records or {}
        self.interrupts = interrupts
        self.ran: list[str] = []
        self.stopped = threading.Event()

    def check(self, jobs: int) -> None:
        pass

    def refuse(self, job: Job, sha256: str) -> str | None:
        return "it is sctp" if job.only.transport.kind == "sctp" else None

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        self.ran.append(job.run)
        levels = {"transport": job.only.transport.kind, "path.loss": "0%", "path.rtt": "50ms"}
        records = records_of(job, levels, 0, failed=False)
        text = "".join(record_to_json(record) + "\n" for record in records)
        (directory / RECORDS_FILE).write_text(self.records.get(job.run, text))
        on_progress(1.0)
        if job.run == self.interrupts:
            raise KeyboardInterrupt
        if job.run in self.fails:
            return replace(OK, outcome="failed", reason="told to")
        return OK

    def stop(self) -> None:
        self.stopped.set()

    def provenance(self) -> dict[str, Any]:
        return {}
