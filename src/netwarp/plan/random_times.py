"""The times that a replicate draws: when its client begins, and when the paths change.

Like seeds they are hashed from what they are for, and neither cell nor transport enters.
"""

from __future__ import annotations

import json
from typing import Literal

from netwarp.plan.job_text import EVENTS, START
from netwarp.plan.seeds import Purpose, evenly_below
from netwarp.study.cells.spec import CellSpec

_PURPOSES = {"handover": Purpose.HANDOVER, "outage": Purpose.OUTAGE}


def drawn_slots(spec: CellSpec) -> tuple[str, ...]:
    """Give the slots of a cell's job that random times fill."""
    events = (EVENTS,) if spec.path.has_random_times else ()
    start = (START,) if spec.workload.start_jitter_ns else ()
    return events + start


def drawn_times(spec: CellSpec, study_seed: int, replicate: int) -> dict[str, int | str]:
    """Give what a replicate of a cell puts into those slots."""

    def lateness(what: Literal["handover", "outage"], number: int, jitter_ns: int) -> int:
        return evenly_below(jitter_ns, study_seed, replicate, _PURPOSES[what], number)

    times: dict[str, int | str] = {}
    if spec.path.has_random_times:
        events = [event.model_dump(mode="json") for event in spec.events_of_replicate(lateness)]
        times[EVENTS] = json.dumps(events, sort_keys=True, separators=(",", ":"))
    if jitter_ns := spec.workload.start_jitter_ns:
        times[START] = evenly_below(jitter_ns, study_seed, replicate, Purpose.START)
    return times
