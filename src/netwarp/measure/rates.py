"""The rate of a link during a run."""

from netwarp.wire import Direction, Job, Rate


def constant_rate_bit_s(job: Job, index: int, direction: Direction) -> tuple[int | None, bool]:
    """Return the rate in bit/s of one direction of a link (None if it is unlimited), and whether it
    is constant throughout the run.
    """
    changed = [
        (event.path, event.change.direction)
        for event in job.timeline.events
        if isinstance(event.change, Rate)
    ]
    changed += [(trace.path, trace.direction) for trace in job.timeline.traces]
    path = job.paths[index]
    sent = path.down if direction == "down" else path.up
    return sent.rate_bit_s, (index, direction) not in changed
