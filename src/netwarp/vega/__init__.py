"""Draws Vega-Lite charts and bundles Vega's script, in a separate process.

The library (vl-convert, a JavaScript engine) holds Python's global lock while it draws, for
seconds: during that, neither Ctrl-C nor another thread would run. This process waits for the other
one with `select`, which any signal interrupts. The other one is started when it is first needed,
draws all charts of this process, and ends with it.
"""

import atexit
import contextlib
import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from netwarp.errors import NetwarpError

WORKER = Path(__file__).with_name("worker.py")


def svg(spec: Mapping[str, Any]) -> str:
    """Return a Vega-Lite specification drawn as SVG."""
    return _ask({"draw": "svg", "spec": spec}).decode()


def png(spec: Mapping[str, Any], scale: float) -> bytes:
    """Return a Vega-Lite specification drawn as PNG, at `scale` PNG pixels per pixel of the
    specification.
    """
    return _ask({"draw": "png", "spec": spec, "scale": scale})


def pdf(spec: Mapping[str, Any]) -> bytes:
    """Return a Vega-Lite specification drawn as PDF, at one point per pixel of the
    specification.
    """
    return _ask({"draw": "pdf", "spec": spec})


def script_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that defines `vegaEmbed`."""
    return _ask({"draw": "bundle"}).decode()


class _Worker:
    """The process that draws: it reads a request as a line of JSON, and writes a line and the
    drawing.

    Its line contains the drawing's length in bytes, or an error.
    """

    def __init__(self) -> None:
        # It has a session of its own, so that a Ctrl-C in the terminal reaches only us, and we end
        # it.
        self.process = subprocess.Popen(
            [sys.executable, WORKER, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._pending = b""

    def ask(self, request: Mapping[str, Any]) -> bytes:
        """Request a drawing, and return its bytes.

        Raises:
            NetwarpError: the library refused the request, or the process ended.
        """
        done = False
        try:
            with contextlib.suppress(BrokenPipeError):  # the reason why it ended is reported below
                pipe = self._pipe(self.process.stdin)
                pipe.write(json.dumps(request).encode() + b"\n")
                pipe.flush()
            answer = json.loads(self._read_line())
            drawn = self._read(answer["bytes"])
            done = True
        finally:
            if not done:  # a later answer would be taken for the answer to another request
                self.stop()
        if answer["error"] is not None:
            raise NetwarpError(f"a chart cannot be drawn: {answer['error']}")
        return drawn

    def stop(self) -> None:
        """End the drawing process at once, even if it is drawing."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                self._pipe(pipe).close()

    def _read_line(self) -> bytes:
        while b"\n" not in self._pending:
            self._receive()
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _read(self, count: int) -> bytes:
        while len(self._pending) < count:
            self._receive()
        content, self._pending = self._pending[:count], self._pending[count:]
        return content

    def _receive(self) -> None:
        """Read more of the process's output; raise NetwarpError if the process has ended."""
        descriptor = self._pipe(self.process.stdout).fileno()
        select.select([descriptor], [], [])
        received = os.read(descriptor, 1 << 20)
        if not received:
            raise NetwarpError(
                f"the process that draws charts ended with status {self.process.wait()}:"
                " is memory short?"
            )
        self._pending += received

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise ValueError("the process that draws is started with pipes")
        return pipe


_worker: _Worker | None = None


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that SVG cannot contain (XML 1.0, section 2.2: Char); the library aborts when it gets
one.
"""


def _as_xml_allows(value: Any) -> Any:
    """Return a specification in which each character that SVG cannot contain is replaced by U+FFFD.
    Pure.
    """
    if isinstance(value, str):
        return _NOT_XML.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_as_xml_allows(key): _as_xml_allows(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_xml_allows(each) for each in value]
    return value


def _ask(request: Mapping[str, Any]) -> bytes:
    global _worker  # noqa: PLW0603 - one for the whole program: starting its engine is dear
    if _worker is None or _worker.process.poll() is not None:
        _worker = _Worker()
        atexit.register(_worker.stop)
    return _worker.ask(_as_xml_allows(request))
