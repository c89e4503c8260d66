"""Compares the programs of two machines, because records belong to one study only if they come from
the same programs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netwarp.backends.virtual import VirtualBackend

_PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Programs:
    """The programs with which a machine carries out runs, identified by their hashes."""

    netwarp: str
    """Hash of the Python sources, which judge records and compute metrics."""
    kernel: str
    endpoint: str

    def to_json(self) -> dict[str, str]:
        """Return the fields by name."""
        return asdict(self)

    def difference(self, other: Programs) -> str | None:
        """Return a sentence on the first program that is different on the other machine, with the
        remedy; None if none is.
        """
        if self.netwarp != other.netwarp:
            return "its netwarp has other sources: install the same one on both machines"
        if self.kernel != other.kernel:
            return (
                "its guest kernel is another build: copy the folder that"
                " ~/.cache/netwarp/kernel/current links to, and name it with NETWARP_KERNEL=DIR"
            )
        if self.endpoint != other.endpoint:
            return (
                "its netwarp-endpoint is another build: copy the program, and name it with"
                " NETWARP_ENDPOINT=FILE"
            )
        return None


def programs_of(backend: VirtualBackend) -> Programs:
    """Return the hashes of this machine's programs."""
    return Programs(
        netwarp=_sources_sha256(),
        kernel=_file_sha256(backend.kernel.linux),
        endpoint=_file_sha256(backend.endpoint),
    )


@cache
def _sources_sha256() -> str:
    digest = sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(_PACKAGE)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
