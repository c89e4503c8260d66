"""Messages: one line, printable, and no longer than was asked for."""

from __future__ import annotations

import pytest

from netwarp.errors import one_line


@pytest.mark.parametrize(
    "text", ["", "a", "a" * 20, "a" * 21, "\x1b" * 19, "\u202e" * 500, "a\n" * 9]
)
def test_a_message_is_one_printable_line_of_bounded_length(text: str) -> None:
    shown = one_line(text, 20)
    assert len(shown) <= 20
    assert shown.isprintable()
    assert shown == text or not text.isprintable() or shown.endswith("…")
