"""Words that stand for others in commands: ``{server}``, ``{port}``, and what a study varies."""

from __future__ import annotations

import re
from collections.abc import Mapping

from netwarp.fields import KeyValueError

USUAL_PORT = 80
FIXED = ("server", "client", "port", "run")
"""Words that netwarp fills, the last of them when the run's name is known."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def filled(text: str, words: Mapping[str, str]) -> str:
    """Put words into a text. Braces around anything else are left alone: shells, awk and JSON have
    their own.
    """
    return re.sub(r"\{(\w+)\}", lambda found: words.get(found[1], found[0]), text)


def refuse_useless(words: Mapping[str, str], texts: tuple[str, ...]) -> None:
    """See that words can stand in commands, and that each stands in one.

    Raises:
        KeyValueError: one cannot, or does not.
    """
    for name in words:
        key = f"words.{name}"
        if name in FIXED:
            remedy = "choose another name"
            raise KeyValueError(key, None, "netwarp itself fills this word", remedy)
        if not _NAME.fullmatch(name):
            raise KeyValueError(key, None, "no word", "write letters, digits and _")
        if not any(f"{{{name}}}" in text for text in texts):
            remedy = f"write {{{name}}} where it belongs, or drop it"
            raise KeyValueError(key, None, "no command has it", remedy)
