"""The console that all text for a terminal passes: what it says may be somebody else's.

A run directory of somebody else's names conditions, workloads and reasons; an escape sequence in
one would be an order to the reader's terminal.
"""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

from netwarp.errors import without_controls


class PrintableConsole(Console):
    """A console that writes control characters in a text as their escapes; its own pass."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.push_render_hook(_EscapeControls())


class _EscapeControls(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Escaped(each) for each in renderables]


class _Escaped:
    def __init__(self, inner: ConsoleRenderable) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._inner, options):
            is_own = segment.control is not None
            yield segment if is_own else segment._replace(text=without_controls(segment.text))
