"""Kernels that seem to be built, and a study of one cell for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from netwarp.study import study_from_mapping
from netwarp.wire import Job

HAS = "CONFIG_NET_SCH_CODEL=y\nCONFIG_IP_SCTP=y\nCONFIG_MPTCP=y\nCONFIG_TCP_CONG_CUBIC=y\n"


def build(environ: dict[str, str], name: str, config: str = HAS, **info: Any) -> Path:
    """Put a kernel into the cache as guest/build.sh leaves it, but for the program."""
    directory = Path(environ["XDG_CACHE_HOME"], "netwarp", "kernel", name)
    directory.mkdir(parents=True)
    version = name.partition("-")[0]
    package = f"linux-source-{version.rpartition('.')[0]}"
    said: dict[str, Any] = {"version": version, "source_package": package, "seccomp": True}
    said |= {"built": name, "seeded_getrandom": True} | info
    (directory / "kernel.json").write_text(json.dumps(said))
    (directory / "config").write_text(config)
    (directory / "linux").write_text("")
    return directory


STUDY: dict[str, Any] = {
    "title": "One cell",
    "path": {"rtt": "20ms", "rate": "10mbit"},
    "transport": {"kind": "tcp"},
    "workload": {"size": "1MB"},
}


def job_of(path: dict[str, Any], **transport: Any) -> Job:
    study = STUDY | {
        "path": STUDY["path"] | path,
        "transport": STUDY["transport"] | transport,
    }
    return study_from_mapping(study).cells[0].template
