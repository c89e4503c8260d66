"""The script that draws charts in a page: Vega, Vega-Lite and Vega-Embed, bundled once.

Bundling takes longer than all the rest of a report, and gives the same for the same version of
vl-convert. The bundle is therefore kept in the user's cache, beside the guest kernel.
"""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp import vega
from netwarp.cache import cache_directory
from netwarp.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping


def chart_script(environ: Mapping[str, str] = os.environ) -> str:
    """Give the bundle, safe to stand in a script element of HTML.

    A cache that cannot be written, or holds something else than what was put there, costs time
    and nothing else.
    """
    path = _cached_at(environ)
    kept = _read(path)
    if kept is not None:
        return kept
    # Nothing in it may end the script element early.
    script = vega.script_bundle().replace("</script", "<\\/script")
    _keep(path, script)
    return script


def _cached_at(environ: Mapping[str, str]) -> Path:
    versions = f"{__version__}-{metadata.version('vl-convert-python')}"
    return cache_directory(environ) / "charts" / f"vega-{versions}.js"


def _read(path: Path) -> str | None:
    """Read the kept script; None where there is none, or its checksum in line one is another's."""
    try:
        digest, _, script = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if digest == _digest_line(script) else None


def _keep(path: Path, script: str) -> None:
    """Put the script where others find all of it or nothing, however many do so at once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as f:
            temporary = Path(f.name)
            try:
                f.write(f"{_digest_line(script)}\n{script}")
                f.flush()
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
    except OSError:
        return


def _digest_line(script: str) -> str:
    return f"// sha256 {sha256(script.encode()).hexdigest()}"
