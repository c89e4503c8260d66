"""Ctrl-C and SIGTERM: the command stops within a second, whatever it is doing.

The first one raises KeyboardInterrupt in the main thread, and the code there unwinds: guests are
killed, what has finished is kept. More of them change nothing. The main thread may not hear of it:

- Importing polars (2.1.0) replaces Python's handler of SIGINT by one with SA_RESTART. It calls
  Python's, but a thread that waits for a lock without a time-out waits on.
- A KeyboardInterrupt is raised wherever Python happens to be. In a finaliser or a callback it is
  printed and forgotten; inside the standard library's locks it becomes another exception.

So a thread of its own listens too: the C handler writes each signal's number into a pipe
(`signal.set_wakeup_fd`), whatever Python is doing. Where the main thread has not left by itself
after a while, this one says what is to be said and ends the process. Guests and other children
die with it, as they asked the kernel to (PR_SET_PDEATHSIG); a run under way has no proper name yet,
and every file is replaced as a whole.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

EXIT_STATUS = 130  # what a shell reports of a program that Ctrl-C ended
PATIENCE_S = 0.5
SHOW_CURSOR = "\x1b[?25h"


class Interruption:
    """Whether the user asked the command to stop, and how it does."""

    def __init__(self) -> None:
        self.kept_text: Callable[[], str] = lambda: ""
        """Says what of the command's work is kept, and how to go on."""
        self.requested = False
        self._unwinding = False
        self._leaving = threading.Lock()

    def listen(self) -> None:
        """Take Ctrl-C and SIGTERM from now on; to be called once, in the main thread."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, and `&` in scripts
                signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(
            target=self._see_to_it, args=(reader,), name="netwarp-interruption", daemon=True
        ).start()

    def end_process(self, status: int) -> NoReturn:
        """End the process now that all is said, without taking Python down piece by piece."""
        self._unwinding = True  # a Ctrl-C from now on has nothing left to unwind
        for stream in filter(None, (sys.stdout, sys.stderr)):  # None: the caller has closed it
            try:
                stream.flush()
            except OSError:  # such as a pipe whose reader has left
                status = status or 1
        os._exit(status)

    def leave(self) -> NoReturn:
        """Say what is kept, and end the process without waiting for anything."""
        self._leaving.acquire()  # never released: the other thread's turn does not come
        text = ": ".join(filter(None, ("interrupted", self.kept_text())))
        cursor = SHOW_CURSOR if os.isatty(2) else ""  # a progress bar hides it
        with contextlib.suppress(OSError):  # nobody may be left to read it
            os.write(2, f"{cursor}{text}\n".encode())
        os._exit(EXIT_STATUS)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if not self._unwinding:
            self._unwinding = True
            raise KeyboardInterrupt

    def _see_to_it(self, signals: int) -> None:
        while not {signal.SIGINT, signal.SIGTERM} & set(os.read(signals, 64)):
            pass
        # The main thread leaves first where it can. Nothing ends this wait but the process's end.
        threading.Event().wait(PATIENCE_S)
        self.leave()


interruption = Interruption()
"""The interruption of this process."""
