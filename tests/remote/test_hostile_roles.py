"""A server's role that somebody has taken over: what it plants in its directory is not read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from netwarp.backends.remote.messages import Ended
from remote.conftest import Running as Server
from remote.conftest import Starter
from remote.test_faults import PATIENCE_S, running, script


def how_it_ended(server: Server) -> object:
    """Start a run, and give the message after which it is over."""
    channel = running(server)
    try:
        return channel.receive_any(PATIENCE_S)
    finally:
        channel.close()


@pytest.mark.parametrize("plant", ["ln -sf {secret}", "rm -f console.log; mkfifo"])
def test_a_role_cannot_have_another_file_read_as_what_it_printed(
    start: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: str
) -> None:
    (tmp_path / "secret").write_text("root:hash\n")
    places = tmp_path / "places"
    places.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(places))
    planting = plant.format(secret=tmp_path / "secret")
    deep = "for i in $(seq 1200); do mkdir d && cd -P d || exit 4; done"
    server = start(
        script(tmp_path, f"{planting} console.log\n({deep})\necho printed by the role >&2\nexit 3")
    )
    assert how_it_ended(server) == Ended(how="the server exited with status 3: printed by the role")
    server.expect_it_goes_on()
    assert list(places.iterdir()) == []


def test_of_what_a_role_printed_the_end_is_read(start: Starter, tmp_path: Path) -> None:
    flood = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo the end >&2; exit 3"
    assert how_it_ended(start(script(tmp_path, flood))) == Ended(
        how="the server exited with status 3: the end"
    )
