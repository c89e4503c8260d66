"""Finds the guest kernel of the package `netwarp-kernel`, which contains it as a program: it is
neither compiled on this machine nor in the cache.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path

from netwarp.errors import BackendError
from netwarp.version import __version__

PACKAGE = "netwarp_kernel"
PACKAGE_FILE = "package.json"
"""File in the package: for which netwarp it is, the directory of its kernel, and the glibc that the
kernel needs."""
_FIELDS = ("netwarp", "kernel", "glibc")


def package_directory() -> Path | None:
    """Return the directory of the installed package; None if it is not installed.

    Nothing of it is imported.
    """
    spec = find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def packaged_kernel() -> Path | None:
    """Return the directory of the kernel that is installed as a package; None if none is.

    Raises:
        BackendError: the package is another release's, incomplete, or for a newer C library.
    """
    directory = package_directory()
    if directory is None:
        return None
    file = directory / PACKAGE_FILE
    try:
        package = json.loads(file.read_text())
        said = {field: str(package[field]) for field in _FIELDS}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BackendError(
            f"the package netwarp-kernel in {directory} is incomplete ({PACKAGE_FILE}:"
            f" {type(error).__name__}): install the one of netwarp {__version__} again"
        ) from None
    if said["netwarp"] != __version__:
        raise BackendError(
            f"netwarp-kernel {said['netwarp']} is installed beside netwarp {__version__}: install"
            f" both wheels of one release, or uninstall netwarp-kernel"
        )
    refused = lacks_glibc(said["glibc"], c_library())
    if refused is not None:
        raise BackendError(refused)
    return directory / said["kernel"]


def c_library() -> str | None:
    """Return this machine's C library if it is glibc, such as `glibc 2.36`; None otherwise."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        return None


def lacks_glibc(needed: str, found: str | None) -> str | None:
    """Return why a kernel that needs a version of glibc cannot start here; None if it can.

    Args:
        needed: a version, such as `2.34`.
        found: what `c_library` returns.
    """
    if found is None:
        return (
            f"the guest kernel of netwarp-kernel needs glibc {needed}, and this system has another"
            " C library (musl, as in Alpine): use an image of Debian, Ubuntu or Fedora"
        )
    version = found.rpartition(" ")[2]
    if _numbers(version) < _numbers(needed):
        return (
            f"the guest kernel of netwarp-kernel needs glibc {needed}, and this is {version}: run"
            " `netwarp kernel build`, which compiles one for this machine, and `netwarp kernel"
            " default`, or use a newer system in a container"
        )
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split(".") if number.isdigit())
