"""Refuses programs on hosts of a network that cannot run them."""

from collections.abc import Collection

from netwarp.fields import KeyValueError
from netwarp.study.cells.layout import Layout
from netwarp.workloads import WorkloadSection

LOCAL_NAME = "localhost"
"""The name by which each host refers to itself (RFC 6761)."""


def refuse_misplaced_programs(
    workload: WorkloadSection, ends: tuple[str, str], layout: Layout, place: str
) -> None:
    """Refuse programs on hosts that do not exist or already have a program, and names of hosts that
    programs would resolve differently.

    Args:
        workload: the keys of the workload.
        ends: the hosts of the workload's client and of its server.
        layout: the network.
        place: the study key of the workload.

    Raises:
        KeyValueError: refused; the key is the full dotted one.
    """
    taken = set(ends)
    for index, host in enumerate(workload.further_hosts):
        key = f"{place}.program.{index}.host"
        if host not in layout.hosts:
            reason = f"the hosts are {layout.hosts_in_words}"
            raise KeyValueError(key, host, reason, "choose one, or have more of them")
        if host in taken:
            reason = "another program runs there"
            raise KeyValueError(key, host, reason, "start both in one command")
        taken.add(host)
    if workload.must_be_alone:
        _refuse_misleading_names(ends, layout.hosts, place)


def _refuse_misleading_names(ends: tuple[str, str], hosts: Collection[str], place: str) -> None:
    """Refuse hosts whose names resolve to another host than a reader of the study expects."""
    for key, end, name in zip(("from", "to"), ends, ("client", "server"), strict=True):
        if name in hosts and end != name:
            reason = f"{{{name}}} in commands is {end}, and another host is called {name}"
            raise KeyValueError(f"{place}.{key}", end, reason, "call that host something else")
    if LOCAL_NAME in hosts:
        reason = f"programs mean themselves by {LOCAL_NAME}, and a host is called so"
        raise KeyValueError(f"{place}.kind", None, reason, "call that host something else")
