"""Finds the guest kernel of the package `netwarp-kernel`, which contains it as an executable, so
that it is neither compiled on this machine nor kept in the cache.
"""

import json
from importlib.util import find_spec
from pathlib import Path

from netwarp.errors import BackendError
from netwarp.version import __version__

PACKAGE = "netwarp_kernel"
PACKAGE_FILE = "package.json"
"""File in the package that names the release of netwarp to which its kernel belongs, and the
kernel's directory."""
_FIELDS = ("netwarp", "kernel")


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
        BackendError: the package is another release's, or incomplete.
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
    return directory / said["kernel"]
