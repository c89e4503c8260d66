"""Searches a program's output with a study's regular expression, in a process that can be ended.

Python's `re` backtracks: the time of a search can double with each letter, and meanwhile the
interpreter does nothing else, not even handle Ctrl-C. Refusing expressions by their form would not
help: `(?:[0-9]+[.])+` is a nested repetition but harmless; `a*a*a*b` is not nested but not
harmless. So the search runs in a separate process with a limit on CPU time, which does not depend
on how busy the machine is. That process runs this file as a script, which therefore imports only
the standard library.
"""

import json
import re
import resource
import signal
import subprocess
import sys
from functools import lru_cache

MOST_CPU_S = 5
"""Maximum CPU time of a search, in seconds; searching a MiB of ordinary output takes
milliseconds."""
MOST_ADDRESSES = 1 << 30
"""Maximum size of the address space of a search, in bytes."""
_KEPT_ANSWERS = 8


class EndlessSearchError(ValueError):
    """A search was ended because it took too much time or memory."""


def last_match(pattern: str, text: str) -> str | None:
    """Return the last match in a text, or its group if the pattern has one; None without a match.

    Raises:
        EndlessSearchError: the search took too much time or memory.
    """
    answer = _answer(pattern, text, MOST_CPU_S)
    if answer is None:
        raise EndlessSearchError(
            f"the search for {pattern} took more than {MOST_CPU_S} s of CPU time or"
            f" {MOST_ADDRESSES >> 30} GiB: write it without repetitions that can share what they"
            " match, such as (a+)+ or a*a*"
        )
    (found,) = json.loads(answer)
    return None if found is None else str(found)


@lru_cache(maxsize=_KEPT_ANSWERS)
def _answer(pattern: str, text: str, most_cpu_s: int) -> str | None:
    """Return what the searching process prints, as JSON; None if it was ended.

    The result is cached, because a metric is read twice: to check whether the run failed, and for
    its value.
    """
    searching = subprocess.run(
        [sys.executable, "-I", "-S", __file__, str(most_cpu_s)],
        input=json.dumps([pattern, text]),
        capture_output=True,
        text=True,
        check=False,
        process_group=0,  # Ctrl-C is handled by the process that waits
    )
    if searching.returncode in (-signal.SIGXCPU, -signal.SIGKILL, _OUT_OF_MEMORY):
        return None
    searching.check_returncode()
    return searching.stdout


_OUT_OF_MEMORY = 3


def _search(most_cpu_s: int) -> int:
    """Read pattern and text from standard input, search, and print the last match as JSON."""
    resource.setrlimit(resource.RLIMIT_CPU, (most_cpu_s, most_cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    pattern, text = json.load(sys.stdin)
    found = None
    try:
        for match in re.finditer(pattern, text, re.MULTILINE):
            found = match[match.re.groups]
    except MemoryError:
        return _OUT_OF_MEMORY
    json.dump([found], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(_search(int(sys.argv[1])))
