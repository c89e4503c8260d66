"""What nobody foresaw: a report file for whoever mends it, and one line for the user."""

import platform
import shlex
import tempfile
import traceback
from collections.abc import Sequence
from importlib import metadata

UNEXPECTED_STATUS = 70
"""Exit status: EX_SOFTWARE of sysexits.h."""


def unexpected(error: Exception, arguments: Sequence[str]) -> str:
    """Write a report of an error that is netwarp's own, and give the line that says where it is."""
    what = f"this is a defect of netwarp, not of what was asked ({_summary(error)})"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="netwarp-error-", suffix=".txt", delete=False, errors="backslashreplace"
        ) as report:
            report.write(_report(error, arguments))
    except OSError as problem:
        return f"{what}; no report could be written: {problem.strerror}"
    return f"{what}; please report it with {report.name}"


def _report(error: Exception, arguments: Sequence[str]) -> str:
    return "\n".join(
        [
            f"netwarp {metadata.version('netwarp')}, Python {platform.python_version()},"
            f" {platform.platform()}",
            f"$ {shlex.join(['netwarp', *arguments])}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )


def _summary(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
