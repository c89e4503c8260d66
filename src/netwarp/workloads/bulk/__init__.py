"""The workload `bulk`: transfers one file at full rate, once or several times."""

from collections.abc import Sequence

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.measure.run_records import Arrival
from netwarp.measure.select import connections, leaves_file, of_kind, of_transfer, received
from netwarp.regular_files import UnreadableFileError
from netwarp.wire import Download, FileContent, Job, Record, Transfer
from netwarp.workloads.base import GUEST_MEMORY_BYTES, NO_FILES, FileSize, Reads, Workload
from netwarp.workloads.bulk import verdict
from netwarp.workloads.bulk.metrics import BULK_METRICS
from netwarp.workloads.bulk.section import BulkSection
from netwarp.workloads.bulk.simulated import SIMULATED

MOST_SERVED_CHUNKS = 100
MOST_SERVED_TRANSFERS = 100
"""Largest number of transfers that a server accepts in a run from another host."""


class BulkWorkload(Workload[wire.Bulk]):
    """Transfer of a file, once or several times; metrics are those of the run's last transfer."""

    section = BulkSection
    wire_type = wire.Bulk
    metrics = BULK_METRICS
    content_records = ("transfer", "download")
    simulated = SIMULATED

    def with_file_size(self, workload: wire.Bulk, size_of: FileSize) -> wire.Bulk:
        """Return the workload with the size of the file in bytes, if it sends a file."""
        if not isinstance(workload.content, FileContent):
            return workload
        key, name = "workload.file", workload.content.path
        try:
            size_bytes = size_of(name)
        except UnreadableFileError as error:
            raise KeyValueError(key, name, error.reason, "name a readable file") from None
        if size_bytes == 0:
            raise KeyValueError(key, name, "the file is empty", "name one with content")
        if workload.chunks > size_bytes:
            reason = f"a file of {size_bytes} bytes has no {workload.chunks} parts"
            raise KeyValueError(key, name, reason, "choose fewer chunks or a larger file")
        content = workload.content.model_copy(update={"size_bytes": size_bytes})
        return workload.model_copy(update={"content": content})

    def memory_bytes(self, job: Job) -> int:
        """Return a guest's memory in bytes: more if programs write the content to files."""
        if not leaves_file(job):
            return super().memory_bytes(job)
        # The files sent and received are in a tmpfs layer, which can take half of the memory.
        content_bytes = self.of(job).content.size_bytes
        return GUEST_MEMORY_BYTES + (4 * content_bytes >> 20 << 20)

    def runs_programs(self, job: Job) -> bool:
        """Return whether the transfer is carried out by programs that have the QUIC interop
        runner's interface.
        """
        return leaves_file(job)

    def reads(self, job: Job) -> Reads | None:
        """Return the file that is sent, and the program that sends it if that is not netwarp's."""
        content, stack = self.of(job).content, super().reads(job)
        if not isinstance(content, FileContent):
            return stack
        return Reads((content.path, *(stack.texts if stack else ())))

    def dials(self, job: Job) -> bool:
        """Return whether netwarp itself opens the connections, so that they are in the records."""
        return not leaves_file(job)

    def content_bytes(self, job: Job) -> int:
        """Return the size of the content of all transfers of a run, in bytes."""
        bulk = self.of(job)
        return bulk.content.size_bytes * bulk.transfers

    def server_refusal(self, job: Job) -> str | None:
        """Return the reason why a server refuses the workload: it sends a file, or has too many
        chunks or transfers. None if it accepts it.
        """
        bulk = self.of(job)
        if isinstance(bulk.content, FileContent):
            return NO_FILES
        if bulk.chunks > MOST_SERVED_CHUNKS:
            return f"it has {bulk.chunks} chunks, and a server allows {MOST_SERVED_CHUNKS}"
        if bulk.transfers > MOST_SERVED_TRANSFERS:
            return f"it has {bulk.transfers} transfers, and a server allows {MOST_SERVED_TRANSFERS}"
        return None

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return when the client first called connect, or when its program was started; 0 if the
        transfer ended before it was connected.
        """
        left = of_kind(records, Download)
        if left:
            return left[0].started_ns
        return super().start_ns(records) if connections(records, "client") else 0

    def breaks_off(self, job: Job) -> bool:
        """Return whether the transfer is aborted after a given time."""
        return self.of(job).duration_ns is not None

    def measured(self, job: Job, records: Sequence[Record]) -> Sequence[Record]:
        """Return the records of the run's last transfer, or those of the programs that carried it
        out.
        """
        if leaves_file(job):
            return of_kind(records, Download)
        return of_transfer(records, self.of(job).transfers - 1)

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return the transfers as the receiver recorded them, or the file that its program
        wrote.
        """
        return of_kind(records, Download) if leaves_file(job) else received(job, records)

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the transfer ended: with the last byte at the receiver, with the end of its
        program, or with the abort.
        """
        if leaves_file(job):
            return max(each.ended_ns for each in of_kind(records, Download))
        bulk, came = self.of(job), received(job, records)
        last_ns = max((transfer.last_byte_ns for transfer in came), default=0)
        if bulk.duration_ns is None or sum(each.bytes for each in came) == bulk.content.size_bytes:
            return last_ns
        # The abort counts, not the last byte: afterwards other workloads may have used the path.
        return max(last_ns, self.start_ns(records) + bulk.duration_ns)

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return how the records of the two ends contradict each other or the job; None if they do
        not.
        """
        return verdict.difference(job, self.of(job), records)

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return the time at which both ends had finished: with the last byte at the receiver, or
        its acknowledgement at the sender.
        """
        ends = [each.last_byte_ns for each in of_kind(records, Transfer)]
        ends += [each.ended_ns for each in of_kind(records, Download)]
        return max(ends, default=None)
