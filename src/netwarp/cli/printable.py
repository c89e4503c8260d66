"""The console for all text that is printed on a terminal; it escapes control characters, because
the text may come from others.

A foreign run directory contains names of conditions and workloads and reasons of failures; an
escape sequence in one would be executed by the reader's terminal.
"""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from netwarp.errors import without_controls

UNKNOWN_WIDTH = 80


class PrintableConsole(Console):
    """A console that prints control characters in texts as escapes; its own control sequences are
    kept.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.width < 1:  # COLUMNS=0, as of a terminal that has no size
            self.width = UNKNOWN_WIDTH

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Render what is printed, including progress bars, which draw themselves."""
        for segment in super().render(renderable, options):
            is_own = segment.control is not None
            yield segment if is_own else segment._replace(text=without_controls(segment.text))
