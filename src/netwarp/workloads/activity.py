"""What a workload did over time, for charts: states, concurrent activities, and milestones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["grade", "start", "stopped", "moving"]
"""Kind of a phase, which decides its colour in charts: content of some quality (`grade`), or a
wait: for the first content (`start`), because none is left (`stopped`), or after a seek (`moving`).
"""


@dataclass(frozen=True)
class Phase:
    """A period in which a workload was in one state."""

    start_ns: int
    end_ns: int
    label: str


@dataclass(frozen=True)
class Item:
    """One of several concurrent activities, such as the load of one resource."""

    name: str
    phases: Sequence[Phase]
    """Phases in order of time, without overlap."""


@dataclass(frozen=True)
class Activity:
    """A workload's activity over time, for charts. Times are in ns of the run's clock."""

    title: str = ""
    """What was active, such as `The player`."""
    phases: Sequence[Phase] = ()
    """The phases in order of time, without overlap."""
    tones: Mapping[str, Tone] = field(default_factory=dict)
    """Tone by the label of a phase; the labels of grades are in order from the worst to the
    best.
    """
    buffered_ns: Sequence[tuple[int, int]] = ()
    """Buffered play time over time, as the vertices of a line: time of the run's clock and play
    time, both in ns.
    """
    jumps: Sequence[tuple[int, str]] = ()
    """Times of the viewer's seeks, each with a label of the new position."""
    items: Sequence[Item] = ()
    """Concurrent activities, such as loads of resources, in the order in which they are shown."""
    milestones: Sequence[tuple[int, str]] = ()
    """Times of milestones, with their names."""
