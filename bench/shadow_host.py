"""The program on both hosts of a Shadow simulation: it serves bytes over TCP, or downloads them.

Shadow starts it as a script, without netwarp's packages: the standard library is all it needs.
"""

import json
import signal
import socket
import sys
import time

PORT = 80
PART_BYTES = 2**16


def serve(size_bytes: int) -> None:
    """Send so many bytes to the first client, and stay: what is lost needs a sender."""
    part = memoryview(bytes(PART_BYTES))
    with socket.create_server(("0.0.0.0", PORT)) as listener:  # noqa: S104 - a simulated host
        connection, _ = listener.accept()
        left = size_bytes
        while left:
            left -= connection.send(part[:left])
        listener.accept()  # There is no second client.


def download(server: str, size_bytes: int) -> None:
    """Read so many bytes from the server; print how many came until SIGTERM, in how many seconds.

    The end of the stream is not waited for: after retransmissions Shadow's TCP may lose it
    (github.com/shadow/shadow/issues/3572).
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start_s = time.monotonic()
    part = bytearray(PART_BYTES)
    got_bytes = 0
    try:
        with socket.create_connection((server, PORT)) as connection:
            while got_bytes < size_bytes and (count := connection.recv_into(part)):
                got_bytes += count
    except KeyboardInterrupt:
        pass  # The job's time is over; what came by then is printed.
    print(json.dumps({"bytes": got_bytes, "elapsed_s": time.monotonic() - start_s}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        download(sys.argv[2], int(sys.argv[3]))
