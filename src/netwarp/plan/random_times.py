"""The random times of a replicate: when its clients start, and when outages and handovers occur.

Like seeds, they are hashes of their purpose and the replicate, so that all cells and transports of
a replicate have the same times.
"""

from __future__ import annotations

import json
from typing import Literal

from netwarp.plan.job_text import EVENTS, START
from netwarp.plan.seeds import Purpose, evenly_below, numbered
from netwarp.study.cells.design import Cell

_PURPOSES = {"handover": Purpose.HANDOVER, "outage": Purpose.OUTAGE}


def drawn_slots(cell: Cell) -> tuple[str, ...]:
    """Return the names of the slots in a cell's job that are filled with random times."""
    events = (EVENTS,) if cell.sections.path.has_random_times else ()
    jittered = enumerate(sections.workload.start_jitter_ns for sections in cell.of_each_workload)
    return events + tuple(numbered(START, index) for index, jitter_ns in jittered if jitter_ns)


def drawn_times(cell: Cell, study_seed: int, replicate: int) -> dict[str, int | str]:
    """Return the random times of a replicate of a cell, by the name of their slot."""
    sections = cell.sections

    def lateness(what: Literal["handover", "outage"], number: int, jitter_ns: int) -> int:
        return evenly_below(jitter_ns, study_seed, replicate, _PURPOSES[what], number)

    times: dict[str, int | str] = {}
    if sections.path.has_random_times:
        events = [event.model_dump(mode="json") for event in sections.events_of_replicate(lateness)]
        times[EVENTS] = json.dumps(events, sort_keys=True, separators=(",", ":"))
    starts_ns = [each.start_ns for each in cell.workloads] or [0]
    for index, (each, start_ns) in enumerate(zip(cell.of_each_workload, starts_ns, strict=True)):
        if jitter_ns := each.workload.start_jitter_ns:
            # A workload draws the same time whether other workloads run beside it or not.
            place = cell.workloads[index].index if cell.workloads else 0
            of_place = (place,) if place else ()
            drawn_ns = evenly_below(jitter_ns, study_seed, replicate, Purpose.START, *of_place)
            times[numbered(START, index)] = start_ns + drawn_ns
    return times
