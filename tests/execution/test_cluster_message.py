"""What a worker sends back: it comes out as it went in, and nothing else comes out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

msgpack = pytest.importorskip("msgpack")

from netwarp.execution import Outcome  # noqa: E402
from netwarp.execution.cluster import message  # noqa: E402
from netwarp.execution.cluster.message import (  # noqa: E402
    FinishedRun,
    MessageError,
    Refused,
    pack,
    read_files,
    unpack,
)
from netwarp.file_trees import temporary_directory  # noqa: E402
from netwarp.run_status import Status  # noqa: E402

OK = Status("ok", None, 0.1, 0.1, 1 << 20, 2.0)
FINISHED = FinishedRun(
    {"job.json": b"{}", "kept/a.bin": bytes(range(256))}, Outcome(OK, {"rtt_ms": 0.1})
)
NO_FINISHED_RUNS: list[object] = [
    1,
    {"files": {}, "metrics": {}},
    {"files": {}, "metrics": {}, "status": {"outcome": "ok"}},
    {"files": {"a": "text"}, "metrics": {}, "status": OK.to_json()},
    {"files": {}, "metrics": {"x": "y"}, "status": OK.to_json()},
    {"files": {}, "metrics": {}, "status": {**OK.to_json(), "outcome": "odd"}},
]


@pytest.mark.parametrize(
    "sent", [[FINISHED], [FINISHED] * 3, Refused("tls://10.0.0.1:4000", "no guest kernel")]
)
def test_a_message_comes_out_as_it_went_in(sent: list[FinishedRun] | Refused) -> None:
    assert unpack(pack(sent), most=3) == sent


def test_files_are_read_and_written_with_their_folders(tmp_path: Path) -> None:
    for place in ("there", "here"):
        (tmp_path / place).mkdir()
    FINISHED.write_files(tmp_path / "there")
    (tmp_path / "there" / "link").symlink_to("/etc/passwd")
    assert read_files(tmp_path / "there") == FINISHED.files, "and no link is followed"


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\xc1",
        b"cos\nsystem\n(S'true'\ntR.",  # a pickle
        msgpack.packb([1, 2]),
        msgpack.packb({"runs": {}}),
        msgpack.packb({"runs": []}),
        pack([FINISHED] * 3),  # of a batch of two
        *(msgpack.packb({"runs": [fields]}) for fields in NO_FINISHED_RUNS),
        *(
            msgpack.packb({"runs": [{"files": {name: b""}, "metrics": {}, "status": OK.to_json()}]})
            for name in ("", "/etc/x", "../x", "a/../../x", "a\0b", ".")
        ),
    ],
)
def test_anything_else_is_refused(packed: bytes) -> None:
    with pytest.raises(MessageError):
        unpack(packed, most=2)


def test_files_that_are_too_large_are_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message, "MOST_BYTES", 1 << 20)
    with (tmp_path / "capture.pcapng").open("wb") as file:
        file.truncate((1 << 20) + 1)
    with pytest.raises(MessageError, match="--executor local"):
        read_files(tmp_path)


@pytest.mark.parametrize(("name", "depth"), [("d" * 250, 30), ("d", 1600)])
def test_files_of_a_program_too_deep_to_send_fail_the_run_alone(
    tmp_path: Path, name: str, depth: int
) -> None:
    with temporary_directory("netwarp-", tmp_path) as place:
        here = os.open(place, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir(name, dir_fd=here)
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
        os.close(here)
        with pytest.raises(MessageError, match="cannot be sent"):
            read_files(place)
