"""Runs the comparisons that pages request: one at a time for each lane, and a limited number at a
time in all.

A lane is one side of one open page. Run directories are kept while the program runs, so that a
comparison that is asked for again is answered at once; if there are many, the oldest are removed.
"""

import re
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from netwarp.errors import InputError
from netwarp.file_trees import remove_tree
from netwarp.ui.asked import Asked

MOST_LANES = 8
"""Maximum number of comparisons that run at the same time."""
MOST_DIRECTORIES = 40
"""Maximum number of run directories that are kept, including those in use."""
ENDED = "netwarp ui has ended: start it again, and open the address that it prints."
_NAME = re.compile("[a-z0-9]{1,24}")


class Lanes:
    """The comparisons and other requests of all pages, one at a time for each lane (one side of an
    open page).

    Args:
        folder: the folder in which run directories are made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._lanes: dict[str, Asked] = {}

    def begin(self, lane: str, make: Callable[[Path, Asked | None], Asked], turn: int = 0) -> Asked:
        """Begin a request in a lane, and cancel the lane's request before it.

        If the lane already has a request with a higher number, nothing begins: requests may arrive
        in another order than they were sent.

        Args:
            lane: the name of the lane.
            make: makes the request; called with the lane's folder and its request before.
            turn: the number that the page has given the request, if it numbers its requests.

        Raises:
            InputError: no lane can have this name.
        """
        if not _NAME.fullmatch(lane):
            raise InputError("a lane is named by up to 24 letters and digits")
        with self._lock:
            before = self._lanes.get(lane)
            if before is not None and before.turn > turn:
                outdated = make(self.folder / lane, None)
                outdated.cancel()
                return outdated
            begun = make(self.folder / lane, self._lanes.pop(lane, None))
            begun.turn = turn
            self._lanes[lane] = begun
            for name in list(self._lanes)[:-MOST_LANES]:
                self._lanes.pop(name).cancel()
            self._tidy()
            begun.begin()
            return begun

    def ask(self, lane: str, pairs: list[tuple[str, str]], turn: int = 0) -> Asked:
        """Begin a comparison in a lane; see :meth:`begin`."""
        # The pages are served before what runs them is imported.
        from netwarp.ui.what_if import WhatIf

        return self.begin(lane, partial(WhatIf, pairs), turn)

    def directory(self, lane: str, name: str) -> Path | None:
        """Return a run directory of a lane; None if there is none of this name, or if it was
        removed.
        """
        if not _NAME.fullmatch(lane) or not re.fullmatch(r"what-if-[0-9a-f]{12}-\d+", name):
            return None
        path = self.folder / lane / name
        return path if path.is_dir() else None

    def end(self, timeout_s: float) -> None:
        """Cancel all requests, and wait until they have ended, at most for this time."""
        with self._lock:
            left = list(self._lanes.values())
            self._lanes.clear()
        for each in left:
            each.cancel(("failed", {"message": ENDED}))
        for each in left:
            each.join(timeout_s / len(left))

    def _tidy(self) -> None:
        """Remove the oldest run directories, except those that may be in use."""
        used = {each.directory for each in self._lanes.values()}
        kept = [path for path in self.folder.glob("*/what-if-*") if path not in used]
        kept.sort(key=lambda path: path.stat().st_mtime_ns)
        for path in kept[: max(0, len(kept) - MOST_DIRECTORIES + len(used))]:
            remove_tree(path)
