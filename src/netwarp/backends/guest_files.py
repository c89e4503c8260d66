"""Finds the programs of a guest: the kernel and the endpoint."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from netwarp.backends.endpoint_sources import STAMP, sources_sha256, sources_state
from netwarp.backends.kernel_package import packaged_kernel
from netwarp.cache import cache_directory
from netwarp.errors import BackendError
from netwarp.regular_files import is_file
from netwarp.wire.base import JOB_FORMAT

_PACKAGE = Path(__file__).resolve().parents[1]
REPOSITORY = _PACKAGE.parents[1]
BUILD_KERNEL = "netwarp kernel build"
BUILD_ENDPOINT = "scripts/setup.sh rust"
CHOSEN = "chosen"
"""Name of the link in the cache to the kernel that the user has made the default, if there is one.
"""

_INFO: Mapping[str, type] = {
    "version": str,
    "source_package": str,
    "source_version": str,
    "seccomp": bool,
    "built": str,
    "own_config": list,
    "own_patches": int,
    "own_modules": list,
    "netem_seed": bool,
    "uring_abs_timer": bool,
    "seeded_getrandom": bool,
}
"""Types of the fields that are read from a kernel.json."""
_ALWAYS_THERE = ("version", "source_package", "seccomp")
"""Fields that every kernel.json has, including those of earlier versions."""


@dataclass(frozen=True)
class GuestKernel:
    """A built guest kernel, as ``guest/build.sh`` leaves it in the cache."""

    directory: Path
    info: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The kernel's name in the cache: its version, and a hash of everything that determines
        it.
        """
        return self.directory.name

    @property
    def version(self) -> str:
        """The kernel's version, such as 7.3.4."""
        return str(self.info["version"])

    @property
    def version_numbers(self) -> tuple[int, ...]:
        """The numbers in the kernel's version, by which kernels are ordered."""
        return tuple(int(number) for number in re.findall("[0-9]+", self.version))

    @property
    def expects_root_device(self) -> bool:
        """Whether the kernel's command line must say that the root file system is on no device.

        User-Mode Linux assumes `root=98:0` if its command line names no other. Before 6.6, a kernel
        without block devices (`CONFIG_BLOCK`) then mounts no root at all (`init/do_mounts.c`,
        `mount_root`).
        """
        return self.version_numbers < (6, 6)

    @property
    def own(self) -> list[str]:
        """Descriptions of the changes that the user made to Debian's and netwarp's source and
        configuration.
        """
        own = [f"--config {line}" for line in self.info.get("own_config", ())]
        patches = self.info.get("own_patches", 0)
        own += [f"{patches} patch{'es' if patches > 1 else ''}"] if patches else []
        own += [f"with {file.split()[0]}" for file in self.info.get("own_modules", ())]
        package = str(self.info["source_package"])
        return own if package.startswith("linux-source-") else [package, *own]

    @property
    def seeds_netem(self) -> bool:
        """Whether the kernel's netem accepts a seed, without which no random loss can be repeated
        (Linux 6.6 and later).

        A kernel.json without this field was written when kernels before 6.6 were refused.
        """
        return bool(self.info.get("netem_seed", True))

    @property
    def waits_until(self) -> bool:
        """Whether a wait in an io_uring can end at a given time, which the endpoint's QUIC needs
        (Linux 6.12 and later).

        If the kernel.json does not have the field, the kernel's version decides.
        """
        return bool(self.info.get("uring_abs_timer", self.version_numbers >= (6, 12)))

    @cached_property
    def options(self) -> frozenset[str]:
        """The options that are on in the kernel's complete configuration, such as `CONFIG_IP_SCTP`.

        Raises:
            BackendError: its configuration cannot be read.
        """
        file = self.directory / "config"
        try:
            lines = file.read_text().splitlines()
        except (OSError, ValueError) as error:
            raise BackendError(
                f"nobody can tell what the guest kernel {self.name} can do ({error}): build it"
                f" again with `{BUILD_KERNEL}`"
            ) from None
        return frozenset(line.removesuffix("=y") for line in lines if line.endswith("=y"))

    @property
    def linux(self) -> Path:
        """The kernel's executable: with User-Mode Linux, an ordinary program."""
        return self.directory / "linux"

    @property
    def preloaded(self) -> Path | None:
        """The library that returns the run's seed when a kernel calls getrandom(); None if that is
        compiled into the kernel, as in all that are built today.
        """
        is_inside = self.info.get("seeded_getrandom", False)
        return None if is_inside else self.directory / "getrandom_shim.so"

    @property
    def programs(self) -> list[Path]:
        """The files that the kernel's process executes: the kernel, and the library that is loaded
        with it, if any.
        """
        return [self.linux, *([self.preloaded] if self.preloaded else [])]

    @property
    def has_seccomp(self) -> bool:
        """Whether guest programs can run under seccomp instead of ptrace (Linux 6.16 and later)."""
        return bool(self.info["seccomp"])


