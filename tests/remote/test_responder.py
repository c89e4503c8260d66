"""What docs/security.md promises of a probe: whom a server answers, how much, and for how long."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from netwarp.backends.remote import probe
from netwarp.backends.remote.datagrams import ECHO, TRAIN, TRAIN_WANTED, Datagram
from netwarp.backends.remote.probe import MOST_DATAGRAMS, TRAIN_PACKETS, Responder
from netwarp.backends.remote.session import Session

TOKEN = b"t" * 16
PATIENCE_S = 5.0


@contextmanager
def responder(peer: str = "127.0.0.1") -> Iterator[Responder]:
    made = Responder(("127.0.0.1", 0), peer, TOKEN)
    try:
        yield made
    finally:
        made.close()


def answers(to: Responder, question: bytes, source: str = "127.0.0.1") -> list[bytes]:
    """Ask from an address, and give all that comes back there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.bind((source, 0))
        asking.sendto(question, to.socket.getsockname())
        assert select.select([to.socket], [], [], PATIENCE_S)[0]
        to.respond()
        asking.setblocking(False)  # on loopback what was sent is there
        came = []
        while True:
            try:
                came.append(asking.recv(65535))
            except BlockingIOError:
                return came


def test_only_the_paired_host_is_answered() -> None:
    question = Datagram(TOKEN, ECHO, 0, 5).encode()
    with responder() as made:
        assert len(answers(made, question)) == 1
        assert answers(made, question, "127.0.0.2") == []
    with responder("127.0.0.2") as made:
        assert answers(made, question) == []
        assert len(answers(made, question, "127.0.0.2")) == 1


def test_only_the_probes_token_is_answered() -> None:
    with responder() as made:
        assert answers(made, Datagram(b"x" * 16, ECHO, 0, 5).encode()) == []
        assert answers(made, b"") == []


@pytest.mark.parametrize("number", [0, 49])
def test_an_echo_is_as_long_as_its_question(number: int) -> None:
    question = Datagram(TOKEN, ECHO, number, 5).encode()
    with responder() as made:
        (answer,) = answers(made, question)
        assert len(answer) == len(question)
        assert answers(made, Datagram(TOKEN, TRAIN, 0).encode()) == [], "a train is not answered"


def test_all_answers_of_a_probe_are_bounded() -> None:
    wanted = Datagram(TOKEN, TRAIN_WANTED, 2**31).encode()
    with responder() as made:
        assert len(answers(made, wanted)) == TRAIN_PACKETS
        sent = TRAIN_PACKETS + sum(len(answers(made, wanted)) for _ in range(40))
    assert sent < MOST_DATAGRAMS


def test_whoever_sends_without_end_does_not_keep_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received = 0

    def one_more(_: object) -> tuple[bytes, int, tuple[str, int]]:
        nonlocal received
        received += 1
        assert received < 100_000, "it never looks at anything else"
        return b"", 0, ("127.0.0.1", 9)

    monkeypatch.setattr(probe, "_receive_stamped", one_more)
    with responder() as made:
        made.respond()
    assert received > 0


def test_lines_that_the_client_reads_slowly_end_with_the_runs_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each takes a second to send; the run has five, and the role wrote a thousand at once."""
    now_s = 0.0

    class Channel:
        sent = 0

        def send(self, _: object) -> None:
            nonlocal now_s
            now_s += 1.0
            self.sent += 1

        def fileno(self) -> int:
            return quiet

        def arrived(self) -> list[object]:
            return []

    class Role:
        until_s = 5.0

        def fileno(self) -> int:
            return ready

        def said(self) -> list[str]:
            return ["{}"] * 1000

    monkeypatch.setattr("netwarp.backends.remote.session.time.monotonic", lambda: now_s)
    (quiet, quiet_end), (ready, ready_end) = os.pipe(), os.pipe()
    os.write(ready_end, b"x")
    try:
        channel = Channel()
        relaying = cast("Any", SimpleNamespace(channel=channel))
        how = Session._relay(relaying, cast("Any", Role()))
    finally:
        for each in (quiet, quiet_end, ready, ready_end):
            os.close(each)
    assert how == "the server's time for a run was over"
    assert channel.sent <= 6
