"""The drawing program; see `netwarp.vega`. It imports nothing of netwarp, so that it starts at
once.
"""

import ctypes
import json
import os
import signal
import sys
from typing import Any

import vl_convert

PR_SET_PDEATHSIG = 1


def main(parent: int) -> None:
    """Answer requests until the input ends; `parent` is the process that sends them."""
    # This program ends with the process for which it draws, even while it draws.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    for line in sys.stdin.buffer:
        error = None
        content = b""
        try:
            content = drawn(json.loads(line))
        except ValueError as refused:
            error = str(refused)
        sys.stdout.buffer.write(json.dumps({"bytes": len(content), "error": error}).encode())
        sys.stdout.buffer.write(b"\n" + content)
        sys.stdout.buffer.flush()


def drawn(request: dict[str, Any]) -> bytes:
    """Return the drawing that a request asks for.

    Raises:
        ValueError: the specification is not valid.
    """
    if request["draw"] == "svg":
        return vl_convert.vegalite_to_svg(request["spec"], allowed_base_urls=[]).encode()
    if request["draw"] == "png":
        return vl_convert.vegalite_to_png(
            request["spec"], scale=request["scale"], allowed_base_urls=[]
        )
    if request["draw"] == "pdf":
        return vl_convert.vegalite_to_pdf(request["spec"], allowed_base_urls=[])
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode()


if __name__ == "__main__":
    main(int(sys.argv[1]))
