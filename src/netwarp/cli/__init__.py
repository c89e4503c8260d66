"""The command line: arguments → calls. No logic lives here.

Ctrl-C is listened to before anything else is imported. Commands are imported when they are called,
and import what draws and computes when they need it, so that `--help` and a refused option answer
at once.
"""

from __future__ import annotations

import gc
import os
from typing import NoReturn

from netwarp.cli.interruption import interruption


def main() -> NoReturn:
    """Run the program, and end the process with its exit status."""
    try:
        interruption.listen()
        # What is imported stays: to look for garbage in it costs a tenth of the time of a table,
        # and so does pydantic's look for plugins among all installed packages.
        gc.set_threshold(500_000)
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        from netwarp.cli.program import run_program

        status = run_program()
    finally:
        # Also where the interruption has become another exception on its way.
        if interruption.requested:
            interruption.leave()
    interruption.end_process(status)
