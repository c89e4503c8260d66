"""The console that all text for a terminal passes: what it says may be somebody else's.

A run directory of somebody else's names conditions, workloads and reasons; an escape sequence in
one would be an order to the reader's terminal.
"""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from netwarp.errors import without_controls


class PrintableConsole(Console):
    """A console that writes control characters in a text as escapes; its own orders pass."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Render what is printed, a progress bar too, which draws itself."""
        for segment in super().render(renderable, options):
            is_own = segment.control is not None
            yield segment if is_own else segment._replace(text=without_controls(segment.text))
