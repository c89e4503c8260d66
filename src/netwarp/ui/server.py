"""Serves the pages on this machine's loopback address, until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from netwarp.errors import InputError
from netwarp.ui.folder import locked_run_directory, remove_leftovers, remove_when_unlocked
from netwarp.ui.memory import share_one_heap

INSTALL = "pip install 'netwarp[ui]'"
LOOK_EVERY_S = 0.1
PATIENCE_S = 0.3
"""Maximum time in s to wait until comparisons have ended; after Ctrl-C all end within half a
second."""


def serve(folder: Path, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve the pages until the process is interrupted.

    Args:
        folder: the folder of run directories, which is created when a study is run.
        port: the port; 0 for a free one.
        on_ready: called with the address once requests are answered.

    Raises:
        InputError: the port is in use, or a package is missing.
    """
    share_one_heap()
    try:
        import uvicorn

        from netwarp.ui.app import application
    except ImportError as error:
        raise InputError(f"netwarp ui needs the package {error.name}: `{INSTALL}`") from None
    from netwarp.ui.lanes import Lanes

    listening = _listening(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(16)
    with locked_run_directory() as temporary:
        lanes = Lanes(temporary)
        server = uvicorn.Server(
            uvicorn.Config(
                application(lanes, folder.absolute(), port, token),
                log_config=None, log_level="critical",
                access_log=False, lifespan="off",
                http="h11", ws="none", server_header=False, timeout_graceful_shutdown=0,
            )
        )  # fmt: skip
        # Python handles signals in the main thread, which waits here: see netwarp.cli.interruption.
        thread = threading.Thread(
            target=server.run, args=([listening],), name="netwarp-ui", daemon=True
        )
        thread.start()
        threading.Thread(target=remove_leftovers, daemon=True).start()
        try:
            on_ready(f"http://127.0.0.1:{port}/{token}/")
            while thread.is_alive():
                thread.join(LOOK_EVERY_S)
        finally:
            # First, since Ctrl-C may leave no time for what comes after it.
            remove_when_unlocked(temporary)
            server.should_exit = server.force_exit = True
            lanes.end(PATIENCE_S)
            thread.join(PATIENCE_S)


def _listening(port: int) -> socket.socket:
    """Open the socket on the loopback device at which the pages are served."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(("127.0.0.1", port))
        opened.listen(64)
    except OSError as error:
        opened.close()
        raise InputError(f"--port {port}: {error.strerror}; leave it away for a free one") from None
    return opened
