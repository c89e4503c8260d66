"""Finds ns-3's Python bindings, and installs them into a separate virtual environment in the
cache.
"""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from netwarp.backends.needs import Machine
from netwarp.cache import cache_directory
from netwarp.errors import BackendError, one_line

PACKAGE = "ns3==3.44.post0"
"""The package that is installed; it pins the packages that it needs."""
INSTALL = "netwarp ns3 install"
COST_TEXT = "once: 117 MB to download, two small libraries to compile, 520 MB on the disk"
PYTHON_VARIABLE = "NETWARP_NS3_PYTHON"
"""Environment variable with the path of a Python that has ns-3, in case netwarp's own Python does
not have it."""
REASON_LENGTH = 300


def find_python(machine: Machine) -> str:
    """Return the path of a Python that has ns-3: the one in the environment variable, netwarp's
    own, or the one in the cache.

    Raises:
        BackendError: no Python has ns-3; the message names the remedy.
    """
    named = machine.environ.get(PYTHON_VARIABLE)
    if named:
        if shutil.which(named, path=machine.environ.get("PATH")) is None:
            raise BackendError(f"{PYTHON_VARIABLE}={named}: no such program")
        return named
    if importlib.util.find_spec("ns") is not None:
        return sys.executable
    if is_missing(machine):
        raise BackendError(f"ns-3 is not installed here: `{INSTALL}`")
    return str(_python(_environment(machine.environ)))


def is_missing(machine: Machine) -> bool:
    """Whether ns-3 has to be installed first: no environment variable names a Python for it, and
    neither netwarp's own Python nor the cache has it.
    """
    return (
        not machine.environ.get(PYTHON_VARIABLE)
        and importlib.util.find_spec("ns") is None
        and not _stamp(_environment(machine.environ)).is_file()
    )


def install(environ: Mapping[str, str] = os.environ) -> Path:
    """Install ns-3 into the cache, unless it is there already. If another process is installing it,
    this call waits until that has ended.

    Returns:
        The virtual environment that contains it.

    Raises:
        BackendError: the cache cannot be written, or pip fails; the message has pip's reason.
    """
    place = _environment(environ)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / "install.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _stamp(place).is_file():
                _install_into(place, environ)
    except OSError as error:
        raise BackendError(
            f"ns-3 cannot be installed into {place} ({error.strerror}): make room there, or name"
            " another cache with XDG_CACHE_HOME"
        ) from None
    return place


def _install_into(place: Path, environ: Mapping[str, str]) -> None:
    environment = (sys.executable, "-m", "venv", "--clear", place)
    package = (_python(place), "-m", "pip", "install", "--disable-pip-version-check", PACKAGE)
    _succeed("a virtual environment", environment, environ)
    _succeed(PACKAGE, package, environ)
    # written last, so that the file exists only when the environment is complete
    _stamp(place).write_text(PACKAGE)


def _succeed(what: str, command: Sequence[str | Path], environ: Mapping[str, str]) -> None:
    """Run a command of the installation; raise BackendError if it fails."""
    done = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or f"status {done.returncode}"
        # pip repeats its attempts; the last line of its output gives the reason.
        raise BackendError(
            f"ns-3 cannot be installed: {what} failed with"
            f" {one_line(said[-REASON_LENGTH:], REASON_LENGTH)!r}. Mend that and give the command"
            f" again, or install {PACKAGE} into any Python and name it: {PYTHON_VARIABLE}=PATH"
        )


def _environment(environ: Mapping[str, str]) -> Path:
    # The package's compiled parts work with one version of Python only.
    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    return cache_directory(environ) / "ns3" / f"{PACKAGE.replace('==', '-')}-{python}"


def _python(place: Path) -> Path:
    return place / "bin" / "python"


def _stamp(place: Path) -> Path:
    return place / "netwarp-ns3.stamp"
