"""The script that draws charts in a page: a bundle of Vega, Vega-Lite and Vega-Embed.

Bundling takes longer than the rest of a report, and its result depends only on the version of
vl-convert. The bundle is therefore kept in the user's cache, beside the guest kernel.
"""

import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from netwarp import vega
from netwarp.cache import cache_directory
from netwarp.version import __version__


def chart_script(environ: Mapping[str, str] = os.environ) -> str:
    """Return the bundle of chart libraries, escaped for a script element of HTML.

    If the cache cannot be written or is damaged, the bundle is made again.
    """
    path = _cached_at(environ)
    kept = _read(path)
    if kept is not None:
        return kept
    # Text that would end the script element is escaped.
    script = vega.script_bundle().replace("</script", "<\\/script")
    _keep(path, script)
    return script


def _cached_at(environ: Mapping[str, str]) -> Path:
    versions = f"{__version__}-{metadata.version('vl-convert-python')}"
    return cache_directory(environ) / "charts" / f"vega-{versions}.js"


def _read(path: Path) -> str | None:
    """Read the cached script; None if there is none, or its checksum in the first line is wrong."""
    try:
        digest, _, script = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if digest == _digest_line(script) else None


def _keep(path: Path, script: str) -> None:
    """Write the script to the cache atomically, even if several processes do so at once."""
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
