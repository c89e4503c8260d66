"""The processes that a backend has under way: started, watched to their end, killed all at once."""

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from netwarp.backends.watch import Bounds, Ending, ending_with_us, kill_group, watch
from netwarp.errors import BackendError
from netwarp.run_directory import CONSOLE_FILE


class Processes:
    """A backend's processes; `run` from as many threads as there are runs, `stop` from any."""

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
        """Run a program to its end, or until it is given up.

        Args:
            command: the program and its arguments. It dies with us, whatever happens to us.
            directory: where it works and its console is kept.
            environ: all of its environment.
            on_progress: called now and then with its clock in seconds.
            name_spinner: says, of a process group that spins, what in it does.
            inherited: descriptors that it has open too.

        Raises:
            BackendError: `stop` was called before.
        """
        with self._lock:
            if self._stopped:
                raise BackendError("the backend was stopped")
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
            return watch(process, directory / CONSOLE_FILE, self.bounds, on_progress, name_spinner)
        finally:
            with self._lock:
                self._running.discard(process)

    def stop(self) -> None:
        """Kill all that are running, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                kill_group(process)
