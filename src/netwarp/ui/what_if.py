"""Runs what a page asks for, in a thread of its own: one replicate first, then more.

The number of replicates is the study's, whatever the first ones show: what is sent before the last
is marked as the state so far.
"""

from __future__ import annotations

import json
import queue
import shlex
import threading
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError, NetwarpError, StudyError
from netwarp.ui.address import command_of, options_of

if TYPE_CHECKING:
    from netwarp.backends.base import Backend
    from netwarp.study import Study

MOST_RUNS = 400
"""Most runs of one question: a page shows answers of seconds, the command line those of hours."""
Event = tuple[str, dict[str, Any]]
"""The name of an event, and what it says."""


def looks(replicates: int) -> list[int]:
    """Return after how many replicates an answer is sent: 1, 2, 3, 5, 10, …, the last one."""
    steps = [1, 2, 3, 5, 10, 20, 50, 100, 200]
    return [step for step in steps if step < replicates] + [replicates]


class WhatIf:
    """A question that is being run. Its events are read with `next_event`, from any thread.

    Args:
        pairs: the pairs of the page's address.
        folder: the folder in which its run directory is made.
        after: an earlier question, which is cancelled, and whose end is awaited before this begins.
    """

    def __init__(
        self, pairs: list[tuple[str, str]], folder: Path, after: WhatIf | None = None
    ) -> None:
        self._pairs, self._folder, self._after = pairs, folder, after
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._backend: Backend | None = None
        self._is_cancelled = False
        self.directory: Path | None = None
        self._thread = threading.Thread(target=self._go, name="netwarp-what-if", daemon=True)
        if after is not None:
            after.cancel()
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is under way any more."""
        return not self._thread.is_alive()

    def next_event(self) -> Event | None:
        """Wait for the next event; None after the last one."""
        return self._events.get()

    def cancel(self) -> None:
        """End its guests at once; it sends nothing more."""
        with self._lock:
            self._is_cancelled = True
            if self._backend is not None:
                self._backend.stop()
        self._events.put(None)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until nothing of it is under way any more."""
        self._thread.join(timeout_s)

    def _go(self) -> None:
        try:
            if self._after is not None:
                self._after.join()
                self._after = None
            for event in self._answers():
                if self._is_cancelled:
                    return
                self._events.put(event)
        except InputError as error:
            self._put("refused", refusal(error))
        except NetwarpError as error:
            self._put("failed", {"message": str(error)})
        except Exception as error:  # noqa: BLE001 - a thread's last resort: the page says what went wrong
            self._put("failed", {"message": f"{type(error).__name__}: {error}"})
        finally:
            self._events.put(None)

    def _put(self, name: str, said: dict[str, Any]) -> None:
        if not self._is_cancelled:
            self._events.put((name, said))

    def _answers(self) -> Iterator[Event]:
        from netwarp.library import backend_for, run
        from netwarp.ui.answers import answer

        given = options_of(self._pairs)
        study = study_of(given)
        backend = backend_for(study, "virtual")
        if not self._begins_with(backend):
            return
        self.directory = self._folder / directory_name(study)
        yield "started", {"title": study.title, "cells": len(study.cells), "of": study.replicates}
        for step in looks(study.replicates):
            done = run(
                study_of({**given, "replicates": step}), backend, out=self.directory,
                command_line=shlex.split(command_of(given)),
            )  # fmt: skip
            found = answer(done.data, study.replicates)
            yield "answer", found
            if not found["metrics"]:
                yield "failed", {"message": "; ".join(found["failures"]) or "nothing was measured"}
                return

    def _begins_with(self, backend: Backend) -> bool:
        """Note the backend that `cancel` stops; returns False if it is too late for that."""
        with self._lock:
            self._backend = backend
            return not self._is_cancelled


def study_of(given: Mapping[str, Any]) -> Study:
    """Make the study of options.

    Raises:
        StudyError: as `netwarp compare` refuses it.
        InputError: it would run programs, or more than a page waits for.
    """
    from netwarp.study.compare import study_from_compare
    from netwarp.study.expecting import expecting
    from netwarp.workloads import runs_programs

    of_study = {name: value for name, value in given.items() if name != "expect"}
    study = expecting(study_from_compare(**of_study), given.get("expect", ()))
    if any(runs_programs(cell.template) for cell in study.cells):
        raise InputError("programs are not run from a page: copy the command into a shell")
    runs = len(study.cells) * study.replicates
    if runs > MOST_RUNS:
        raise InputError(
            f"{runs} runs, and a page shows at most {MOST_RUNS}: copy the command into a shell"
        )
    return study


def directory_name(study: Study) -> str:
    """Return the name of a study's run directory: more replicates of the same go to the same."""
    from netwarp.pipeline import NO_OTHER_RUNS

    raw = {key: value for key, value in study.raw.items() if key not in NO_OTHER_RUNS}
    return "what-if-" + sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()[:12]


def refusal(error: InputError) -> dict[str, Any]:
    """Return the command line's sentence, with the option that it is about."""
    key = error.key if isinstance(error, StudyError) else str(error).partition(":")[0]
    return {"message": str(error), "option": key}
