"""A workload of a cell that has several."""

from dataclasses import dataclass

from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.network_of_layout import Between


@dataclass(frozen=True)
class NamedWorkload:
    """One of several workloads of a cell."""

    name: str
    index: int
    """The workload's number in the study, from 0, by which its random numbers are told apart."""
    sections: CellSections
    """The sections of a cell with this workload alone."""
    start_ns: int
    port: int
    between: Between | None
    """Its hosts; None where there is one client and one server."""
    group: str | None = None
    """The workload's name in the study, if that is one for each of several hosts."""

    @property
    def known_as(self) -> str:
        """Its name in the study, which several have if they are between several hosts."""
        return self.group or self.name
