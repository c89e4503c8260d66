"""Handles unexpected errors: writes a report file for developers, and returns a line for the user.

The error is attributed to the package in whose code it happened: netwarp, or one that extends it.
"""

import platform
import shlex
import tempfile
import traceback
from collections.abc import Sequence
from importlib import metadata

from netwarp.plugins import added_by

UNEXPECTED_STATUS = 70
"""Exit status after an unexpected error: EX_SOFTWARE of sysexits.h."""


def unexpected(error: BaseException, arguments: Sequence[str]) -> str:
    """Write a report of an unexpected error, and return the line that says where it is."""
    added = added_by(_modules(error))
    what = f"this is a defect of netwarp, not of what was asked ({_summary(error)})"
    where = "please report it"
    if added is not None:
        what = f"the package {added.package} failed, which adds the {added} ({_summary(error)})"
        where = f"mend or uninstall {added.package}, or tell its authors"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="netwarp-error-", suffix=".txt", delete=False, errors="backslashreplace"
        ) as report:
            report.write(_report(error, arguments))
    except OSError as problem:
        return f"{what}; no report could be written: {problem.strerror}"
    return f"{what}; {where} with {report.name}"


def _modules(error: BaseException) -> list[str]:
    """Return the names of the modules through which an error passed, the innermost first."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [str(frame.f_globals.get("__name__")) for frame in reversed(frames)]


def _report(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the report of an unexpected error as text: versions, command line and traceback."""
    return "\n".join(
        [
            f"netwarp {metadata.version('netwarp')}, Python {platform.python_version()},"
            f" {platform.platform()}",
            f"$ {shlex.join(['netwarp', *arguments])}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )


def _summary(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200]
