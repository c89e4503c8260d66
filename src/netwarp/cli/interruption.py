"""Ctrl-C, SIGTERM and the end of the terminal (SIGHUP): the command stops within a second, whatever
it is doing.

The first signal raises KeyboardInterrupt in the main thread: guests are killed, and finished runs
are kept. Further signals change nothing. The main thread may miss the signal:

- Importing polars (2.1.0) replaces Python's handler of SIGINT by one with SA_RESTART. With it, a
  thread that waits for a lock without a time-out keeps waiting, although Python's handler was
  called.
- A KeyboardInterrupt is raised wherever Python happens to be. In a finaliser or a callback it is
  printed and forgotten; inside the standard library's locks it becomes another exception.

So a separate thread handles signals too: the C handler writes each signal's number into a pipe
(`signal.set_wakeup_fd`), whatever Python is doing. If the main thread has not ended by itself after
a while, this thread prints the message and ends the process. Guests and other children end with it,
because they asked the kernel for that (PR_SET_PDEATHSIG). A run under way does not have its final
name yet, and files are always replaced as a whole.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals on which a command stops."""
EXIT_STATUS = 130  # the status that a shell reports for a program ended by Ctrl-C
PATIENCE_S = 0.5
SHOW_CURSOR = "\x1b[?25h"


class Interruption:
    """Handles Ctrl-C and other signals that ask a command to stop: stores that one came, and ends
    the process with a text on which results are kept.
    """

    def __init__(self) -> None:
        self.kept_text: Callable[[], str] = lambda: ""
        """Returns a text about what of the command's work is kept, and how to continue."""
        self.requested = False
        self._unwinding = False
        self._leaving = threading.Lock()

    def listen(self) -> None:
        """Begin to handle the signals in `ENDING`; called once, in the main thread."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        for number in ENDING:
            # SIGHUP is ignored under nohup, and SIGINT for `&` in scripts.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(
            target=self._see_to_it, args=(reader,), name="netwarp-interruption", daemon=True
        ).start()

    def end_process(self, status: int) -> NoReturn:
        """End the process at once, without Python's shutdown, after all output has been printed."""
        self._unwinding = True  # From now on Ctrl-C can interrupt nothing any more.
        for stream in filter(None, (sys.stdout, sys.stderr)):  # None: the caller has closed it
            try:
                stream.flush()
            except OSError:  # such as a pipe whose reader has left
                status = status or 1
        os._exit(status)

    def leave(self) -> NoReturn:
        """Print which results are kept, and end the process without waiting for anything."""
        self._leaving.acquire()  # never released, so that the other thread waits for ever
        text = ": ".join(filter(None, ("interrupted", self.kept_text())))
        cursor = SHOW_CURSOR if os.isatty(2) else ""  # a progress bar hides it
        with contextlib.suppress(OSError):  # Standard error may be closed.
            os.write(2, f"{cursor}{text}\n".encode())
        os._exit(EXIT_STATUS)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if not self._unwinding:
            self._unwinding = True
            raise KeyboardInterrupt

    def _see_to_it(self, signals: int) -> None:
        while not set(ENDING) & set(os.read(signals, 64)):
            pass
        # The main thread may end the process first. Only the end of the process ends this wait.
        threading.Event().wait(PATIENCE_S)
        self.leave()


interruption = Interruption()
"""The state of this process: whether it was asked to stop."""
