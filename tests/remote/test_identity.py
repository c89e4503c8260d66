"""Keys, certificates and tokens: who is known, and what nobody else can read."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from netwarp.backends.remote.identity import (
    PEERS,
    der,
    fingerprint,
    identity_directory,
    new_token,
    open_identity,
    proof,
)
from netwarp.errors import BackendError


def test_an_identity_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    place = tmp_path / "new" / "remote"
    identity = open_identity(place)
    again = open_identity(place)
    assert identity.certificate == again.certificate
    assert place.stat().st_mode & 0o777 == 0o700
    assert identity.key_file.stat().st_mode & 0o777 == 0o600
    peer = identity.add_peer(open_identity(tmp_path / "other").certificate)
    assert peer.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in place.iterdir()) == ["identity.key", "identity.pem", PEERS]


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    identity = open_identity(tmp_path)
    identity.key_file.chmod(0o640)
    with pytest.raises(BackendError, match="chmod 600"):
        open_identity(tmp_path)


def test_peers_are_known_by_their_whole_certificate(tmp_path: Path) -> None:
    ours, theirs, strangers = (open_identity(tmp_path / name) for name in "abc")
    ours.add_peer(theirs.certificate)
    assert ours.peers() == {theirs.certificate: fingerprint(theirs.certificate)}
    assert strangers.certificate not in ours.peers()


NO_CERTIFICATE = ssl.DER_cert_to_PEM_cert(b"\x30\x03abc")
"""A sequence of ASN.1, and no certificate."""


@pytest.mark.parametrize("text", ["-----BEGIN CERTIFICATE-----\n", NO_CERTIFICATE, "\xff\0"])
def test_a_file_that_is_no_certificate_is_named_and_keeps_nobody_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    identity = open_identity(tmp_path / "ours")
    other = open_identity(tmp_path / "other").certificate
    identity.add_peer(other)
    (identity.directory / PEERS / "wrong.pem").write_text(text)
    assert list(identity.peers()) == [other]
    identity.context("server")
    open_identity(identity.directory)
    assert "peers/wrong.pem is no certificate" in caplog.text


def test_what_is_no_certificate_is_not_read_as_one() -> None:
    with pytest.raises(ValueError, match="not a certificate"):
        der(NO_CERTIFICATE)


@pytest.mark.parametrize("folder", [".", PEERS])
def test_a_directory_that_others_can_write_to_is_refused(tmp_path: Path, folder: str) -> None:
    identity = open_identity(tmp_path / "ours")
    identity.directory.chmod(0o755)
    (identity.directory / folder).chmod(0o777)
    with pytest.raises(BackendError, match=f"others can put keys .*{identity.directory / folder}"):
        open_identity(identity.directory)


def test_where_it_is_kept() -> None:
    assert identity_directory({"HOME": "/h"}) == Path("/h/.config/netwarp/remote")
    assert identity_directory({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}) == Path("/x/netwarp/remote")
    assert identity_directory({"NETWARP_IDENTITY": "/i", "HOME": "/h"}) == Path("/i")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write anywhere")
def test_a_directory_that_cannot_be_made_is_named() -> None:
    with pytest.raises(BackendError, match="cannot keep a key in /proc"):
        open_identity(Path("/proc/nothing"))


def test_a_proof_is_of_one_token_side_and_pair_of_certificates() -> None:
    token = new_token()
    proofs = {
        proof(token, "client", b"server", b"client"),
        proof(token, "server", b"server", b"client"),
        proof(token, "client", b"in between", b"client"),
        proof(token, "client", b"server", b"in between"),
        proof(new_token(), "client", b"server", b"client"),
    }
    assert len(proofs) == 5
    assert len(token) == 32
