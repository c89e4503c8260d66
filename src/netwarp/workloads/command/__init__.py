"""The workload `command`: unmodified programs of the host, a server and a client."""

from collections.abc import Sequence

from netwarp import wire
from netwarp.measure.metric import Metric
from netwarp.measure.printed import printed_metric
from netwarp.measure.run_records import Arrival, RunRecords
from netwarp.measure.select import of_kind
from netwarp.wire import Command, Exchange, Job, Program, Record
from netwarp.workloads.base import Reads, ServerCommand, Workload
from netwarp.workloads.command.dates import START_DATE
from netwarp.workloads.command.metrics import COMMAND_METRICS
from netwarp.workloads.command.printed import NothingPrintedError, printed_value, program_of
from netwarp.workloads.command.section import CommandSection, command_text


class CommandWorkload(Workload[wire.Command]):
    """Unmodified programs. netwarp knows only when they ran, and what they printed."""

    section = CommandSection
    wire_type = wire.Command
    metrics = COMMAND_METRICS

    has_sockets_of_programs = True

    def further_hosts(self, exchange: Exchange) -> tuple[str, ...]:
        """Return the hosts, besides client and server, on which the study has programs."""
        programs = exchange.workload.programs if isinstance(exchange.workload, Command) else ()
        return tuple(each.host for each in programs)

    def dials(self, job: Job) -> bool:
        """Return False: the programs open their own sockets."""
        return False

    def runs_programs(self, job: Job) -> bool:
        """Return True: the programs are not netwarp's."""
        return True

    def real_time_refusal(self, job: Job) -> str | None:
        """Return the reason why the workload cannot run in real time: the study sets a start date,
        or exact coarse clocks. None if it can.
        """
        command = self.of(job)
        if command.exact_coarse_clocks:
            return "its clocks are the machine's: drop coarse_clocks"
        if command.start_date_s == int(START_DATE.timestamp()):
            return None
        return "the clock is the machine's, so programs start today: drop start_date"

    def reads(self, job: Job) -> Reads:
        """Return the commands of all programs, and the directory in which they start."""
        command = self.of(job)
        values = (variable.value for variable in command.environment)
        further = (word for program in command.programs for word in program.command)
        words = (*command.server, *command.client, *further, *values)
        return Reads(words, command.working_directory)

    def server_refusal(self, job: Job) -> str | None:
        """Return the reason why a server refuses the workload: its programs share files. None if
        they do not. Whether a command may run at all is for the server's owner to decide.
        """
        return "two hosts share no files: drop shared" if self.of(job).shared else None

    def server_command(self, job: Job) -> ServerCommand:
        """Return the command of the server's program, and the port at which it is ready once a
        socket listens there, if the study names one.
        """
        command = self.of(job)
        port = command.ready.port if isinstance(command.ready, wire.Listening) else None
        return ServerCommand(command_text(command.server), port)

    def own_metrics(self, job: Job) -> tuple[Metric, ...]:
        """Return the metrics that the study defines, which are numbers in the programs' output."""
        return tuple(_metric(rule) for rule in self.of(job).metrics)

    def memory_bytes(self, job: Job) -> int:
        """Return the memory of the programs in bytes, including files that they write."""
        return self.of(job).memory_bytes

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return the time at which the client's program was started; 0 if it has no record."""
        clients = (each for each in of_kind(records, Program) if each.side == "client")
        return min((each.started_ns for each in clients), default=0)

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return an empty list: only the programs know what arrived."""
        return ()

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return the time at which the client's program ended; 0 if it has no record."""
        clients = (each for each in of_kind(records, Program) if each.side == "client")
        return max((each.ended_ns for each in clients), default=0)

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return which record, or which number in the programs' output, is missing; None if none
        is.
        """
        sides: tuple[wire.Side, ...] = ("client", "server")
        for side in sides:
            if program_of(job, records, side) is None:
                return f"the {side}'s program has no record"
        for program in self.of(job).programs:
            if program_of(job, records, "server", program.host) is None:
                return f"the program of {program.host} has no record"
        try:
            for rule in self.of(job).metrics:
                printed_value(rule, job, records)
        except NothingPrintedError as error:
            return str(error)
        return None

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return the time at which the last program ended."""
        return max((each.ended_ns for each in of_kind(records, Program)), default=None)


def _metric(rule: wire.PrintedMetric) -> Metric:
    """Return the metric for a number that is read from a program's output."""

    def measure(run: RunRecords) -> float:
        return printed_value(rule, run.job, run.records)

    metric = printed_metric(rule.name, measure)
    if metric is None:
        raise ValueError(f"{rule.name} does not end in a unit")
    return metric
