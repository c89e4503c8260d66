"""A server that the client's bridge hears: one that never ends a run, and one that never pauses."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import cast

import pytest

from netwarp.backends.remote import bridge as bridge_module
from netwarp.backends.remote.bridge import Bridge
from netwarp.backends.remote.channel import Channel
from netwarp.backends.remote.messages import Message, Said

PATIENCE_S = 10.0


class Talker:
    """A channel to a server that says a line whenever it is listened to, or nothing at all."""

    def __init__(self, line: str | None) -> None:
        self.line = line
        self.ours, self.theirs = socket.socketpair()
        if line is not None:
            self.theirs.send(b"x")  # what is never read makes it readable for ever

    def fileno(self) -> int:
        return self.ours.fileno()

    def arrived(self) -> Sequence[Message]:
        return [] if self.line is None else [Said(line=self.line)]


def heard(talker: Talker, most_s: float) -> tuple[Bridge, list[str]]:
    """Carry until the bridge gives up; give it, and the lines that the orchestrator got."""
    ours, theirs = socket.socketpair()
    bridge = Bridge(cast("Channel", talker), ours, most_s)
    bridge.start()
    with theirs, theirs.makefile() as lines, talker.ours, talker.theirs:
        got = list(lines)
    bridge.join(PATIENCE_S)
    assert not bridge.is_alive()
    return bridge, got


@pytest.mark.parametrize("line", [None, "x"])
def test_a_server_that_does_not_end_a_run_is_given_up(line: str | None) -> None:
    """Whether it is silent or goes on talking."""
    bridge, got = heard(Talker(line), 0.2)
    assert bridge.lost == "it did not end the run within 0 s"
    failed = json.loads(got[-1])
    assert failed["failure"]["message"] == f"the server is gone: {bridge.lost}"


def test_what_a_server_says_of_a_run_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "MOST_SAID_BYTES", 10_000)
    bridge, got = heard(Talker("x" * 999), 3600)
    assert bridge.lost == "it said more than 10000 bytes of one run"
    assert len(got) == 11
