"""The virtual backend's pure parts: what guests are started with, and what is refused before."""

from __future__ import annotations

import os
from collections import namedtuple
from pathlib import Path

import pytest

from netwarp.backends.guest_files import GuestKernel, find_endpoint, find_kernel
from netwarp.backends.scratch import (
    check_scratch,
    full_scratch_text,
    ran_out_of_scratch,
    scratch_directory,
)
from netwarp.backends.virtual import guest_command, guest_environment
from netwarp.errors import BackendError

Usage = namedtuple("Usage", "total used free")


def test_the_command_line_names_nothing_of_the_run_or_the_user() -> None:
    command = guest_command(Path("/anywhere/linux"), seccomp=True)
    assert command[0] == "/anywhere/linux"
    assert all("/anywhere" not in word and "/home" not in word for word in command[1:])
    assert command[1:] == guest_command(Path("/elsewhere/linux"), seccomp=True)[1:]


def test_seccomp_is_asked_for_only_where_the_kernel_has_it() -> None:
    assert "seccomp=on" in guest_command(Path("linux"), seccomp=True)
    assert "seccomp=on" not in guest_command(Path("linux"), seccomp=False)


def test_only_kernels_before_6_6_are_told_that_their_root_has_no_device() -> None:
    """They mount none otherwise; later ones keep the command line that their records came from."""
    versions = {"6.1.176": True, "6.5.13": True, "6.6.1": False, "6.12.117": False, "7.3.4": False}
    for version, told in versions.items():
        kernel = GuestKernel(Path("/k"), {"version": version})
        command = guest_command(
            kernel.linux, seccomp=False, says_no_root_device=kernel.expects_root_device
        )
        assert ("root=none" in command) is told, version


def test_the_environment_is_not_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERS_OWN", "x")
    environment = guest_environment(None, Path("/dev/shm"), 2**64 - 1)
    assert set(environment) == {"PATH", "HOME", "TMPDIR", "NETWARP_SEED", "GLIBC_TUNABLES"}
    assert environment["NETWARP_SEED"] == "18446744073709551615"


def test_a_kernel_that_was_built_without_its_getrandom_has_one_preloaded() -> None:
    info = {"version": "6.12.1"}
    earlier = GuestKernel(Path("/k"), info).preloaded
    assert guest_environment(earlier, Path("/dev/shm"), 1)["LD_PRELOAD"] == "/k/getrandom_shim.so"
    assert GuestKernel(Path("/k"), info | {"seeded_getrandom": True}).preloaded is None


def test_scratch_that_does_not_exist_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="NETWARP_SCRATCH=DIR"):
        check_scratch(tmp_path / "nothing", guests=1)


def test_noexec_scratch_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted = os.statvfs(tmp_path)
    fields = list(mounted)
    fields[8] |= os.ST_NOEXEC
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(fields))
    with pytest.raises(BackendError, match="remount,exec"):
        check_scratch(tmp_path, guests=1)


@pytest.mark.parametrize(
    ("guests", "says"),
    [
        (3, "900 MiB free and 3 guests at a time may need 1200 MiB: make room, run with --jobs 2"),
        (9, "9 guests at a time may need 3600 MiB: make room, run with --jobs 2"),
    ],
)
def test_scratch_too_small_for_all_guests_at_a_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guests: int, says: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(1, 1, 900 << 20))
    check_scratch(tmp_path, guests=2)
    with pytest.raises(BackendError, match=says):
        check_scratch(tmp_path, guests=guests)


def test_scratch_too_small_for_one_guest_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(1, 1, 10 << 20))
    with pytest.raises(BackendError, match=r"10 MiB free .* make room, or name another directory"):
        check_scratch(tmp_path, guests=1)


@pytest.mark.parametrize(
    ("free_mib", "chosen"),
    [
        ((900, 900), 0),
        ((63, 900), 1),  # a container's
        ((63, 63), 0),  # of which the refusal then speaks
    ],
)
def test_memory_is_elsewhere_where_the_usual_place_is_too_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: tuple[int, int], chosen: int
) -> None:
    places = tmp_path / "shm", tmp_path / "tmp"
    for each in places:
        each.mkdir()
    room = dict(zip(places, free_mib, strict=True))
    monkeypatch.setattr("shutil.disk_usage", lambda place: Usage(1, 1, room[place] << 20))
    assert scratch_directory({}, places) == places[chosen]
    named = {"NETWARP_SCRATCH": str(tmp_path)}
    assert scratch_directory(named, places) == tmp_path
    monkeypatch.chdir(tmp_path)
    # A guest starts in its run directory, so that a relative path would lead elsewhere.
    assert scratch_directory({"NETWARP_SCRATCH": "shm"}, places) == places[0]


def test_a_guest_whose_memory_found_no_room_names_the_place(tmp_path: Path) -> None:
    """The console of a guest in a tmpfs of 24 MiB, as Linux 7.3 leaves it."""
    console = tmp_path / "console.log"
    console.write_text(
        "Bus error - the host /dev/shm or /tmp mount likely just ran out of space\n"
        "Kernel panic - not syncing: Kernel mode signal 7\n"
    )
    assert ran_out_of_scratch(console)
    assert f"{tmp_path}, where guests have their memory, is full" in full_scratch_text(tmp_path)
    console.write_text("Kernel panic - not syncing: Attempted to kill init!\n")
    assert not ran_out_of_scratch(console)


def test_a_missing_kernel_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="netwarp kernel build"):
        find_kernel({"XDG_CACHE_HOME": str(tmp_path)})
    with pytest.raises(BackendError, match="netwarp kernel build"):
        find_kernel({"NETWARP_KERNEL": str(tmp_path)})


@pytest.mark.parametrize("part", [".", "linux", "getrandom_shim.so"])
def test_a_kernel_of_another_user_in_the_cache_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """As `sudo -E netwarp` finds it: what is preloaded would run as root."""
    kernel = tmp_path / "netwarp" / "kernel" / "current"
    kernel.mkdir(parents=True)
    info = '{"version": "7.3.4", "source_package": "linux-source-7.3", "seccomp": true}'
    (kernel / "kernel.json").write_text(info)
    for name in ("linux", "getrandom_shim.so"):
        (kernel / name).write_text("")
    find_kernel({"XDG_CACHE_HOME": str(tmp_path)})
    if os.geteuid() == 0:
        os.chown(kernel / part, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(BackendError, match="could have anything run as you"):
        find_kernel({"XDG_CACHE_HOME": str(tmp_path)})
    find_kernel({"NETWARP_KERNEL": str(kernel)})


def test_a_missing_endpoint_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"scripts/setup\.sh rust"):
        find_endpoint({"NETWARP_ENDPOINT": str(tmp_path / "nothing")})
