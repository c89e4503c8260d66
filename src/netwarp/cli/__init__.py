"""The command line: arguments → calls. No logic lives here.

Ctrl-C is listened to before anything else is imported. Commands are imported when they are called,
and import what draws and computes when they need it, so that `--help` and a refused option answer
at once.

`program.py` is the program, `commands.py` has its commands by name, `command.py` makes one of rows
of the table of options, and `help.py` lays out what they say. `refusals.py` words what is wrong,
`interruption.py` hears Ctrl-C, `surroundings.py` what the machine refuses; `terminal.py`,
`printing.py` and `progress.py` print.
"""

import gc
import os
from typing import NoReturn

from netwarp.cli.interruption import interruption
from netwarp.cli.surroundings import (
    open_standard_streams,
    refuse_little_memory,
    why_refused,
)


def main() -> NoReturn:
    """Run the program, and end the process with its exit status."""
    try:
        status = _status()
    finally:
        # Also where the interruption has become another exception on its way.
        if interruption.requested:
            interruption.leave()
    interruption.end_process(status)


def _status() -> int:
    try:
        open_standard_streams()
        too_little = refuse_little_memory()
        if too_little is not None:
            return _said(too_little)
        interruption.listen()
        # What is imported stays: to look for garbage in it costs a tenth of the time of a table,
        # and so does pydantic's look for plugins among all installed packages.
        gc.set_threshold(500_000)
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        # What computes has no use for threads of its own, and where a limit of memory lets none
        # start, OpenBLAS waits for them for ever.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from netwarp.cli.program import run_program

        return run_program()
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
        # The program itself could not be loaded, so there is nothing better to say it with.
        reason = why_refused(error)
        if reason is None:
            raise
        return _said(reason)


def _said(reason: str) -> int:
    os.write(2, f"error: {reason}\n".encode(errors="backslashreplace"))
    return 1
