"""The bottleneck of a path during a run: for how long it was sending, and how long packets take to
cross the path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from netwarp.measure.queueing import delay_at, rate_at, sent_bytes_at
from netwarp.units import NS_PER_S
from netwarp.wire import Calibration, Direction, Job, QueueSamples, Record

Way = Literal["content", "up", "both"]
"""One of: the direction of the content, the direction from client to server, both directions."""


@dataclass(frozen=True)
class Bottleneck:
    """The bottlenecks of all paths, in the direction of the content."""

    job: Job
    records: Sequence[Record]
    sampled: tuple[QueueSamples, ...]
    end_ns: int
    """When the run's last byte arrived."""

    @classmethod
    def of(cls, job: Job, records: Sequence[Record], end_ns: int) -> Bottleneck | None:
        """Return the bottlenecks of a run from its samples; None if it has no samples."""
        found = tuple(
            each
            for each in records
            if isinstance(each, QueueSamples) and each.direction == job.direction and each.at_ns
        )
        return cls(job, records, found, end_ns) if found else None

    def delay_ns(self, at_ns: int, way: Way) -> int:
        """Return the delay of the first path without queueing at a time, in ns."""
        asked: Mapping[Way, tuple[Direction, ...]] = {
            "content": (self.job.direction,), "up": ("up",), "both": ("up", "down"),
        }  # fmt: skip
        ways = asked[way]
        return sum(delay_at(self.job, self.records, 0, each)(at_ns) or 0 for each in ways)

    def moments(self, since_ns: int, until_ns: int) -> list[int]:
        """Return `since_ns`, the times after it at which bottlenecks were sampled, and `until_ns`,
        in ns of the run's clock; empty if `until_ns` is not after `since_ns`.
        """
        if until_ns <= since_ns:
            return []
        inner = {at for each in self.sampled for at in each.at_ns if since_ns < at < until_ns}
        return [since_ns, *sorted(inner), until_ns]

    def busy_ns(self, since_ns: int, until_ns: int) -> float:
        """Return for how long the bottleneck was sending between two times, in ns: the bits that it
        sent, divided by its rate.

        If there are several paths, it is the longest of their times, or their sum if the client
        moves from one to another. It is 0 if the rate is unlimited.
        """
        busy_ns = [self._busy_ns(each, since_ns, until_ns) for each in self.sampled]
        if self.job.timeline.has_handovers:
            return min(sum(busy_ns), until_ns - since_ns)
        return max(busy_ns)

    def _busy_ns(self, samples: QueueSamples, since_ns: int, until_ns: int) -> float:
        rate = rate_at(self.job, self.records, samples.path, self.job.direction)
        rate_bit_s = rate((since_ns + until_ns) // 2)
        if not rate_bit_s:
            return 0.0
        sent = self._sent_bytes(samples, until_ns) - self._sent_bytes(samples, since_ns)
        return 8 * sent * NS_PER_S / rate_bit_s

    def _sent_bytes(self, samples: QueueSamples, at_ns: int) -> float:
        """Return the bytes that a bottleneck had sent at a time, interpolated linearly between
        samples, and between the last one and the run's end, by which all were sent.
        """
        if at_ns < samples.at_ns[0]:
            return 0.0
        sent, last_ns = sent_bytes_at(samples, at_ns), samples.at_ns[-1]
        if at_ns <= last_ns:
            return sent
        passed = min(1.0, (at_ns - last_ns) / max(1, self.end_ns - last_ns))
        return sent + passed * max(0.0, self._whole_bytes(samples) - sent)

    def _whole_bytes(self, samples: QueueSamples) -> int:
        counted = (
            each.delivered_bytes
            for each in self.records
            if isinstance(each, Calibration)
            and (each.path, each.direction) == (samples.path, samples.direction)
        )
        return next(counted, samples.sent_bytes[-1])
