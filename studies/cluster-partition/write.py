"""Writes to a Redis cluster every 50 ms, and counts afterwards which acknowledged writes are left.

The Sentinels say which server is the master. Usage: write.py SECONDS

Prints one JSON object: how many writes were acknowledged, how many of those are lost, and the
longest time without one.
"""

import json
import socket
import sys
import time

SENTINELS = ("node1", "node2", "node3")
INTERVAL_S = 0.05
PATIENCE_S = 1.0
"""How long a server may take to answer, before the client asks a Sentinel for the master."""
SETTLED_S = 15.0
"""How long after the last write the cluster has agreed on a master, as a rule."""


class Connection:
    """A connection to a Redis server."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=PATIENCE_S)
        self._answers = self._socket.makefile("rb")

    def ask(self, *words: object) -> object:
        """Send a command and return its answer.

        Raises:
            OSError: the server refuses it, does not answer, or is gone.
        """
        parts = [str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(parts))
        self._socket.sendall(b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self._answer()

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()

    def _answer(self) -> object:
        line = self._answers.readline()
        if not line:
            raise ConnectionError("the server has closed the connection")
        kind, rest = line[:1], line[1:].strip().decode()
        if kind == b"-":
            raise OSError(rest)
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == "-1" else self._answers.read(int(rest) + 2)[:-2].decode()
        return rest


def master() -> Connection:
    """Connect to the master that the first Sentinel in reach names, if that says it is the master.

    Raises:
        OSError: no Sentinel answers, or the server does not.
    """
    for host in SENTINELS:
        try:
            sentinel = Connection(host, 26379)
            answer = sentinel.ask("SENTINEL", "get-master-addr-by-name", "store")
            sentinel.close()
        except OSError:
            continue
        if isinstance(answer, list):
            found = Connection(str(answer[0]), int(str(answer[1])))
            role = found.ask("ROLE")
            if isinstance(role, list) and role[0] == "master":
                return found
            found.close()
    raise ConnectionError("no Sentinel knows a master")


def main(seconds: float) -> None:
    """Write for so long, and print what came of it."""
    acknowledged: list[int] = []
    longest_s, store = 0.0, None
    start = last = time.monotonic()
    number = 0
    while (now := time.monotonic()) < start + seconds:
        try:
            store = store or master()
            store.ask("SET", f"key{number}", number)
            acknowledged.append(number)
            longest_s, last = max(longest_s, time.monotonic() - last), time.monotonic()
        except OSError:
            if store is not None:
                store.close()
            store = None
        number += 1
        time.sleep(max(0.0, now + INTERVAL_S - time.monotonic()))
    longest_s = max(longest_s, time.monotonic() - last)
    time.sleep(SETTLED_S)
    store = master()
    kept = sum(store.ask("EXISTS", f"key{each}") == "1" for each in acknowledged)
    found = {
        "acknowledged": len(acknowledged),
        "lost": len(acknowledged) - kept,
        "longest_s": round(longest_s, 6),
    }
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main(float(sys.argv[1]))
