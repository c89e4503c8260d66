"""The answers of workers, encoded as MessagePack: files, status and metrics of each run.

Nothing is unpickled here, and a message is refused if a file's path lies outside of the run's
directory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgpack

from netwarp.errors import one_line
from netwarp.execution.outcome import Outcome
from netwarp.measure.compact_values import CompactValues
from netwarp.run_directory import JOB_FILE
from netwarp.run_status import Status

MOST_BYTES = 1 << 28
"""Maximum number of bytes of the files of one run. A packet capture of a long transfer may be
larger, and is refused."""


class MessageError(ValueError):
    """A worker's answer is not a valid message."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that ended, successfully or not."""

    files: Mapping[str, bytes]
    """The contents of the run's files, by path relative to the run's directory."""
    outcome: Outcome

    @property
    def size_bytes(self) -> int:
        """Size of all files of the run together, in bytes."""
        return sum(map(len, self.files.values()))

    def write_files(self, directory: Path) -> None:
        """Write the run's files into its directory, which exists and is empty."""
        for name, content in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@dataclass(frozen=True)
class Refused:
    """The answer of a worker that refuses to carry out runs of this study, with the reason."""

    worker: str
    """Address of the worker, in Dask's form."""
    reason: str


def lost_run(job_json: str, reason: str) -> FinishedRun:
    """Return a run that counts as failed because it was lost; it has only its job and the
    reason.
    """
    status = Status("failed", one_line(reason), 0.0, 0.0, 0, 0.0)
    return FinishedRun({JOB_FILE: job_json.encode()}, Outcome(status, {}))


def read_files(directory: Path) -> dict[str, bytes]:
    """Return the contents of all regular files of a run's directory, by path.

    Raises:
        MessageError: the files are too large to send, or have paths that are too long or too deep.
    """
    try:
        return _read_files(directory)
    except (OSError, RecursionError) as error:
        why = getattr(error, "strerror", None) or "too many directories in each other"
        raise MessageError(f"its files cannot be sent: {why}") from None


def _read_files(directory: Path) -> dict[str, bytes]:
    files = {
        path.relative_to(directory).as_posix(): path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
    size_bytes = sum(path.stat().st_size for path in files.values())
    if size_bytes > MOST_BYTES:
        raise MessageError(
            f"its files take {size_bytes >> 20} MiB, and a cluster's worker sends"
            f" {MOST_BYTES >> 20} MiB of a run at most: run it with --executor local"
        )
    return {name: path.read_bytes() for name, path in files.items()}


def pack(answer: Sequence[FinishedRun] | Refused) -> bytes:
    """Encode a worker's answer to a batch."""
    if isinstance(answer, Refused):
        fields: dict[str, Any] = {"worker": answer.worker, "refused": answer.reason}
    else:
        fields = {"runs": [_fields(run) for run in answer]}
    packed: bytes = msgpack.packb(fields)
    return packed


def unpack(packed: bytes, most: int) -> list[FinishedRun] | Refused:
    """Decode a worker's answer to a batch.

    Args:
        packed: the message.
        most: number of runs in the batch.

    Returns:
        The results of the first runs of the batch, at least of one; or the worker's refusal.

    Raises:
        MessageError: it is not a valid message.
    """
    try:
        fields = msgpack.unpackb(packed)
        if "refused" in fields:
            return Refused(_typed(fields["worker"], str), _typed(fields["refused"], str))
        runs = [_finished(each) for each in _typed(fields["runs"], list)]
    except (ValueError, TypeError, KeyError, AttributeError, msgpack.UnpackException) as error:
        raise MessageError(f"a worker sent what is no finished run ({error})") from None
    if not 1 <= len(runs) <= most:
        raise MessageError(f"a worker sent {len(runs)} finished runs of a batch of {most}")
    return runs


def _fields(run: FinishedRun) -> dict[str, Any]:
    return {
        "files": dict(run.files),
        "status": run.outcome.status.to_json(),
        "metrics": dict(run.outcome.metrics),
    }


def _finished(fields: Mapping[str, Any]) -> FinishedRun:
    files = {_relative_path(name): _typed(each, bytes) for name, each in fields["files"].items()}
    metrics = {_typed(name, str): float(value) for name, value in fields["metrics"].items()}
    return FinishedRun(files, Outcome(Status.from_json(fields["status"]), CompactValues(metrics)))


def _relative_path(name: Any) -> str:
    """Return a path, if it does not leave the directory to which it is relative; else raise
    MessageError.
    """
    parts = PurePosixPath(_typed(name, str)).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise ValueError(f"{name!r} is not inside a run's directory")
    return str(name)


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__} in place of a {kind.__name__}")
    return value
