"""The commits of a git repository: their hashes, their messages, and the order in which a bisection
tests them.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.errors import InputError


@dataclass(frozen=True)
class History:
    """The commits of a git repository."""

    place: Path

    def commit(self, ref: str, option: str) -> str:
        """Return the hash of a commit.

        Args:
            ref: a tag, branch or hash.
            option: the option that the user gave it with, for the message.

        Raises:
            InputError: there is no such commit, or no git repository.
        """
        found = self._ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"
        )
        if found.returncode != 0:
            raise InputError(
                f"{option} {ref}: there is no such commit in {self.place}, or no repository of git"
                " (`git fetch --tags` there fetches what is missing)"
            )
        return found.stdout.strip()

    def is_before(self, earlier: str, later: str) -> bool:
        """Return whether commit `earlier` is an ancestor of commit `later`."""
        return self._ask("merge-base", "--is-ancestor", earlier, later).returncode == 0

    def ranked(self, bad: str, goods: Sequence[str]) -> list[str]:
        """Return the commits in the history of `bad` and in none of `goods`, beginning with those
        that divide them into the most equal halves.

        Raises:
            InputError: git fails.
        """
        found = self._ask("rev-list", "--bisect-all", bad, "--not", *goods)
        if found.returncode != 0:
            raise InputError(f"git rev-list --bisect-all in {self.place}: {found.stderr.strip()}")
        return [line.split()[0] for line in found.stdout.splitlines()]

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return self._ask("show", "-s", "--format=%s", commit).stdout.strip()

    def description(self, commit: str) -> str:
        """Return a commit's hash, author, date and message, and which files it changes."""
        return self._ask("show", "--no-color", "--stat", "--format=medium", commit).stdout.rstrip()

    def parents(self, commit: str) -> list[str]:
        """Return the parents of a commit."""
        return self._ask("show", "-s", "--format=%P", commit).stdout.split()

    def _ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a git command in the repository, and return its exit status and output."""
        try:
            return subprocess.run(
                ["git", "-C", str(self.place), *arguments],
                capture_output=True, text=True, errors="replace", check=False,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"git cannot be started ({error.strerror}): install it") from None
