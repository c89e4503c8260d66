"""The processes of a backend's runs: starts them, watches each until it ends, and can kill all at
once.
"""

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from netwarp.backends.watch import Bounds, Ending, ending_with_us, kill_group, watch
from netwarp.errors import BackendError
from netwarp.run_directory import CONSOLE_FILE


class Processes:
    """The processes of a backend. Each run calls `run` in its own thread; any thread may call
    `stop`.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(
        self,
        command: Sequence[str | Path],
        directory: Path,
        environ: Mapping[str, str],
        on_progress: Callable[[float], None],
        name_spinner: Callable[[int], str] = lambda _: "",
        inherited: Sequence[int] = (),
    ) -> Ending:
        """Run a program until it ends by itself or is killed, because it has exceeded one of the
        bounds on time without progress and on CPU time.

        Args:
            command: the program and its arguments. The program is killed when this process ends for
                any reason.
            directory: the working directory, in which the console's output is kept.
            environ: the complete environment of the program.
            on_progress: called at intervals with the program's clock in seconds.
            name_spinner: called with the ID of a process group that uses CPU time without progress;
                returns a text that names the program.
            inherited: further descriptors that the program inherits.

        Raises:
            BackendError: `stop` was called, before or during the run: a program that was killed has
                measured nothing.
        """
        with self._lock:
            self._refuse_if_stopped()
            process = subprocess.Popen(
                ending_with_us(command),
                cwd=directory,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=inherited,
            )
            self._running.add(process)
        try:
            ending = watch(
                process, directory / CONSOLE_FILE, self.bounds, on_progress, name_spinner
            )
        finally:
            with self._lock:
                self._running.discard(process)
        self._refuse_if_stopped()
        return ending

    def _refuse_if_stopped(self) -> None:
        if self._stopped:
            raise BackendError("the backend was stopped")

    def stop(self) -> None:
        """Kill all processes that are running, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                kill_group(process)
