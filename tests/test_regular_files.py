"""What users name is read only where it is a regular file, and only so much of it."""

import os
from pathlib import Path

import pytest

from netwarp.regular_files import (
    UnreadableFileError,
    located,
    read_regular_file,
    regular_file_size,
)


def test_a_regular_file_is_read_whole_through_links(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_regular_file(tmp_path / "link", 7) == b"content"
    assert regular_file_size(tmp_path / "link") == 7


def test_one_byte_too_many_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    with pytest.raises(UnreadableFileError, match="larger than"):
        read_regular_file(tmp_path / "file", 6)


def test_a_file_without_a_size_is_bounded_too() -> None:
    """Files in /proc are regular, have content, and say that they have none."""
    assert Path("/proc/self/status").stat().st_size == 0
    with pytest.raises(UnreadableFileError, match="larger than"):
        read_regular_file(Path("/proc/self/status"), 10)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/dev/zero", "a device, not a regular file"),
        ("/dev/tty", "a device, not a regular file"),
        ("fifo", "a FIFO, not a regular file"),
        ("link-to-fifo", "a FIFO, not a regular file"),
        (".", "a directory, not a regular file"),
        ("gone", "no such file"),
        ("loop", "cannot be read: Too many levels of symbolic links"),
        ("x" * 300, "cannot be read: File name too long"),
        ("a\0b", "no file name has a NUL in it"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link-to-fifo").symlink_to("fifo")
    (tmp_path / "loop").symlink_to("loop")
    for read in (lambda path: read_regular_file(path, 10), regular_file_size):
        with pytest.raises(UnreadableFileError) as caught:
            read(tmp_path / name)
        assert caught.value.reason == reason


def test_relative_names_start_in_their_folder() -> None:
    assert located("../a/b", Path("/studies/mine")) == "/studies/a/b"
    assert located("~/a", Path("/studies")) == str(Path.home() / "a")
    assert located("/a/./b", Path("/studies")) == "/a/b"
    assert located("a", None) == "a"


@pytest.mark.parametrize("name", ["~nouser/x", "a\0b", "\udcff"])
def test_names_that_no_file_can_have_are_refused(name: str) -> None:
    with pytest.raises(UnreadableFileError):
        located(name, Path("/studies"))
