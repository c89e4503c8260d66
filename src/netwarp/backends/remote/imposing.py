"""Impairs a run's incoming packets at the receiving host, by a process that removes the impairment
when it ends.

The process (`netwarp-endpoint impose`) reads from a pipe. When the pipe closes, on request or
because netwarp has ended in any way, it removes everything that it set up.
"""

import contextlib
import select
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from netwarp.errors import RecordError
from netwarp.wire import Calibration, Direction, Imposed, Job, Record, job_to_json
from netwarp.wire.asked import asked_of_direction
from netwarp.wire.record import record_from_json

ANSWER_TIMEOUT_S = 15.0
COUNT = "count"
"""Order to the process that impairs packets: report how many packets were received and dropped
(`impair_incoming` in the endpoint)."""


class ImposingError(Exception):
    """A host cannot set up the impairments of a job, or they differed from what the job asks
    for.
    """


@dataclass(frozen=True)
class Receiver:
    """The host that receives the packets of one direction, and can impair them."""

    endpoint: Path
    direction: Direction
    """`down` at the client's host, `up` at the server's."""
    address: str
    """Address of this host that the run uses."""
    peer: str
    """Address of the other host."""
    data_port: int
    """UDP and TCP port of the server for data."""

    def refusal(self) -> str | None:
        """Return the reason why this host cannot impair incoming packets, with the remedy; None if
        it can.

        This is tried with a netem that does nothing and is removed afterwards.
        """
        trying = self.start("--check")
        _, why = trying.communicate()
        return None if trying.returncode == 0 else _last_line(why)

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start the process that impairs packets, in a separate session, so that Ctrl-C does not
        reach it.
        """
        return subprocess.Popen(
            [
                self.endpoint, "impose", "--address", _without_zone(self.address),
                "--peer", _without_zone(self.peer), "--data-port", str(self.data_port),
                "--direction", self.direction, *options,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
            start_new_session=True,
        )  # fmt: skip


@dataclass(frozen=True)
class Undone:
    """The impairments of a run that were removed, with their packet counts."""

    imposed: Imposed | None = None
    calibration: Calibration | None = None
    failure: str | None = None
    """Reason why the impairments were not what they should have been; None if they were."""

    @property
    def records(self) -> Sequence[Record]:
        """The records of the impairments and packet counts, for the run's records file."""
        return [each for each in (self.imposed, self.calibration) if each is not None]


class Imposer:
    """Sets up and removes the impairments of one run after another on the incoming packets of a
    host.

    Args:
        receiver: the host whose incoming packets are impaired.
    """

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self._process: subprocess.Popen[str] | None = None
        self._undone = Undone()

    def begin(self, job: Job) -> None:
        """Set up a job's impairments of the direction that this host receives; there may be none.

        Raises:
            ImposingError: they cannot be set up; those that were are removed.
        """
        self.end()
        self._undone = Undone()
        direction = self.receiver.direction
        if not asked_of_direction(getattr(job.paths[0], direction), direction):
            return
        text = job_to_json(job).rstrip("\n")
        self._process = self.receiver.start()
        imposed = self._ask(text)
        if not isinstance(imposed, Imposed):
            raise ImposingError(self._end_process("it says nothing of what is in force"))
        self._undone = Undone(imposed)

    def count(self) -> None:
        """Store how many packets were received and dropped so far, if impairments are in force."""
        if self._process is None:
            return
        try:
            counted = self._ask(COUNT)
        except ImposingError as error:
            self._undone = Undone(self._undone.imposed, failure=str(error))
            return
        if isinstance(counted, Calibration):
            self._undone = Undone(self._undone.imposed, counted)

    def end(self) -> Undone:
        """Remove the impairments, and return the records about them; later calls return the
        same.
        """
        if self._process is not None:
            why = self._end_process("")
            if why:
                self._undone = Undone(self._undone.imposed, self._undone.calibration, why)
        return self._undone

    def _ask(self, line: str) -> Record:
        """Send a line to the process that impairs packets, and return its answer.

        Raises:
            ImposingError: it has ended instead, and no impairment is in force any more.
        """
        process = self._process
        if process is None:
            raise ImposingError("nothing is imposed")
        orders, answers = _pipes(process)
        with contextlib.suppress(BrokenPipeError):
            orders.write(f"{line}\n")
            orders.flush()
        if not select.select([answers], [], [], ANSWER_TIMEOUT_S)[0]:
            raise ImposingError(self._end_process("the process that imposes does not answer"))
        try:
            return record_from_json(answers.readline().rstrip("\n"))
        except RecordError as error:
            raise ImposingError(self._end_process(str(error))) from None

    def _end_process(self, otherwise: str) -> str:
        """End the process, which removes all impairments, and return its error message, or
        `otherwise` if it has none.
        """
        process, self._process = self._process, None
        if process is None:
            return otherwise
        try:
            _, why = process.communicate(timeout=ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # It is not killed, so that it can still undo its changes.
            return "the process that imposes does not end"
        return _last_line(why) if process.returncode != 0 else otherwise


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process that imposes needs pipes for its orders and answers")
    return process.stdin, process.stdout


def _last_line(complaint: str) -> str:
    lines = complaint.strip().splitlines() or ["the process that imposes was killed"]
    return lines[-1].removeprefix("netwarp-endpoint: ")


def _without_zone(address: str) -> str:
    """Return an IPv6 address without its zone."""
    return address.partition("%")[0]
