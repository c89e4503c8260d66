"""The kernel that a package contains: found with no cache, and held to what others are."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netwarp.backends.guest_files import find_kernel
from netwarp.backends.kernel_package import PACKAGE, PACKAGE_FILE, packaged_kernel
from netwarp.backends.kernels import (
    built_kernels,
    choose_default,
    kernel_named,
    released_source,
    remove_kernel,
)
from netwarp.errors import BackendError
from netwarp.version import __version__

NAME = "7.3.4-0123456789abcdef"
Install = Callable[..., Path]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package as the wheel does, but for the programs."""

    def install(**said: str) -> Path:
        package = tmp_path / "site-packages" / PACKAGE
        build(package / NAME)
        (package / "__init__.py").write_text("raise RuntimeError('nothing of it is imported')")
        about = {"netwarp": __version__, "kernel": NAME} | said
        (package / PACKAGE_FILE).write_text(json.dumps(about))
        monkeypatch.syspath_prepend(package.parent)
        importlib.invalidate_caches()
        return package / NAME

    return install


def build(directory: Path, built: str = "2026-01-01T00:00:00Z") -> Path:
    directory.mkdir(parents=True)
    package, version = released_source()
    said = {"version": "7.3.4", "source_package": package, "source_version": version,
            "seccomp": True, "seeded_getrandom": True, "built": built}  # fmt: skip
    (directory / "kernel.json").write_text(json.dumps(said))
    for part in ("linux", "config"):
        (directory / part).write_text("")
    return directory


def test_it_is_found_with_no_cache(environ: dict[str, str], install: Install) -> None:
    with pytest.raises(BackendError, match=r"no guest kernel in .*install the wheel netwarp-k"):
        find_kernel(environ)
    directory = install()
    assert find_kernel(environ).directory == directory
    assert [each.directory for each in built_kernels(environ)] == [directory]
    assert kernel_named("7.3", environ).directory == directory
    assert PACKAGE not in sys.modules
    assert not Path(environ["XDG_CACHE_HOME"]).exists()


def test_it_is_before_the_cache_and_after_what_the_user_names(
    environ: dict[str, str], install: Install, tmp_path: Path
) -> None:
    cache = Path(environ["XDG_CACHE_HOME"], "netwarp", "kernel")
    same, other = build(cache / NAME), build(cache / "7.3.4-fedcba9876543210")
    (cache / "current").symlink_to(other.name)
    assert find_kernel(environ).directory == other
    packaged = install()
    assert find_kernel(environ).directory == packaged
    # The same name is the same source and configuration, and is listed once.
    assert {each.directory for each in built_kernels(environ)} == {packaged, other}
    assert kernel_named(NAME, environ).directory == packaged != same
    choose_default(other.name, environ)
    assert find_kernel(environ).directory == other
    choose_default(NAME, environ)
    assert find_kernel(environ).directory == packaged
    choose_default(None, environ)
    assert find_kernel(environ).directory == packaged
    named = build(tmp_path / "named")
    assert find_kernel({**environ, "NETWARP_KERNEL": str(named)}).directory == named


def test_it_can_be_chosen_where_there_is_no_cache(
    environ: dict[str, str], install: Install
) -> None:
    directory = install()
    assert choose_default(NAME, environ).directory == directory
    assert find_kernel(environ).directory == directory


def test_it_is_not_removed_from_its_package(environ: dict[str, str], install: Install) -> None:
    directory = install()
    with pytest.raises(BackendError, match="`pip uninstall netwarp-kernel`"):
        remove_kernel(NAME, environ)
    assert directory.is_dir()


def test_another_release_s_is_refused(environ: dict[str, str], install: Install) -> None:
    install(netwarp="0.0.9")
    with pytest.raises(
        BackendError,
        match=rf"netwarp-kernel 0\.0\.9 is installed beside netwarp {__version__}: install both",
    ):
        find_kernel(environ)
    assert built_kernels(environ) == []


def test_an_incomplete_one_is_refused(environ: dict[str, str], install: Install) -> None:
    directory = install()
    (directory / "linux").unlink()
    with pytest.raises(BackendError, match="lacks linux"):
        find_kernel(environ)
    (directory.parent / PACKAGE_FILE).write_text("{}")
    with pytest.raises(BackendError, match=r"is incomplete \(package\.json: KeyError\)"):
        packaged_kernel()


def test_one_whose_random_numbers_nothing_seeds_is_refused(
    environ: dict[str, str], install: Install
) -> None:
    directory = install()
    info = json.loads((directory / "kernel.json").read_text())
    del info["seeded_getrandom"]
    (directory / "kernel.json").write_text(json.dumps(info))
    with pytest.raises(BackendError, match=r"lacks getrandom_shim\.so"):
        find_kernel(environ)
