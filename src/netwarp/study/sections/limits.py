"""The section `[limits]` of a study: when a run is aborted."""

from typing import Annotated

from pydantic import Field

from netwarp.fields import Kind, Section

Seconds = Annotated[
    int, Field(ge=1, le=10**9, strict=True), Kind("a whole number of seconds from 1 to 1000000000")
]


class LimitsSection(Section):
    """Limits beyond which a run is aborted as failed."""

    virtual_s: Seconds = 86_400
    """Time in seconds of the run's own clock after which a run has failed."""
    stall_cpu_s: Seconds = 120
    """CPU time in seconds after which a run has failed if its clock has not moved during it."""
