"""A request of a page that takes long, such as a comparison: it runs in its own thread, and can be
cancelled.
"""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError, NetwarpError, StudyError
from netwarp.ui.memory import keep_what_is_imported, return_memory

if TYPE_CHECKING:
    from netwarp.backends.base import Backend

Event = tuple[str, dict[str, Any]]
"""The name of an event, and its data."""


_IMPORTING = threading.Lock()


def import_what_runs() -> None:
    """Import all that runs and answers need, in one thread at a time: imports of modules that
    import each other fail if two threads begin at different ones.
    """
    with _IMPORTING:
        _import()


@cache
def _import() -> None:
    import netwarp.library
    import netwarp.report
    import netwarp.sources
    import netwarp.ui.answers  # noqa: F401

    keep_what_is_imported()


class Asked(ABC):
    """A request of a page that takes long. Any thread can read its events with `next_event`.

    Args:
        after: the request before; it is cancelled, and this one begins after it has ended.
    """

    def __init__(self, after: Asked | None = None) -> None:
        self._after = after
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._backend: Backend | None = None
        self._is_cancelled = False
        self.turn = 0
        """The number that the page has given the request; later requests have larger numbers."""
        self.directory: Path | None = None
        """The run directory, once it is known."""
        self._thread = threading.Thread(target=self._run, name="netwarp-asked", daemon=True)

    def begin(self) -> None:
        """Begin to run the request in a thread."""
        if self._after is not None:
            self._after.cancel()
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Return whether no part of the request is running any more."""
        return not self._thread.is_alive()

    def next_event(self) -> Event | None:
        """Wait for the next event; None after the last one."""
        return self._events.get()

    def cancel(self, last: Event | None = None) -> None:
        """End the guests of the request at once. No more events follow, except for a last one if
        that is given.
        """
        with self._lock:
            self._is_cancelled = True
            if self._backend is not None:
                self._backend.stop()
        if last is not None:
            self._events.put(last)
        self._events.put(None)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until no part of the request is running any more."""
        self._thread.join(timeout_s)

    @abstractmethod
    def _answers(self) -> Iterator[Event]:
        """Run the request, and yield its events."""

    def _begins_with(self, backend: Backend) -> bool:
        """Store the backend that `cancel` stops; return False if it has been cancelled already."""
        with self._lock:
            self._backend = backend
            return not self._is_cancelled

    def _put(self, name: str, said: dict[str, Any]) -> None:
        if not self._is_cancelled:
            self._events.put((name, said))

    def _run(self) -> None:
        """Run the request, and put its events, or its error, into the queue."""
        try:
            if self._after is not None:
                self._after.join()
                self._after = None
            import_what_runs()
            for name, said in self._answers():
                self._put(name, said)
        except InputError as error:
            self._put("refused", refusal(error))
        except NetwarpError as error:
            self._put("failed", {"message": str(error)})
        except Exception as error:  # noqa: BLE001 - a thread's last resort: the page says it
            self._put("failed", {"message": f"{type(error).__name__}: {error}"})
        finally:
            self._events.put(None)
            return_memory()


def refusal(error: InputError) -> dict[str, Any]:
    """Return an error's message as on the command line, with the option that it is about, and the
    option that would have to be given, too.
    """
    if isinstance(error, StudyError):
        return {"message": str(error), "option": error.key, "missing": error.missing}
    return {"message": str(error), "option": str(error).partition(":")[0]}
