"""Builds the kernel's own tests of the network (kselftests), from the source of a guest kernel."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from netwarp.backends.building import run_builder
from netwarp.backends.guest_files import GuestKernel, build_script
from netwarp.cache import cache_directory
from netwarp.errors import BackendError


def selftests_of(
    kernel: GuestKernel, source: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> Path:
    """Return the directory of a kernel's own tests, which are built first if necessary.

    Args:
        kernel: a built kernel.
        source: options of `guest/selftests.sh` that say where the kernel's source is; empty for
            Debian's package.
        environ: the environment, which names the cache.

    Raises:
        BackendError: they cannot be built; the reason has been printed.
    """
    cache = cache_directory(environ) / "selftests"
    place = cache / kernel.name
    if (place / "selftests.json").is_file():
        return place
    script = build_script().with_name("selftests.sh")
    arguments = ["--kernel", str(kernel.directory), "--cache", str(cache), *source]
    if run_builder([script, *arguments], environ=environ) != 0 or not place.is_dir():
        raise BackendError(
            f"the tests of Linux {kernel.version} ({kernel.name}) could not be built: see above"
        )
    return place
