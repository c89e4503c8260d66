"""Carries out runs in ns-3, in processes that have loaded it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from netwarp.backends.base import Backend, kernel_provenance
from netwarp.backends.needs import Machine, Need, require
from netwarp.backends.ns3.installation import find_python
from netwarp.backends.ns3.request import records, refusal, request
from netwarp.backends.process_tree import cpu_s
from netwarp.backends.watch import ending_with_us
from netwarp.errors import BackendError
from netwarp.run_directory import CONSOLE_FILE, RECORDS_FILE, Clock
from netwarp.run_status import Status
from netwarp.transports import runs_in_ns3
from netwarp.units import NS_PER_S
from netwarp.wire import End, Job, record_to_json

SIMULATION = Path(__file__).with_name("simulation.py")


class Ns3Backend:
    """Runs jobs in ns-3. Each slot for parallel runs has a process, which loads ns-3 once."""

    name = "ns3"
    clock: Clock = "virtual"
    parallel = True
    interleaved = False
    sets_path = True
    suffix = "-ns3"
    cpu_is_free = True
    needs: tuple[Need, ...] = (
        Need("ns-3", find_python, lambda machine: f"ns-3 of {find_python(machine)}"),
    )

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ
        self._simulators: dict[int, _Simulator] = {}
        # A process ends with the thread that started it (PR_SET_PDEATHSIG), and the threads that
        # carry runs out end between stages and studies, so a thread of its own starts the
        # processes.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="netwarp-ns3")
        self._lock = threading.Lock()
        self._stopped = False

    def check(self, jobs: int) -> None:
        """Check that ns-3 is installed."""
        require(self.needs, Machine(self.environ, jobs))

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Return what a job requires that ns-3 lacks; see :func:`request.refusal`."""
        return refusal(job)

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Carry out one job; see :class:`netwarp.backends.base.Backend`."""
        begun_s = time.monotonic()
        try:
            simulator = self._simulator(slot)
            answer, cpu_s = simulator.ask(request(job))
        except SimulatorEndedError as ended:
            self._refuse_if_stopped()
            (directory / CONSOLE_FILE).write_text(str(ended))
            self._forget(slot)
            return Status("failed", str(ended), time.monotonic() - begun_s, 0.0, 0, 0.0)
        (directory / CONSOLE_FILE).write_text("")
        made = records(job, answer, simulator.version)
        text = "".join(f"{record_to_json(record)}\n" for record in made)
        (directory / RECORDS_FILE).write_text(text)
        end = made[-1]
        if not isinstance(end, End):
            raise TypeError("the records end without an end")
        virtual_s = end.virtual_ns / NS_PER_S
        on_progress(virtual_s)
        return Status(
            outcome="failed" if end.failure else "ok",
            reason=f"{end.failure.stage}: {end.failure.message}" if end.failure else None,
            wall_s=time.monotonic() - begun_s,
            cpu_s=cpu_s,
            peak_rss_bytes=0,
            virtual_s=virtual_s,
        )

    def stop(self) -> None:
        """Kill all simulations."""
        with self._lock:
            self._stopped = True
            for simulator in self._simulators.values():
                simulator.kill()

    def provenance(self) -> dict[str, Any]:
        """The simulator's version, if one has been started."""
        versions = {each.version for each in self._simulators.values()}
        return {"ns3": ", ".join(sorted(versions)) or "not started yet"}

    def _simulator(self, slot: int) -> _Simulator:
        """Return the simulation process of a slot, which is started when it is first needed."""
        with self._lock:
            self._refuse_if_stopped()
            if slot not in self._simulators:
                python = find_python(Machine(self.environ))
                self._simulators[slot] = self._starter.submit(_Simulator, python).result()
            return self._simulators[slot]

    def _refuse_if_stopped(self) -> None:
        if self._stopped:
            raise BackendError("the backend was stopped")

    def _forget(self, slot: int) -> None:
        with self._lock:
            simulator = self._simulators.pop(slot, None)
        if simulator is not None:
            simulator.kill()


