"""Runs the comparison that a page asks for, in a separate thread: one replicate first, then more.

The number of replicates is the study's, whatever the first ones show. Answers before the last
replicate are marked as provisional.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError, NetwarpError
from netwarp.ui.address import command_of, options_of
from netwarp.ui.asked import Asked, Event, import_what_runs

if TYPE_CHECKING:
    from netwarp.study import Study

MOST_RUNS = 400
"""Maximum number of runs of one comparison: a page is for results within seconds, the command line
for those that take hours."""


def looks(replicates: int) -> list[int]:
    """Return the numbers of replicates after which results are sent to the page: 1, 2, 3, 5, 10, …,
    and the last one.
    """
    steps = [1, 2, 3, 5, 10, 20, 50, 100, 200]
    return [step for step in steps if step < replicates] + [replicates]


class WhatIf(Asked):
    """A comparison that is running for a page.

    Args:
        pairs: the pairs of the page's address.
        folder: the folder in which its run directory is made.
        after: see :class:`Asked`.
    """

    def __init__(
        self, pairs: list[tuple[str, str]], folder: Path, after: Asked | None = None
    ) -> None:
        super().__init__(after)
        self._pairs, self._folder = pairs, folder

    def _answers(self) -> Iterator[Event]:
        from netwarp.execution.local import LocalExecutor
        from netwarp.library import backend_for, run
        from netwarp.ui.answers import answer
        from netwarp.ui.going import Going, expected_text

        given = options_of(self._pairs)
        study = study_of(given)
        backend = backend_for(study, "virtual")
        if not self._begins_with(backend):
            return
        self.directory = self._folder / directory_name(study)
        going = Going(self._put, len(study.cells) * study.replicates)
        expected = expected_text(study, LocalExecutor().at_a_time(backend))
        yield "started", {"title": study.title, "of": study.replicates, "expected": expected}
        for step in looks(study.replicates):
            done = run(
                study_of({**given, "replicates": step}), backend, out=self.directory,
                command_line=shlex.split(command_of(given)), observer=going,
            )  # fmt: skip
            found = answer(done.data, study.replicates)
            yield "answer", found
            if not found["metrics"]:
                yield "failed", {"message": "; ".join(found["failures"]) or "nothing was measured"}
                return


def prepare() -> None:
    """Import and read what the first comparison needs, while the user looks at the page."""
    import_what_runs()
    from netwarp.library import backend_for
    from netwarp.ui.knobs import START

    with suppress(NetwarpError):  # which the question itself says
        backend_for(study_of(options_of(START.items())), "virtual").provenance()


def study_of(given: Mapping[str, Any]) -> Study:
    """Return the study that options define.

    Raises:
        StudyError: `netwarp compare` would refuse it, too, or it names a file or program of this
            machine.
        InputError: it would run programs, or have too many runs for a page.
    """
    from netwarp.study.compare import study_from_compare
    from netwarp.study.expecting import expecting
    from netwarp.workloads import runs_programs

    of_study = {name: value for name, value in given.items() if name != "expect"}
    study = expecting(study_from_compare(is_closed=True, **of_study), given.get("expect", ()))
    if any(runs_programs(cell.template) for cell in study.cells):
        raise InputError("programs are not run from a page: copy the command into a shell")
    runs = len(study.cells) * study.replicates
    if runs > MOST_RUNS:
        raise InputError(
            f"{runs} runs, and a page shows at most {MOST_RUNS}: copy the command into a shell"
        )
    return study


def directory_name(study: Study) -> str:
    """Return the name of a study's run directory. It depends on the number of replicates, because a
    directory's results include all replicates in it.
    """
    from netwarp.pipeline import NO_OTHER_RUNS

    raw = {key: value for key, value in study.raw.items() if key not in NO_OTHER_RUNS}
    digest = sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()[:12]
    return f"what-if-{digest}-{study.replicates}"