def build_script() -> Path:
    """Locate the script that builds the guest kernel: in the package, else in the clone.

    Raises:
        BackendError: it is in neither.
    """
    for place in (_PACKAGE / "guest", REPOSITORY / "guest"):
        if (place / "build.sh").is_file():
            return place / "build.sh"
    raise BackendError(
        f"guest/build.sh is neither in {_PACKAGE} nor in {REPOSITORY}: install netwarp anew,"
        " or run from a clone"
    )


def kernel_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory that contains all built kernels."""
    return cache_directory(environ) / "kernel"


def find_kernel(environ: Mapping[str, str] = os.environ) -> GuestKernel:
    """Locate the default kernel: ``$NETWARP_KERNEL`` (a directory), else the one that the user has
    chosen, else that of the package ``netwarp-kernel``, else the one that netwarp is released with,
    from the cache.

    Raises:
        BackendError: there is none (the message says how to build it), or the one in the cache
            belongs to another user.
    """
    named = environ.get("NETWARP_KERNEL")
    if named:
        return open_kernel(Path(named), is_trusted=True)
    chosen = kernel_cache(environ) / CHOSEN
    if chosen.is_symlink() and not chosen.exists():
        raise BackendError(
            f"the guest kernel that was chosen as the default is gone ({chosen.readlink()}): run"
            " `netwarp kernel default --reset`, or choose another"
        )
    if chosen.is_symlink():
        return open_kernel(chosen)
    return open_kernel(packaged_kernel() or kernel_cache(environ) / "current")


def open_kernel(directory: Path, *, is_trusted: bool = False) -> GuestKernel:
    """Open a built kernel.

    Args:
        directory: a directory made by ``guest/build.sh``.
        is_trusted: whether the kernel may belong to another user.

    Raises:
        BackendError: the directory has no kernel or an incomplete one (the message says how to
            build it), or it belongs to another user.
    """
    try:
        info = json.loads((directory / "kernel.json").read_text())
    except (OSError, ValueError) as error:
        raise BackendError(
            f"no guest kernel in {directory} ({error}): run `{BUILD_KERNEL}`, or install the wheel"
            " netwarp-kernel of this release"
        ) from None
    if wrong := _wrong_in(info):
        raise BackendError(
            f"{directory / 'kernel.json'} is none of `{BUILD_KERNEL}`'s ({wrong}): build that"
            " kernel again"
        )
    kernel = GuestKernel(directory.resolve(), info)
    if not is_trusted:
        _refuse_anothers(kernel)
    for part in kernel.programs:
        if not os.access(part, os.R_OK):
            raise BackendError(
                f"the guest kernel in {directory} lacks {part.name}: run `{BUILD_KERNEL}`"
            )
    return kernel


def _wrong_in(info: object) -> str | None:
    """Return a sentence on what is wrong with the contents of a kernel.json; None if nothing is."""
    if not isinstance(info, dict):
        return "it is no object"
    for field, kind in _INFO.items():
        if field in info and type(info[field]) is not kind:
            return f"{field} is {json.dumps(info[field])}"
    missing = [field for field in _ALWAYS_THERE if field not in info]
    if missing:
        return f"{missing[0]} is missing"
    if not re.match("[0-9]+[.][0-9]+", info["version"]):
        return f"version is {json.dumps(info['version'])}"
    for field in ("own_config", "own_modules"):
        if not all(isinstance(line, str) and line.strip() for line in info.get(field, ())):
            return f"{field} has something other than lines"
    return None


def _refuse_anothers(kernel: GuestKernel) -> None:
    """Refuse a kernel that another user could change, because it runs with the rights of this one.

    Raises:
        BackendError: the directory, or a file in it that is executed, belongs neither to root nor
            to this user.
    """
    for part in (kernel.directory, *kernel.programs):
        with contextlib.suppress(FileNotFoundError):
            owner = part.stat().st_uid
            if owner not in (0, os.geteuid()):
                raise BackendError(
                    f"{part} is user {owner}'s, who could have anything run as you: build your own"
                    f" (`{BUILD_KERNEL}`, with sudo without -E), or if you trust that user, say so"
                    f" with NETWARP_KERNEL={kernel.directory}"
                )


def find_endpoint(environ: Mapping[str, str] = os.environ) -> Path:
    """Locate ``netwarp-endpoint``: ``$NETWARP_ENDPOINT``, else the one in netwarp's wheel, else the
    one beside this Python.

    Raises:
        BackendError: there is none, or its sources have changed since it was built; the message
            says how to build it.
    """
    named = environ.get("NETWARP_ENDPOINT")
    packaged = _PACKAGE / "libexec" / "netwarp-endpoint"
    beside = Path(sys.prefix) / "libexec" / "netwarp-endpoint"
    path = Path(named) if named else packaged if packaged.is_file() else beside
    if not (is_file(path) and os.access(path, os.X_OK)):
        raise BackendError(
            f"no endpoint program at {path}: run `{BUILD_ENDPOINT}` in a clone of netwarp, or"
            " install the wheel of a release; for another, say NETWARP_ENDPOINT=PATH"
        )
    if not named and path == beside:
        refuse_stale(path, Path(sys.prefix) / STAMP, REPOSITORY / "endpoint")
    return path.resolve()


def refuse_stale(endpoint: Path, stamp: Path, sources: Path) -> None:
    """Refuse an endpoint that was not built from the present sources of a clone.

    Nothing is refused if there are no sources, as in an installation from a wheel, or no stamp.

    Raises:
        BackendError: the sources have changed since; the message says how to build it again.
    """
    try:
        built = stamp.read_text().split()[:1]
        is_there = sources.is_dir()
        if not is_there or built == [_sources_sha256(sources, sources_state(sources))]:
            return
    except (OSError, ValueError):
        return
    raise BackendError(
        f"{endpoint} is older than its sources in {sources}, which have changed since it was"
        f" built (by `git pull`, say): run `{BUILD_ENDPOINT}` in {sources.parent}"
    )


@lru_cache(maxsize=4)
def _sources_sha256(sources: Path, state: tuple[Any, ...]) -> str:
    """Return the hash of the endpoint's sources. It is cached for each `state` of the files, so
    that they are not read before each run.
    """
    del state
    return sources_sha256(sources)


def endpoint_version(path: Path) -> dict[str, Any]:
    """Ask the endpoint for its version and the format of jobs that it reads, and add the hash of
    its file. A file that has not changed is asked only once.

    Raises:
        BackendError: it cannot be started, is not netwarp's endpoint, or reads jobs of another
            format.
    """
    return dict(_endpoint_version(path, _file_state(path)))


def _file_state(path: Path) -> tuple[int, ...] | None:
    """Return inode, size and times of a file, which differ once it has been written or replaced;
    None if there is no file.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@lru_cache(maxsize=4)
