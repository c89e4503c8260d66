"""The console for all text on a terminal. It escapes control characters, because the text may come
from others.

A run directory of somebody else contains names of conditions and workloads, and reasons of
failures. The user's terminal would execute escape sequences in them.
"""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from netwarp.errors import without_controls

UNKNOWN_WIDTH = 80


class PrintableConsole(Console):
    """A console that prints control characters in texts as escapes. The control sequences that it
    makes itself are not changed.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.width < 1:  # COLUMNS=0, as of a terminal that has no size
            self.width = UNKNOWN_WIDTH

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Render text with control characters escaped, also that of progress bars, which draw
        themselves.
        """
        for segment in super().render(renderable, options):
            is_own = segment.control is not None
            yield segment if is_own else segment._replace(text=without_controls(segment.text))
