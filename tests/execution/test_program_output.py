"""What programs print is passed on from regular files alone, and a piece at a time."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from netwarp.execution import program_output
from netwarp.execution.program_output import following
from netwarp.run_directory import RunDirectory

RUN = "c000-r00"


def partial(place: Path) -> Path:
    """Make the directory of a run that goes on."""
    directory = RunDirectory(place)
    directory.runs.mkdir(parents=True)
    return directory.begin(RUN)


def passed_on(place: Path) -> tuple[bytes, bytes]:
    """Follow a run that ends at once."""
    out, err = io.BytesIO(), io.BytesIO()
    with following(place, RUN, (out, err)):
        pass
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("plant", ["link", "fifo", "stdin"])
def test_what_is_planted_as_output_is_not_followed(tmp_path: Path, plant: str) -> None:
    """A FIFO would be waited for, and a link leads to the user's input or to any file."""
    (tmp_path / "secret").write_text("another file's content")
    run = partial(tmp_path / "out")
    planted = run / "client.stdout"
    if plant == "fifo":
        os.mkfifo(planted)
    else:
        planted.symlink_to("/proc/self/fd/0" if plant == "stdin" else tmp_path / "secret")
    (run / "client.stderr").write_bytes(b"printed")
    assert passed_on(tmp_path / "out") == (b"", b"printed")


def test_output_is_read_piece_by_piece(tmp_path: Path) -> None:
    pieces: list[int] = []

    class Sink(io.BytesIO):
        def write(self, content: bytes, /) -> int:  # type: ignore[override]
            pieces.append(len(content))
            return super().write(content)

    content = os.urandom(5 * program_output.READ_BYTES + 7)
    (partial(tmp_path / "out") / "client.stdout").write_bytes(content)
    sink = Sink()
    with following(tmp_path / "out", RUN, (sink, io.BytesIO())):
        pass
    assert sink.getvalue() == content
    assert max(pieces) <= program_output.READ_BYTES
