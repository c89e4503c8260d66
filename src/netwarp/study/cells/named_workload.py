"""One workload of a cell that has several."""

from dataclasses import dataclass

from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.network_of_layout import Between


@dataclass(frozen=True)
class NamedWorkload:
    """One of several workloads of a cell."""

    name: str
    index: int
    """Number of the workload in the study, from 0, which makes its random numbers different from
    those of others.
    """
    sections: CellSections
    """The sections of a cell with this workload alone."""
    start_ns: int
    port: int
    between: Between | None
    """Hosts of the workload; None if there is one client and one server."""
    group: str | None = None
    """The name in the study of the table that stands for this and other workloads, one for each of
    several hosts; None if it stands for this one alone.
    """

    @property
    def known_as(self) -> str:
        """The workload's name in the study; workloads between several hosts can have the same."""
        return self.group or self.name
