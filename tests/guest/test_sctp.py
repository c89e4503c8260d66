"""SCTP's messages: several go over in one system call, and none of them loses its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from guest.lab import Measured, run_study_cells
from netwarp.wire import Transfer


def contents(run: Measured) -> list[tuple[int, int, str | None]]:
    """Give place, length and hash of each content, which both ends must agree on."""
    found = {
        side: [
            (record.chunk, record.bytes, record.sha256)
            for record in run.records
            if isinstance(record, Transfer) and record.side == side
        ]
        for side in ("server", "client")
    }
    assert sorted(found["server"]) == sorted(found["client"])
    return sorted(found["client"])


@pytest.mark.parametrize("loss", ["0%", "2%"])
def test_messages_of_any_size_arrive_whole(tmp_path: Path, loss: str) -> None:
    """Smaller than a packet, no divisor of the content, several times what is read at once."""
    sizes = ("512B", "5kB", "16KiB", "100kB")
    transports = [{"kind": "sctp", "max_message": size, "label": size} for size in sizes]
    path = {"rtt": "20ms", "rate": "50mbit", "loss": loss}
    runs = run_study_cells(tmp_path, path, transports=transports, size="1000003B")
    assert len({str(contents(run)) for run in runs}) == 1
    assert [length for _, length, _ in contents(runs[0])] == [1_000_003]


@pytest.mark.parametrize("direction", ["down", "up"])
def test_several_contents_follow_each_other_on_an_association(
    tmp_path: Path, direction: str
) -> None:
    """What was read ahead of one would be missing from the next."""
    path = {"rtt": "20ms", "rate": "50mbit"}
    (run,) = run_study_cells(
        tmp_path, path, transports=["sctp"], size="700001B", chunks=3, direction=direction
    )
    lengths = [length for _, length, _ in contents(run)]
    assert len(lengths) == 3
    assert sum(lengths) == 700_001
