"""Names of stacks that are none, and stacks whose program is missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from netwarp import plugins
from netwarp.backends.stack_building import build_stack
from netwarp.errors import BackendError, InputError, StudyError
from netwarp.interop import Asked
from netwarp.stacks import MANIFEST, find_stack, stack_in
from netwarp.study.study import study_from_mapping

WRONG = Path(__file__).parent / "guest" / "wrong_stack"
SIZE = {"workload": {"kind": "bulk", "size": "1MB"}}


@pytest.mark.parametrize("name", ["quicgo", "quic-og", "QUIC-GO"])
def test_a_stack_that_is_mistyped_is_refused_with_the_one_that_was_meant(
    name: str, tmp_path: Path
) -> None:
    meant = 'did you mean "quic-go"'
    with pytest.raises(StudyError, match=meant):
        study_from_mapping({"title": "t", "transport": {"kind": "quic", "stack": name}} | SIZE)
    with pytest.raises(InputError, match=meant):
        Asked.of(stacks=[name], folder=tmp_path)
    with pytest.raises(BackendError, match=meant):
        build_stack(name, {})
    with pytest.raises(InputError, match=meant):
        Asked.of(stacks=["quic-go"], clients=[name], folder=tmp_path)


def test_a_package_s_stack_without_its_program_is_told_what_to_do_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / MANIFEST).write_text(WRONG.joinpath(MANIFEST).read_text())
    entry = EntryPoint("wrong", "its_package.stack", "netwarp.stacks")
    monkeypatch.setattr(plugins, "added", lambda _: {"wrong": entry})
    monkeypatch.setattr(plugins, "folder", lambda *_: tmp_path)
    with pytest.raises(InputError, match=f"{tmp_path}/role: the package .* executable") as refused:
        find_stack("wrong", {"HOME": "/nonexistent"})
    assert "netwarp stack build" not in str(refused.value)
    with pytest.raises(BackendError, match=r"is the package .*'s, and netwarp builds only"):
        build_stack("wrong", {})


def test_a_directory_s_stack_without_its_program_is_told_what_to_do_there(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(WRONG.joinpath(MANIFEST).read_text())
    with pytest.raises(InputError, match=f"{tmp_path}/role: put it there") as refused:
        stack_in(tmp_path)
    assert "netwarp stack build" not in str(refused.value)
