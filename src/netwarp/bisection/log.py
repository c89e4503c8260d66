"""The log of a bisection, from which it is resumed, in the format that `git bisect log` writes and
`git bisect replay` reads, with the results of each commit as comments.
"""

import re
from collections.abc import Iterable

from netwarp.bisection.search import Answer, Examined

START = "git bisect start\n"
_ANSWER = re.compile(r"git bisect (good|bad|skip) ([0-9a-f]{40,64})")


def entry(examined: Examined, subject: str) -> str:
    """Return the lines of a bisection's log for one commit.

    Args:
        examined: the commit, with its answer.
        subject: the first line of its message.
    """
    told = f"{examined.answer.value}: [{examined.commit}] {subject}"
    comments = (told, *examined.why.splitlines())
    lines = "".join(f"# {line}\n" for line in comments)
    return f"{lines}git bisect {examined.answer.value} {examined.commit}\n"


def read(text: str) -> dict[str, Examined]:
    """Return the commits in a log with their answers, in the order of the log. A last line that was
    not written completely is left out.
    """
    found: dict[str, Examined] = {}
    comments: list[str] = []
    for line in _whole_lines(text):
        if line.startswith("# "):
            comments.append(line[2:])
        elif match := _ANSWER.fullmatch(line):
            answer, commit = match.groups()
            found[commit] = Examined(commit, Answer(answer), "\n".join(comments[1:]))
            comments = []
    return found


def _whole_lines(text: str) -> Iterable[str]:
    return text[: text.rfind("\n") + 1].splitlines()
