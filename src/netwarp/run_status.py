"""The status of a run: how it ended, and the time and memory that it used on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from netwarp.errors import one_line

OutcomeName = Literal["ok", "failed"]
MOST_REASON_CHARACTERS = 2000


@dataclass(frozen=True)
class Status:
    """The outcome of a run on the host, with its times (s) and its memory (bytes).

    These values may differ from one execution to the next; values that must not are in the records.
    """

    outcome: OutcomeName
    reason: str | None
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    virtual_s: float
    records_sha256: str | None = None
    """Hash of the run's records when it ended; None if none were kept, and in directories that are
    older than this field.
    """

    def __post_init__(self) -> None:
        """Make the reason one line that a terminal can show, because it may come from a program, a
        server, or a run directory of somebody else.
        """
        if self.reason is not None:
            object.__setattr__(self, "reason", one_line(self.reason, MOST_REASON_CHARACTERS))

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, for ``status.json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Status:
        """Return a status with the fields of a ``status.json``.

        Raises:
            TypeError: the fields are not those of a status.
        """
        if not isinstance(fields.get("reason"), str | None):
            raise TypeError("the reason of a failure is a text")
        status = cls(**fields)
        _ = status.virtual_s + status.wall_s + status.cpu_s + status.peak_rss_bytes
        if status.outcome not in ("ok", "failed"):
            raise TypeError(f"a run ends ok or failed, not {status.outcome!r}")
        return status
