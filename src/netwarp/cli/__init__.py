"""The command line: arguments → calls. No logic lives here.

Ctrl-C is handled before anything else is imported. Commands are imported when they are called, and
import plotting and statistics only when they need them, so that `--help` and errors in options are
printed at once.

`program.py` is the program, `commands.py` lists its commands by name, `command.py` makes a click
command from rows of the table of options, and `help.py` formats the help. `refusals.py` makes error
messages, `interruption.py` handles Ctrl-C, `surroundings.py` makes messages for errors of the
operating system, and `last_resort.py` handles unexpected ones. `terminal.py`, `printing.py` and
`progress.py` print.
"""

import gc
import os
import sys
from typing import NoReturn

from netwarp.backends.platforms import refused_system
from netwarp.cli.interruption import interruption
from netwarp.cli.surroundings import open_standard_streams, refuse_little_memory, why_refused


def main() -> NoReturn:
    """Run the program, and end the process with its exit status."""
    try:
        status = _status()
    finally:
        # This is needed too if the interruption has become another exception on its way.
        if interruption.requested:
            interruption.leave()
    interruption.end_process(status)


def _status() -> int:
    """Prepare the process, run the program, and return its exit status."""
    try:
        elsewhere = refused_system(sys.platform)
        if elsewhere is not None:
            return _print_error(elsewhere)
        open_standard_streams()
        too_little = refuse_little_memory()
        if too_little is not None:
            return _print_error(too_little)
        interruption.listen()
        # Imported objects are never freed: scanning them for garbage takes a tenth of the time of a
        # table, and so does pydantic's search for plugins among all installed packages.
        gc.set_threshold(500_000)
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        # Our computations do not use threads, and if a memory limit prevents threads from starting,
        # OpenBLAS waits for them for ever.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from netwarp.cli.program import run_program

        return run_program()
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
        # The program itself could not be loaded, so none of its own error messages is available.
        reason = why_refused(error)
        if reason is None:
            raise
        return _print_error(reason)


def _print_error(reason: str) -> int:
    os.write(2, f"error: {reason}\n".encode(errors="backslashreplace"))
    return 1
