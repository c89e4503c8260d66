"""Whether a run did what was asked: the records against the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.metrics.select import connections, of_kind, receiver
from netwarp.wire import Bulk, End, Failure, PlayEnd, Player, Segment, Transfer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Job, Record, Stream


def failure_from_records(job: Job, records: Sequence[Record]) -> Failure | None:
    """Say why a run failed, or None when all that was asked happened.

    What the records claim is checked against the job: both ends moved all bytes, and the same ones;
    every segment is one of the medium's, and the viewer watched to the end.
    """
    end = records[-1] if records else None
    if not isinstance(end, End):
        return Failure(stage="endpoint", message="the records stop before the run's end")
    if end.failure is not None:
        return end.failure
    if isinstance(job.workload, Bulk):
        message = _bulk_difference(job, job.workload, records)
    else:
        message = _stream_difference(job.workload, records)
    if message is not None:
        return Failure(stage="verify", message=message)
    if not connections(records, "client"):
        return Failure(stage="client", message="the client recorded no connection")
    return None


def _bulk_difference(job: Job, workload: Bulk, records: Sequence[Record]) -> str | None:
    wanted_bytes = workload.content.size_bytes * workload.transfers
    moved = of_kind(records, Transfer)
    moved.sort(key=lambda transfer: (transfer.transfer, transfer.chunk))
    for side in ("client", "server"):
        # A sender's record is of its last piece: what given up connections carried is before it.
        moved_bytes = sum(
            each.bytes + (0 if side == receiver(job) else each.resumed_at_bytes)
            for each in moved
            if each.side == side
        )
        if moved_bytes != wanted_bytes:
            return f"the {side} recorded {moved_bytes} of {wanted_bytes} bytes"
    if workload.verify and not _same_hashes(job, moved):
        return "what was received is not what was sent (SHA-256)"
    return None


def _same_hashes(job: Job, moved: Sequence[Transfer]) -> bool:
    """Whether both ends hashed the same bytes.

    A sender that was asked for the rest of a chunk has no hash of all of it: there the endpoint
    held the receiver's against the original.
    """
    at_receiver = {(each.transfer, each.chunk): each.sha256 for each in moved
                   if each.side == receiver(job)}  # fmt: skip
    if None in at_receiver.values():
        return False
    in_pieces = job.timeline.has_handovers and job.transport.reconnect == "new"
    return all(
        each.sha256 == at_receiver.get((each.transfer, each.chunk))
        or (each.sha256 is None and in_pieces)
        for each in moved
    )


def _stream_difference(workload: Stream, records: Sequence[Record]) -> str | None:
    segments = of_kind(records, Segment)
    if not segments:
        return "the player got no segment"
    for each in segments:
        if difference := _segment_difference(workload, each):
            return f"segment {each.segment} (request {each.request}) {difference}"
    actions = [player.action for player in of_kind(records, Player)]
    ends = sum(isinstance(action, PlayEnd) for action in actions)
    if ends != 1 or not isinstance(actions[-1], PlayEnd):
        return "the player did not say, as its last word, that the viewer had seen enough"
    return None


def _segment_difference(workload: Stream, segment: Segment) -> str | None:
    if segment.segment >= workload.segments:
        return f"is not in the medium of {workload.segments}"
    if segment.quality >= len(workload.qualities):
        return f"has quality {segment.quality} of {len(workload.qualities)}"
    wanted_bytes = workload.qualities[segment.quality].segment_bytes
    if segment.bytes != wanted_bytes:
        return f"has {segment.bytes} of {wanted_bytes} bytes"
    if workload.verify and segment.sha256 is None:
        return "was not hashed, and was to be"
    return None
