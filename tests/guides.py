"""The documents for users, taken apart: what they tell to type, and the files they give."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
# Those that are generated, or about netwarp's inside, give nothing to type.
# What extending.md gives is typed where its package is installed, by cli/test_extending.py.
GUIDES = [
    REPOSITORY / "README.md",
    *(guide for guide in sorted(DOCS.glob("*.md")) if guide.name != "extending.md"),
]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`(netwarp [a-z0-9]+ [^`]*)`")
_SAVED = re.compile(r"Save this as `([^`]+)`:\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    """`console`: a test types it. Without: commands to read. `python`: a test runs it."""
    text: str
    file: str | None
    """The file that the reader is told to save it as."""

    @property
    def typed(self) -> list[list[str]]:
        """What stands after prompts, as arguments."""
        lines = self.text.splitlines()
        return [shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ ")]


def blocks(guide: Path) -> list[Block]:
    """Find all fenced blocks of a document, in order."""
    text = guide.read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        saved = _SAVED.search(text[: fence.start()])
        found.append(Block(fence[1], fence[2], saved[1] if saved else None))
    return found


def commands(guide: Path) -> list[list[str]]:
    """Find every command line of netwarp in a document, typed by a test or not."""
    prose = _FENCE.sub("", guide.read_text(encoding="utf-8"))
    found = [shlex.split(line.replace("\\|", "|")) for line in _INLINE.findall(prose)]
    for block in blocks(guide):
        if block.language in ("", "sh", "console"):
            lines = (line.removeprefix("$ ") for line in block.text.splitlines())
            found += [
                shlex.split(line, comments=True) for line in lines if line.startswith("netwarp ")
            ]
    return found
