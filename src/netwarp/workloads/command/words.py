"""Placeholders in commands: ``{server}``, ``{port}``, and those that a study defines."""

import re
from collections.abc import Mapping

from netwarp.fields import KeyValueError

USUAL_PORT = 80
FIXED = ("server", "client", "port", "run")
"""Placeholders that netwarp itself fills in. `run` is the run's name, which is different in each
run."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def filled(text: str, words: Mapping[str, str]) -> str:
    """Return a text with its placeholders filled in. Braces around anything else stay, as shells
    and JSON use them.
    """
    return re.sub(r"\{(\w+)\}", lambda found: words.get(found[1], found[0]), text)


def refuse_useless(words: Mapping[str, str], texts: tuple[str, ...]) -> None:
    """Refuse placeholders that have an invalid name, or that no command uses.

    Raises:
        KeyValueError: a name is invalid, or no command has the placeholder.
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
