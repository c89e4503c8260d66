"""Refuses to overwrite files that netwarp did not write, so that a wrong file name destroys
nothing.
"""

from pathlib import Path

from netwarp.errors import InputError

JUNIT_START = '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="netwarp: '
MARKDOWN_START = "## netwarp: "
BASELINE_START = '{\n "netwarp_baseline": '


def refuse_foreign(what: str, path: Path, start: str) -> None:
    """Refuse a file that cannot be written, or that was not written by netwarp.

    Args:
        what: the option or command that names it, for the message.
        path: the file; a new one, an empty one, or one that begins like those of netwarp.
        start: the text with which every file of the kind begins.

    Raises:
        InputError: the file is none of these; nothing was written.
    """
    try:
        if path.is_dir():
            raise InputError(f"{what} {path}: it is a directory; name a file")
        if path.exists() and not path.is_file():
            raise InputError(f"{what} {path}: it is no regular file; name one")
        if not path.parent.is_dir():
            raise InputError(f"{what} {path}: there is no directory {path.parent}; make it")
        if not path.exists():
            return
        with path.open("rb") as file:
            begins = file.read(len(start.encode()))
    except OSError as error:
        raise InputError(f"{what} {path}: {error.strerror}; name another file") from None
    if begins and begins != start.encode():
        raise InputError(
            f"{what} {path}: another file is there, which netwarp did not write; name a new one, or"
            " remove it"
        )
