"""The workers of a cluster: how many guests each of them runs, and which of them cannot carry out
runs.
"""

import json
from collections.abc import Mapping
from typing import Any

from distributed import Client

from netwarp.errors import BackendError, one_line
from netwarp.execution.cluster import worker
from netwarp.execution.cluster.programs import Programs

GUEST = "guest"
"""Name of the resource of which workers declare an amount: the number of guests that each runs at a
time."""


class Workers:
    """The workers that declare guests. Each is asked once which programs it has.

    Args:
        client: the client of the cluster.
        here: the programs of this machine.
    """

    def __init__(self, client: Client, here: Programs) -> None:
        self._client = client
        self._here = here
        self._asked: set[str] = set()
        self._unable: dict[str, str] = {}
        """Reasons why workers cannot carry out runs, by the worker's address."""

    def able(self) -> dict[str, int]:
        """Return the number of guests of each worker that can carry out runs, by address. New
        workers are first asked for their programs.

        Raises:
            BackendError: no worker can carry out runs; the message says what is missing on one of
                them.
        """
        guests = guests_of(self._client)
        new = guests.keys() - self._asked
        if new:
            self._ask(new)
        if guests and guests.keys() <= self._unable.keys():
            address = next(iter(guests))
            raise BackendError(f"no worker can carry runs out; {address}: {self._unable[address]}")
        return {each: room for each, room in guests.items() if each not in self._unable}

    def refused(self, address: str, reason: str) -> None:
        """Store that a worker cannot carry out runs."""
        self._unable[address] = reason

    @property
    def has_unable(self) -> bool:
        """Return whether any worker cannot carry out runs."""
        return bool(self._unable)

    def _ask(self, addresses: set[str]) -> None:
        """Ask workers which programs they have, and store which cannot carry out runs."""
        # This is not a task: a worker without netwarp would end, and a busy one would answer much
        # later.
        answers = self._client.run(
            worker.programs_here, workers=sorted(addresses), on_error="return"
        )
        self._asked |= addresses
        for address, answer in answers.items():
            reason = _refusal(self._here, answer)
            if reason is not None:
                self._unable[address] = reason


def guests_of(client: Client) -> dict[str, int]:
    """Return the number of guests that run at a time on each worker of a cluster, by its
    address.
    """
    workers: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    guests = {
        address: min(int(each["resources"].get(GUEST, 0)), each["nthreads"])
        for address, each in workers.items()
    }
    return {address: number for address, number in guests.items() if number}


def _refusal(here: Programs, answer: object) -> str | None:
    """Return the reason why a worker cannot carry out this machine's runs; None if it can."""
    if not isinstance(answer, bytes):
        said = one_line(str(answer))
        return f"netwarp does not work there ({said}): install the same one on both machines"
    try:
        there = json.loads(answer)
        if "missing" in there:
            return one_line(str(there["missing"]))
        return here.difference(Programs(**there))
    except (ValueError, TypeError, RecursionError):
        return (
            "what it says of its programs cannot be read: install the same netwarp on both machines"
        )
