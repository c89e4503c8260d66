"""Checks that both ends of a file transfer have all bytes, and that these are the same."""

from collections.abc import Sequence

from netwarp.measure.select import leaves_file, of_kind, receiver, start_ns
from netwarp.measure.two_hosts import upload_refusal
from netwarp.wire import Bulk, Download, Job, Merged, Record, Transfer


def difference(job: Job, bulk: Bulk, records: Sequence[Record]) -> str | None:
    """Return how the records of the two ends contradict each other or the job; None if they do
    not.
    """
    if bulk.duration_ns is not None:
        return _difference_of_broken_off(job, bulk, records)
    wanted_bytes = bulk.content.size_bytes * bulk.transfers
    if leaves_file(job):
        # The endpoint, which has both files, has compared their hashes.
        left_bytes = sum(each.bytes for each in of_kind(records, Download))
        told = f"the client's program left {left_bytes} of {wanted_bytes} bytes"
        return None if left_bytes == wanted_bytes else told
    moved = of_kind(records, Transfer)
    moved.sort(key=lambda transfer: (transfer.transfer, transfer.chunk))
    for side in ("client", "server"):
        # A sender's record counts only its last piece, which follows the bytes that abandoned
        # connections had transferred.
        moved_bytes = sum(
            each.bytes + (0 if side == receiver(job) else each.resumed_at_bytes)
            for each in moved
            if each.side == side
        )
        if moved_bytes != wanted_bytes:
            return f"the {side} recorded {moved_bytes} of {wanted_bytes} bytes"
    if bulk.verify and not _same_hashes(job, moved):
        return "what was received is not what was sent (SHA-256)"
    if bulk.merge:
        merged = [each.transfer for each in of_kind(records, Merged) if _is_whole(each, bulk)]
        if merged != list(range(bulk.transfers)):
            return f"{len(merged)} of {bulk.transfers} transfers were put together to a whole file"
    if job.direction == "up":
        end_ns = max(each.last_byte_ns for each in moved if each.side == "server")
        return upload_refusal(end_ns - start_ns(records), records)
    return None


def _is_whole(merged: Merged, bulk: Bulk) -> bool:
    """Return whether a merged file has all chunks. The endpoint has already compared the file with
    the content.
    """
    return (merged.chunks, merged.bytes) == (bulk.chunks, bulk.content.size_bytes)


def _difference_of_broken_off(job: Job, bulk: Bulk, records: Sequence[Record]) -> str | None:
    """Return how a receiver's records of an aborted transfer contradict the job; None if they do
    not. The sender has no record.
    """
    came = [each for each in of_kind(records, Transfer) if each.side == receiver(job)]
    numbers = [each.chunk for each in came]
    # It may have been aborted before the server knew of a chunk, and even before it was connected.
    missing = set() if receiver(job) == "client" else set(range(bulk.chunks)).difference(numbers)
    if sorted([*numbers, *missing]) != list(range(bulk.chunks)):
        return f"the {receiver(job)} recorded {len(came)} of {bulk.chunks} chunks"
    came_bytes = sum(each.bytes for each in came)
    if came_bytes > bulk.content.size_bytes:
        return f"the {receiver(job)} recorded {came_bytes} of {bulk.content.size_bytes} bytes"
    return None


def _same_hashes(job: Job, moved: Sequence[Transfer]) -> bool:
    """Return whether both ends hashed the same bytes.

    A sender that sent only the rest of a chunk has no hash of the whole chunk. Then the endpoint
    has already compared the receiver's hash with that of the source.
    """
    at_receiver = {(each.transfer, each.chunk): each.sha256 for each in moved
                   if each.side == receiver(job)}  # fmt: skip
    if None in at_receiver.values():
        return False
    in_pieces = job.timeline.has_handovers and job.only.transport.reconnect == "new"
    return all(
        each.sha256 == at_receiver.get((each.transfer, each.chunk))
        or (each.sha256 is None and in_pieces)
        for each in moved
    )
