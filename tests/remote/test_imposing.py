"""The process that imposes what a study asks for: it is there for as long as it is wanted."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.remote.imposing import Imposer, ImposingError, Receiver
from netwarp.backends.remote.messages import Ended, Lift, Lifted, Run, Running, Stop
from netwarp.wire import Calibration, Imposed, Job, job_from_json, job_to_json, read_records
from remote.conftest import Running as RunningServer
from remote.conftest import Starter
from remote.jobs import job

GOLDEN = Path(__file__).parents[1] / "golden"
PATIENCE_S = 10.0
IMPOSED, COUNTED = [
    line
    for line in (GOLDEN / "records-remote.jsonl").read_text().splitlines()
    if '"direction":"up"' in line
]


def impaired(*directions: str) -> Job:
    """Give a job that impairs some directions and not the others."""
    impaired = job_from_json((GOLDEN / "job-bulk-tcp-impaired.json").read_text())
    impairments = impaired.paths[0].down.model_copy(update={"corrupt_ratio": 0.0})
    plain = job()
    path = plain.paths[0].model_copy(update=dict.fromkeys(directions, impairments))
    return plain.model_copy(update={"paths": (path,)})


def program(place: Path, text: str) -> Path:
    """Give a program that takes the place of the endpoint."""
    file = place / "endpoint"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def imposing(place: Path) -> str:
    """Give what stands for `netwarp-endpoint impose`: it leaves a file when all is undone."""
    return f"""
        read -r job && echo '{IMPOSED}'
        while read -r order && [ "$order" = count ]; do echo '{COUNTED}'; done
        touch {place}/undone
    """


def imposer(place: Path, text: str) -> Imposer:
    return Imposer(Receiver(program(place, text), "up", "192.0.2.9", "192.0.2.7", 4433))


def test_what_is_in_force_and_what_it_did_is_told_and_then_undone(tmp_path: Path) -> None:
    mine = imposer(tmp_path, imposing(tmp_path))
    mine.begin(impaired("up"))
    assert not (tmp_path / "undone").exists()
    mine.count()
    undone = mine.end()
    assert (tmp_path / "undone").exists()
    assert isinstance(undone.imposed, Imposed)
    assert isinstance(undone.calibration, Calibration)
    assert undone.failure is None
    assert mine.end() == undone  # it can be asked for again, and by whoever is last


def test_a_direction_that_is_left_alone_starts_nothing(tmp_path: Path) -> None:
    mine = imposer(tmp_path, f"touch {tmp_path}/started")
    mine.begin(impaired("down"))
    mine.count()
    assert mine.end().records == []
    assert not (tmp_path / "started").exists()


def test_what_cannot_be_imposed_is_told_in_the_words_of_who_tried(tmp_path: Path) -> None:
    mine = imposer(tmp_path, "echo 'netwarp-endpoint: the kernel has no ifb' >&2; exit 1")
    assert mine.receiver.refusal() == "the kernel has no ifb"
    with pytest.raises(ImposingError, match="the kernel has no ifb"):
        mine.begin(impaired("up"))


@pytest.mark.parametrize("answer", ["nonsense", '{"record":"unheard"}', COUNTED])
def test_an_answer_that_is_none_is_refused(tmp_path: Path, answer: str) -> None:
    mine = imposer(tmp_path, f"read -r job; echo '{answer}'; cat > /dev/null")
    with pytest.raises(ImposingError):
        mine.begin(impaired("up"))
    assert mine.end().records == []


def test_what_was_wrong_with_the_count_or_the_end_is_a_failure(tmp_path: Path) -> None:
    for text in (
        f"read -r job; echo '{IMPOSED}'; read -r order; echo 'bundles of segments' >&2; exit 1",
        f"read -r job; echo '{IMPOSED}'; cat > /dev/null; echo 'bundles of segments' >&2; exit 1",
    ):
        mine = imposer(tmp_path, text)
        mine.begin(impaired("up"))
        if "order" in text:
            mine.count()
        assert mine.end().failure == "bundles of segments"


def test_it_is_undone_though_its_owner_is_killed(tmp_path: Path) -> None:
    """The owner is killed, with no chance to clean up: what it started sees the pipe close."""
    os.mkfifo(tmp_path / "undone.fifo")
    endpoint = program(tmp_path, f"{imposing(tmp_path)}\necho undone > {tmp_path}/undone.fifo")
    (tmp_path / "job.json").write_text(job_to_json(impaired("up")))
    owner = subprocess.Popen(
        [
            sys.executable, "-c",
            "import sys, time; from pathlib import Path\n"
            "from netwarp.backends.remote.imposing import Imposer, Receiver\n"
            "from netwarp.wire import job_from_json\n"
            "mine = Imposer(Receiver(Path(sys.argv[1]), 'up', '192.0.2.9', '192.0.2.7', 4433))\n"
            "mine.begin(job_from_json(Path(sys.argv[2]).read_text()))\n"
            "print('begun', flush=True)\n"
            "time.sleep(1000)\n",
            str(endpoint), str(tmp_path / "job.json"),
        ],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert owner.stdout is not None
    assert owner.stdout.readline() == "begun\n"
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert (tmp_path / "undone.fifo").read_text() == "undone\n"


def test_a_server_whose_owner_did_not_agree_imposes_nothing(server: RunningServer) -> None:
    connected = server.connect(server.paired())
    assert connected.welcome.missing_imposing is not None
    assert "--allow-netem" in connected.welcome.missing_imposing
    connected.channel.send(Run(job=job_to_json(impaired("up"))))
    with pytest.raises(Exception, match=r"a delay \(client to server\), without --allow-netem"):
        connected.channel.receive(Running, PATIENCE_S)
    connected.channel.close()


SERVES = """case "$1" in
  impose) case "$*" in *--check*) exit 0 ;; esac; {imposing} ;;
  confine) echo '{{"message":"ready","certificate":null}}' >&3; exec sleep 1000 ;;
esac"""


def test_a_server_imposes_until_it_is_told_to_lift_it(start: Starter, tmp_path: Path) -> None:
    server = start(program(tmp_path, SERVES.format(imposing=imposing(tmp_path))), allows_netem=True)
    connected = server.connect(server.paired())
    assert connected.welcome.missing_imposing is None
    channel = connected.channel
    channel.send(Run(job=job_to_json(impaired("up"))))
    channel.receive(Running, PATIENCE_S)
    channel.send(Stop())
    while not isinstance(channel.receive_any(PATIENCE_S), Ended):
        pass
    assert not (tmp_path / "undone").exists()
    channel.send(Lift())
    lifted = channel.receive(Lifted, PATIENCE_S)
    assert (tmp_path / "undone").exists()
    expected = [each for each in read_records(GOLDEN / "records-remote.jsonl")
                if isinstance(each, Imposed | Calibration) and each.direction == "up"]  # fmt: skip
    assert [lifted.imposed, lifted.calibration] == expected
    channel.close()


def test_what_a_client_leaves_behind_that_dies_is_undone(start: Starter, tmp_path: Path) -> None:
    server = start(program(tmp_path, SERVES.format(imposing=imposing(tmp_path))), allows_netem=True)
    channel = server.connect(server.paired()).channel
    channel.send(Run(job=job_to_json(impaired("up"))))
    channel.receive(Running, PATIENCE_S)
    channel.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    channel.connection.close()
    server.server.join(PATIENCE_S)
    assert (tmp_path / "undone").exists()
