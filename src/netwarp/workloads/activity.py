"""What a workload did over time, for charts: phases, concurrent activities, milestones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["grade", "start", "stopped", "moving"]
"""Kind of a phase for the user: content of some quality (`grade`), or a wait: for the first content
(`start`), because none is left (`stopped`), or after a seek (`moving`)."""


@dataclass(frozen=True)
class Phase:
    """A period in which a workload was in one state."""

    start_ns: int
    end_ns: int
    label: str


@dataclass(frozen=True)
class Item:
    """One of several concurrent activities, such as the load of a resource."""

    name: str
    phases: Sequence[Phase]
    """Phases in order of time, without overlap."""


@dataclass(frozen=True)
class Activity:
    """A workload's activity over time, for charts. Times are in ns of the run's clock."""

    title: str = ""
    """The actor, such as `The player`."""
    phases: Sequence[Phase] = ()
    """The phases in order of time, without overlap."""
    tones: Mapping[str, Tone] = field(default_factory=dict)
    """Tone by label of a phase; grades in order from the worst to the best."""
    buffered_ns: Sequence[tuple[int, int]] = ()
    """The play time buffered as the vertices of a line: time and level, both in ns."""
    jumps: Sequence[tuple[int, str]] = ()
    """Times of the viewer's seeks, each with a label of the new position."""
    items: Sequence[Item] = ()
    """Concurrent activities, in the order in which they are shown."""
    milestones: Sequence[tuple[int, str]] = ()
    """Times of milestones, with their names."""
