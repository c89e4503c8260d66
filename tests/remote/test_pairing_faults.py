"""Pairing with a token that was used, guessed, outlived or passed on."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netwarp.backends.remote.channel import ChannelError, RefusedError
from netwarp.backends.remote.connecting import pair
from netwarp.backends.remote.identity import open_identity, proof
from netwarp.backends.remote.messages import Pair, Paired, Refused
from netwarp.errors import BackendError
from remote.conftest import Running as RunningServer

PATIENCE_S = 10.0


def test_who_pairs_is_let_in_and_the_token_works_once(server: RunningServer) -> None:
    token, client = server.token, server.client()
    pair(server.address, token, client)
    connected = server.connect(client)
    assert connected.welcome.congestion == ["cubic"]
    connected.channel.close()
    with pytest.raises(BackendError, match="no token any more"):
        pair(server.address, token, server.client("another"))
    with pytest.raises(BackendError, match="paired with none"):
        server.connect(server.client("another"))
    server.expect_it_goes_on()


@pytest.mark.parametrize("by", ["standard input", "environment"])
def test_a_token_need_not_be_an_argument(server: RunningServer, by: str) -> None:
    """Arguments are seen by all users of a host."""
    host, port = server.address
    environ = os.environ | {"NETWARP_IDENTITY": str(server.place / "of-the-command")}
    asked = [str(Path(sys.executable).with_name("netwarp")), "pair", f"{host}:{port}"]
    if by == "environment":
        environ["NETWARP_TOKEN"] = server.token
    done = subprocess.run(
        asked,
        input=f"{server.token}\n" if by == "standard input" else "",
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(server.server.identity.peers()) == 1


def test_no_token_at_all_is_asked_for(tmp_path: Path) -> None:
    asked = [str(Path(sys.executable).with_name("netwarp")), "pair", "127.0.0.1:9"]
    environ = os.environ | {"NETWARP_IDENTITY": str(tmp_path)}
    done = subprocess.run(asked, input="", env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nor a line of standard input" in done.stderr


def test_a_pairing_that_is_sent_again_is_refused(server: RunningServer) -> None:
    identity, theirs = server.client(), server.server.identity.certificate
    mine = proof(server.token, "client", theirs, identity.certificate)
    again = Pair(certificate=ssl.DER_cert_to_PEM_cert(identity.certificate), proof=mine)
    for expected in (Paired, Refused):
        channel = server.channel()
        channel.send(again)
        assert isinstance(channel.receive_any(PATIENCE_S), expected)
        channel.close()
    server.expect_it_goes_on()


def test_a_certificate_that_is_none_is_not_stored_and_leaves_the_token(
    server: RunningServer,
) -> None:
    """The guest that was invited keeps out all others with it, if it is stored."""
    garbage = b"\x30\x03abc"
    mine = proof(server.token, "client", server.server.identity.certificate, garbage)
    channel = server.channel()
    channel.send(Pair(certificate=ssl.DER_cert_to_PEM_cert(garbage), proof=mine))
    with pytest.raises(ChannelError):
        channel.receive_any(PATIENCE_S)
    channel.close()
    assert server.server.pairing.token is not None
    assert server.server.identity.peers() == {}
    server.expect_it_goes_on()


def test_a_stranger_who_guesses_does_not_use_up_the_token(server: RunningServer) -> None:
    token = server.token
    client = server.client()
    for _ in range(10):
        with pytest.raises(BackendError, match="the token is wrong"):
            pair(server.address, "0" * 32, client)
    assert not server.server.identity.peers()
    pair(server.address, token, client)
    assert server.server.identity.peers()
    server.expect_it_goes_on()


def test_a_token_ends_by_itself(server: RunningServer) -> None:
    token = server.token
    server.server.pairing.until_s = time.monotonic() - 1
    with pytest.raises(BackendError, match="no token any more"):
        pair(server.address, token, server.client())


def test_who_is_in_between_cannot_pair(server: RunningServer) -> None:
    """Someone in between shows each side a certificate of its own, and passes proofs on."""
    client, middle = server.client(), open_identity(server.place / "middle")
    for_client = proof(server.token, "client", middle.certificate, client.certificate)
    channel = server.channel()
    channel.send(Pair(certificate=ssl.DER_cert_to_PEM_cert(client.certificate), proof=for_client))
    with pytest.raises(RefusedError, match="somebody is in between"):
        channel.receive(Paired, PATIENCE_S)
    channel.close()
    assert not server.server.identity.peers()
