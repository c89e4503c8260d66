"""The cache directory, for everything that is built once for all checkouts of netwarp."""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the cache directory (XDG Base Directory Specification)."""
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/")) / ".cache"
    return Path(base) / "netwarp"