def _endpoint_version(path: Path, state: tuple[int, ...] | None) -> dict[str, Any]:
    """Ask an endpoint for its version; see :func:`endpoint_version`. The answer is cached for each
    `state` of its file.
    """
    del state
    try:
        answer = subprocess.run(
            [path, "version", "--json"], capture_output=True, text=True, check=False, timeout=10
        )
        content = path.read_bytes()
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise BackendError(
            f"`{path} version --json` cannot be asked ({_why(error)}): rebuild it with"
            f" `{BUILD_ENDPOINT}`, or name another with NETWARP_ENDPOINT=PATH"
        ) from None
    if answer.returncode != 0:
        raise BackendError(
            f"`{path} version --json` failed ({answer.stderr.strip() or answer.returncode}):"
            f" rebuild it with `{BUILD_ENDPOINT}`"
        )
    try:
        version = json.loads(answer.stdout)
    except ValueError:
        version = None
    if not (isinstance(version, dict) and isinstance(version.get("endpoint"), str)):
        raise BackendError(
            f"{path} is not a netwarp-endpoint (`version --json` answers no version): name one with"
            f" NETWARP_ENDPOINT=PATH, or unset that"
        )
    if version.get("format") != JOB_FORMAT:
        raise BackendError(
            f"{path} reads jobs of format {version.get('format')}, and this netwarp writes format"
            f" {JOB_FORMAT}: rebuild it with `{BUILD_ENDPOINT}`, or name one of this version with"
            " NETWARP_ENDPOINT=PATH"
        )
    return version | {"sha256": sha256(content).hexdigest()}


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return "no answer within 10 s"
    return str(getattr(error, "strerror", None) or error)
