"""Makes a Markdown page about how the kernel's tests ended."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from netwarp.errors import without_controls
from netwarp.selftests.outcomes import Row, Verdict, flip_texts, same_seed_texts, summary

PAGE_START = "# The kernel's own tests on Linux "
"""Beginning of every page of test results, by which netwarp recognises that it may overwrite a
file."""
_TITLES = {
    Verdict.FAIL: "Failed",
    Verdict.STOPPED: "Stopped",
    Verdict.PASS: "Passed",
    Verdict.SKIP: "Skipped",
}
_MEANS = {
    Verdict.FAIL: "",
    Verdict.STOPPED: "These runs came to no end that says anything about the kernel.",
    Verdict.PASS: "Times are those of the run's clock, the longest of all seeds.",
    Verdict.SKIP: "",
}


def page(found: Sequence[Row], kernel: str, command: Sequence[str]) -> str:
    """Return the page about how the tests ended: a table for each outcome, the worst first. Tests
    that were skipped for the same reason share a row.

    Args:
        found: how each test ended.
        kernel: the kernel's version and key.
        command: the command that ran them.
    """
    lines = [f"{PAGE_START}{kernel}", ""]
    lines += [f"{summary(found)}. Written by `{_plain(shlex.join(command))}`."]
    for text in (*flip_texts(found), *same_seed_texts(found)):
        lines += ["", f"- {_plain(text)}"]
    for verdict, title in _TITLES.items():
        rows = [row for row in found if row.verdict is verdict]
        if rows:
            lines += ["", f"## {title}: {len(rows)}", ""]
            lines += [_MEANS[verdict], ""] if _MEANS[verdict] else []
            lines += _by_reason(rows) if verdict is Verdict.SKIP else _by_test(rows)
    return "\n".join(lines) + "\n"


def _by_test(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("| test | time | runs | why |", "| --- | --- | --- | --- |")
    for row in rows:
        took_s = [run.took_s for run in row.runs if run.took_s is not None]
        time = f"{max(took_s):.1f} s" if took_s else ""
        ended = ", ".join(f"{row.counts[of]} {of.value}" for of in Verdict if row.counts[of])
        yield f"| `{row.test.name}` | {time} | {ended} | {_cell(row.why)} |"


def _by_reason(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each reason why tests were skipped, beginning with the most frequent."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(row.why, []).append(row.test.name)
    yield from ("| why | tests |", "| --- | --- |")
    for why, listed in sorted(names.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"| {_cell(why)} | {', '.join(f'`{name}`' for name in listed)} |"


def _cell(text: str) -> str:
    return f"`{_plain(text)}`".replace("|", "\\|") if text else ""


def _plain(text: str) -> str:
    return without_controls(text).replace("\n", " ").replace("`", "'")
