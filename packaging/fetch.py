"""Fetches a release's wheels, which SHA256SUMS beside them lists: `fetch.py URL DIRECTORY`.

Only the standard library is imported: nothing is installed yet.
"""

import sys
from hashlib import sha256
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ATTEMPT_S = 60


def main(url: str, directory: Path) -> None:
    """Fetch every wheel that is listed, and compare its hash."""
    for line in read(f"{url}/SHA256SUMS").decode().splitlines():
        expected, name = line.split()
        if not name.endswith(".whl"):
            continue
        content = read(f"{url}/{name}")
        found = sha256(content).hexdigest()
        if found != expected:
            sys.exit(f"{url}/{name} has the hash {found}, and SHA256SUMS says {expected}")
        (directory / Path(name).name).write_bytes(content)


def read(url: str) -> bytes:
    """Return what is at a URL, or end the program with the reason."""
    try:
        with urlopen(url, timeout=ATTEMPT_S) as answer:  # noqa: S310 - the user names it
            content: bytes = answer.read()
            return content
    except (URLError, ValueError, OSError) as error:
        sys.exit(f"cannot fetch {url}: {error}")


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), Path(sys.argv[2]))