class SimulatorEndedError(Exception):
    """A simulation ended without an answer; the message says how."""


class _Simulator:
    """A process that has loaded ns-3 and simulates one run after the other."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            ending_with_us([python, str(SIMULATION)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._errors: list[str] = []
        # Reads standard error: warnings about symbols that are missing, and the reason if the
        # process crashed.
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._version: str | None = None

    @property
    def version(self) -> str:
        """Version of the ns-3 package; "not loaded yet" before the first answer."""
        return self._version or "not loaded yet"

    def ask(self, asked: Mapping[str, Any]) -> tuple[list[dict[str, Any]], float]:
        """Simulate the run that a request describes.

        Returns:
            The answer, and the CPU seconds that the process used for it.

        Raises:
            SimulatorEndedError: the process ended or was killed.
        """
        if self._version is None:
            self._version = str(self._answer()["ready"])
        before_s = cpu_s(self._process.pid)
        if self._process.stdin is None:
            raise AssertionError("the process was started without a pipe")
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SimulatorEndedError(self._end()) from None
        answer = self._answer()
        return answer, cpu_s(self._process.pid) - before_s

    def kill(self) -> None:
        """Kill the simulation process at once."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _answer(self) -> Any:
        """Return the process's answer to one request."""
        if self._process.stdout is None:
            raise AssertionError("the process was started without a pipe")
        line = self._process.stdout.readline()
        if not line:
            raise SimulatorEndedError(self._end())
        return json.loads(line)

    def _end(self) -> str:
        status = self._process.wait()
        self._listener.join()
        tail = " / ".join(self._errors[-3:]) or "it said nothing"
        return f"ns-3 ended with status {status}: {tail}"

    def _listen(self) -> None:
        if self._process.stderr is not None:
            for line in self._process.stderr:
                self._errors.append(line.strip())
                del self._errors[:-20]


class WithNs3:
    """A backend for studies that mix the kernel's transports with ns-3's models of them."""

    def __init__(self, kernel: Backend, ns3: Ns3Backend) -> None:
        self._kernel = kernel
        self._ns3 = ns3
        self.name = f"{kernel.name} and {ns3.name}"
        self.suffix = kernel.suffix
        self.parallel = kernel.parallel
        self.interleaved = kernel.interleaved
        self.sets_path = kernel.sets_path
        self.cpu_is_free = kernel.cpu_is_free
        self.needs = (*kernel.needs, *ns3.needs)

    @property
    def clock(self) -> Clock:
        """The clock of the kernel's runs; ns-3's runs are always in virtual time."""
        return self._kernel.clock

    def check(self, jobs: int) -> None:
        """Check that both backends are available."""
        self._ns3.check(jobs)
        self._kernel.check(jobs)

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Return the reason why a job cannot be carried out by the backend that it belongs to:
        ns-3, or the kernel's.
        """
        return self._of(job).refuse(job, sha256)

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Carry out one job on the backend that it belongs to: ns-3 or the kernel's."""
        return self._of(job).run(job, directory, slot=slot, on_progress=on_progress)

    def stop(self) -> None:
        """End all runs under way, in ns-3 and on the kernel's backend."""
        self._kernel.stop()
        self._ns3.stop()

    def provenance(self) -> dict[str, Any]:
        """Versions and hashes of kernel, endpoint and ns-3."""
        return self._kernel.provenance() | self._ns3.provenance()

    def kernel_provenance(self, name: str) -> dict[str, Any]:
        """Return versions and hashes of the kernel of this name; see
        :class:`netwarp.backends.base.BootsKernels`.
        """
        return kernel_provenance(self._kernel, name)

    def _of(self, job: Job) -> Backend:
        return self._ns3 if runs_in_ns3(job) else self._kernel
