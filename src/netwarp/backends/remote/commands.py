"""Commands that a server runs for its clients, if its owner allows it (`--allow-exec`)."""

import contextlib
import hashlib
import os
import pwd
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netwarp.errors import BackendError

CHECK_TIMEOUT_S = 30.0
SHOWN_CHARACTERS = 4000
"""Maximum number of characters of a command that are printed. A longer command is cut, and its
length and SHA-256 are added."""
PORTS_FROM = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")


@dataclass(frozen=True)
class Containment:
    """The limits on what the commands of clients can reach on this host."""

    hidden: tuple[Path, ...]
    """Directories that the commands see as empty."""
    ports_from: int
    """The first port at which the commands may listen."""

    @property
    def options(self) -> list[str]:
        """The options of the endpoint that enforce these limits."""
        return [f"--hidden={directory}" for directory in self.hidden]


def containment(endpoint: Path, identity: Path) -> Containment:
    """Check that this host can contain commands, with the endpoint's help, and return the limits on
    what they can reach.

    Args:
        endpoint: the endpoint, which contains them.
        identity: the directory with this host's key.

    Raises:
        BackendError: commands cannot be contained on this host.
    """
    found = Containment(_hidden(identity), int(PORTS_FROM.read_text()))
    try:
        tried = subprocess.run(
            [endpoint, "check-containment", *found.options],
            capture_output=True, text=True, check=False, timeout=CHECK_TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BackendError(
            f"--allow-exec: {endpoint} did not say whether commands can be contained here"
        ) from None
    if tried.returncode != 0:
        why = tried.stderr.strip().removeprefix("netwarp-endpoint: ")
        raise BackendError(
            f"--allow-exec: commands cannot be contained on this host, and are not run otherwise:"
            f" {why or tried.returncode}"
        )
    return found


def _hidden(identity: Path) -> tuple[Path, ...]:
    """Return the directories that are hidden from commands: the directory of this host's key, and
    the user's home.
    """
    homes = {Path(home).resolve() for home in _homes() if home}
    own = (home for home in sorted(homes) if home != Path("/") and _is_own(home))
    return (identity.resolve(), *own)


def _homes() -> Iterator[str | None]:
    yield os.environ.get("HOME")
    with contextlib.suppress(KeyError):  # a user without an entry in the user database
        yield pwd.getpwuid(os.geteuid()).pw_dir


def _is_own(directory: Path) -> bool:
    """Return whether a directory belongs to this user; a system user's home may be shared."""
    return directory.is_dir() and directory.stat().st_uid == os.geteuid()


def shown(command: str) -> str:
    """Return a command as one line, with control characters escaped, cut after `SHOWN_CHARACTERS`.
    Pure.
    """
    line = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in command)
    if len(line) <= SHOWN_CHARACTERS:
        return line
    sha256 = hashlib.sha256(command.encode(errors="surrogatepass")).hexdigest()
    return f"{line[:SHOWN_CHARACTERS]}… ({len(command)} characters, SHA-256 {sha256})"
