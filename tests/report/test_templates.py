"""What templates make of a study's own texts."""

from __future__ import annotations

import pytest

from netwarp.report.templates import with_code


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`make test` or `make demo`", "<code>make test</code> or <code>make demo</code>"),
        ("a <b> & `<script>`", "a &lt;b&gt; &amp; <code>&lt;script&gt;</code>"),
        ("one ` alone <i>", "one ` alone &lt;i&gt;"),
        ("plain", "plain"),
    ],
)
def test_what_stands_between_backquotes_is_code_and_nothing_else_is_markup(
    text: str, shown: str
) -> None:
    assert str(with_code(text)) == shown
