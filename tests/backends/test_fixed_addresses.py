"""Guests start also where the host randomises their addresses, as containers do by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.backends.fixed_addresses import FIXED_ADDRESSES, fixed_addresses
from netwarp.backends.launching import at_fixed_addresses
from netwarp.backends.needs import Machine
from netwarp.errors import BackendError


def test_they_are_fixed_where_the_host_allows_it() -> None:
    assert fixed_addresses() == at_fixed_addresses() != []
    assert "same addresses" in FIXED_ADDRESSES.describe(Machine({}))


def test_they_are_fixed_also_where_path_leads_to_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert fixed_addresses() == at_fixed_addresses() != []


def test_they_are_left_where_the_host_forbids_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setarch = tmp_path / "setarch"
    setarch.write_text("#!/bin/sh\necho 'setarch: failed to set personality' >&2\nexit 1\n")
    setarch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert fixed_addresses() == []
    with pytest.raises(BackendError, match=r"cannot be fixed here \(setarch: failed to set pers"):
        FIXED_ADDRESSES.describe(Machine({}))
