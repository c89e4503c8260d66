"""One workload of a cell that has several."""

from dataclasses import dataclass

from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.network_of_layout import Between


@dataclass(frozen=True)
class NamedWorkload:
    """One of several workloads of a cell."""

    name: str
    index: int
    """Index of the workload in the study, on which its random numbers depend."""
    sections: CellSections
    """The sections of a cell that has only this workload."""
    start_ns: int
    port: int
    between: Between | None
    """The hosts between which the workload runs; None if there is one client and one server."""
    group: str | None = None
    """The name of the table in the study that defines this and other workloads, one for each of
    several hosts; None if it defines only this one."""

    @property
    def known_as(self) -> str:
        """The workload's name in the study. Workloads between several hosts can have the same
        one.
        """
        return self.group or self.name
