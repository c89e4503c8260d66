"""Counts the guest system calls of a run, exactly: `bench/tracer.py` takes the endpoint's place."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

from bench import tracer
from bench.guests import plan
from bench.lines import Transfer
from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import run_job
from netwarp.run_directory import CONSOLE_FILE

_WRAPPER = """#!/bin/sh
# The host's side of the endpoint is left as it is.
[ "$1" = guest ] || exec {endpoint} "$@"
exec {python} {tracer} {endpoint} "$@"
"""


def count(line: Transfer) -> int:
    """Run one transfer traced; give how many system calls its two roles made."""
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        wrapper = Path(directory) / "endpoint"
        words = {
            "endpoint": VirtualBackend().endpoint,
            "python": Path(sys.executable).resolve(),
            "tracer": tracer.__file__,
        }
        quoted = {name: shlex.quote(str(word)) for name, word in words.items()}
        wrapper.write_text(_WRAPPER.format(**quoted))
        wrapper.chmod(0o755)
        place = Path(directory) / "run"
        place.mkdir()
        backend = VirtualBackend(environ={**os.environ, "NETWARP_ENDPOINT": str(wrapper)})
        outcome = run_job(backend, plan(line).job, place)
        if outcome.failed:
            raise SystemExit(f"counting {line.name} failed: {outcome.status.reason}")
        console = (place / CONSOLE_FILE).read_text(errors="replace")
    (counts,) = (text for text in console.splitlines() if text.startswith(tracer.MARK))
    by_number: dict[str, int] = json.loads(counts.removeprefix(tracer.MARK))
    return sum(by_number.values())
