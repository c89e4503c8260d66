"""Builds the kernels of a repository's commits one after another, each with the object files of the
one before.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.backends.building import run_builder
from netwarp.backends.guest_files import GuestKernel, build_script, open_kernel
from netwarp.errors import BackendError

CANNOT_BE_BUILT = 4
"""Exit status of guest/build.sh if the commit's source cannot be compiled."""


@dataclass(frozen=True)
class CommitBuilder:
    """Builds the kernels of commits into a separate cache."""

    repository: Path
    tree: Path
    """Directory of the source tree and its object files, which are kept between builds."""
    cache: Path
    """Directory of the built kernels."""
    changes: Sequence[str] = ()
    """Further options of guest/build.sh, such as lines of configuration."""
    jobs: int | None = None

    def kernel(self, commit: str) -> GuestKernel | None:
        """Return the kernel of a commit, which is built if it is not built yet; None if this commit
        cannot be built. The messages of the build are printed.

        Raises:
            BackendError: nothing can be built here, for example for lack of room.
        """
        status = run_builder(self._command(commit))
        if status == CANNOT_BE_BUILT:
            return None
        if status != 0:
            raise BackendError(f"the kernel of {commit} could not be built: see above")
        found = subprocess.run(
            [*self._command(commit), "--print"], capture_output=True, text=True, check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        return open_kernel(Path(found.stdout.strip()))

    def _command(self, commit: str) -> list[str]:
        """Return the command that builds the guest kernel of a commit."""
        options = {
            "--git": self.repository, "--ref": commit, "--tree": self.tree, "--cache": self.cache,
        }  # fmt: skip
        jobs = [] if self.jobs is None else ["--jobs", str(self.jobs)]
        given = (word for name, value in options.items() for word in (name, str(value)))
        return [str(build_script()), *given, *jobs, *self.changes]
