"""Starts guest kernels at addresses that are not randomised, if the host allows it.

The default seccomp profiles of Docker and Podman forbid it (personality(2), ADDR_NO_RANDOMIZE). A
kernel of User-Mode Linux starts even then, but with a random gap behind its program, which it adds
to its memory if the gap is larger than 1 MiB (arch/um/kernel/um_arch.c, `linux_main`).
"""

import subprocess

from netwarp.backends.launching import at_fixed_addresses, nothing
from netwarp.backends.needs import Machine, Need
from netwarp.errors import BackendError


def fixed_addresses() -> list[str]:
    """Return the command prefix that starts a program at fixed addresses; empty if the host forbids
    it.
    """
    return at_fixed_addresses() if _refused() is None else []


def _refused() -> str | None:
    """Try to start a program without address randomisation; return the error if the host forbids
    it, else None.
    """
    command = [*at_fixed_addresses(), *nothing()]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else tried.stderr.strip()


def _describe(_: Machine) -> str:
    """Return as text whether guests' kernels can start at fixed addresses, for `netwarp doctor`."""
    refused = _refused()
    if refused is not None:
        raise BackendError(
            "guests' memory differs by up to 32 MiB between runs, because addresses cannot be fixed"
            f" here ({refused}), as in a container; records were the same wherever that was tried."
            " `--security-opt seccomp=unconfined` allows it"
        )
    return "guests' kernels start at the same addresses in every run"


FIXED_ADDRESSES = Need("addresses", _describe, _describe, optional=True)
"""The optional requirement that programs can run at addresses that are not randomised."""
