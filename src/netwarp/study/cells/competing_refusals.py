"""Refuses workloads that cannot share a run."""

from collections.abc import Sequence

from netwarp.fields import KeyValueError
from netwarp.study.cells.cell_sections import ALWAYS_MARK
from netwarp.study.cells.cell_transport import CellTransport
from netwarp.study.cells.named_workload import NamedWorkload
from netwarp.study.tables import Table, Written
from netwarp.transports import is_simulated
from netwarp.units import NS_PER_S, format_duration
from netwarp.workloads import WORKLOADS, section_model


def refuse_misfits(tables: Sequence[int], workloads: Sequence[NamedWorkload]) -> None:
    """Refuse workloads that cannot share a run.

    Workloads of one table of the study are alike, so only one of them is compared with the others.

    Args:
        tables: the index of each workload's table in the study.
        workloads: the workloads.

    Raises:
        KeyValueError: they cannot share it; the key is the full dotted one.
    """
    _refuse_programs_beside_others(tables, workloads)
    seen: dict[tuple[int, int], NamedWorkload] = {}
    for table, one in zip(tables, workloads, strict=True):
        of_kind = (table, one.sections.path.mtu_bytes)
        if of_kind in seen:
            continue
        _refuse_what_runs_alone(one, f"workload.{table}")
        for other in seen.values():
            _refuse_together(other, one, f"workload.{table}")
        seen[of_kind] = one


def _refuse_programs_beside_others(
    tables: Sequence[int], workloads: Sequence[NamedWorkload]
) -> None:
    """Refuse programs unless they are the only workload, in a network of several hosts."""
    for table, one in zip(tables, workloads, strict=True):
        workload = one.sections.workload
        if workload.must_be_alone and (len(workloads) > 1 or one.between is None):
            reason = (
                f"the programs of a {workload.kind} have ports and files of their own, and share"
                " a run with nobody"
            )
            remedy = "choose another kind, or start them all in one command"
            raise KeyValueError(f"workload.{table}.kind", workload.kind, reason, remedy)


def _refuse_what_runs_alone(one: NamedWorkload, key: str) -> None:
    """Refuse a workload that must run alone, or that lasts longer than the run's time limit."""
    alone = one.sections
    if alone.workload.has_table:
        reason = "a table is of a run's only workload"
        raise KeyValueError(f"{key}.packet_table", True, reason, "drop it")
    stack = alone.transport.stack
    if stack is not None and stack.decides_alone:
        reason = f"{stack.name} has ports and files of its own, and shares a run with nobody"
        raise KeyValueError(f"{key}.transport", None, reason, "choose another stack")
    if alone.path.may_hand_over:
        reason = "the client of several workloads stays where it is"
        raise KeyValueError("path.handovers", None, reason, "drop it")
    end_ns = one.start_ns + alone.workload.start_jitter_ns + alone.workload.least_ns
    if end_ns >= alone.limits.virtual_s * NS_PER_S:
        raise KeyValueError(
            f"{key}.{'stop' if alone.workload.least_ns else 'start'}",
            None,
            f"{one.name} would go on until {format_duration(end_ns)}, and the run is given up after"
            f" {alone.limits.virtual_s}s",
            "end it sooner, or raise limits.virtual_s",
        )


def _refuse_together(one: NamedWorkload, other: NamedWorkload, key: str) -> None:
    """Refuse two workloads that use the same port, or need different settings of their hosts'
    kernel.
    """
    if one.port == other.port:
        reason = f"{one.name} and {other.name} would listen on one port"
        remedy = "choose another, or leave it to netwarp"
        raise KeyValueError(f"{key}.port", other.port, reason, remedy)
    ours, theirs = one.sections.transport, other.sections.transport
    if ours.model != theirs.model and (is_simulated(ours.model) or is_simulated(theirs.model)):
        reason = f"{one.name} and {other.name} share a run, which is ns-3's or the kernel's"
        raise KeyValueError(f"{key}.transport", theirs.model, reason, "give both the same model")
    differing = ["ecn"] if ours.ecn != theirs.ecn and not _may_differ_in_ecn(one, other) else []
    if ours.traits.runs_over_tcp and theirs.traits.runs_over_tcp:
        path = one.sections.path
        windows = [each.resolved_initial_window_packets(path) for each in (ours, theirs)]
        differing += ["initial_window"] if windows[0] != windows[1] else []
        differing += ["buffer"] if ours.buffer_bytes != theirs.buffer_bytes else []
        differing += [
            name
            for name in type(ours.resolved_tcp).model_fields
            if getattr(ours.resolved_tcp, name) != getattr(theirs.resolved_tcp, name)
            and not (name == "hystart" and _is_without_cubic(ours, theirs))
        ]
    if differing:
        reason = (
            f"{one.name} and {other.name} are on the same hosts, whose {differing[0]} is one for"
            " all (a setting of the kernel, not of a connection)"
        )
        raise KeyValueError(f"{key}.transport", None, reason, f"give both the same {differing[0]}")


def _is_without_cubic(*transports: CellTransport) -> bool:
    """Return whether one of the transports does not use CUBIC, so that CUBIC's parameters have no
    effect on it.
    """
    return any(each.resolved_congestion != "cubic" for each in transports)


def refuse_stop(table: Table, stop: Written) -> None:
    """Refuse a `stop` of a workload that also has a duration, or that ends by itself.

    Args:
        table: the keys of the workload's kind.
        stop: the time that the study gives.

    Raises:
        KeyValueError: refused; the error's key is that of `stop`.
    """
    if "duration" in table:
        reason = "stop says when it ends"
        raise KeyValueError(stop.place, stop.value, reason, "keep one of them")
    try:
        model = section_model(table.plain())
    except KeyValueError as error:
        raise table.located(error) from None
    if not any(field.alias == "duration" for field in model.model_fields.values()):
        kind = table.text("kind") or next(iter(WORKLOADS))
        raise KeyValueError(stop.place, None, f"a {kind} ends when all of it is done", "drop it")


def _may_differ_in_ecn(one: NamedWorkload, other: NamedWorkload) -> bool:
    """Return whether one of two workloads may offer ECN and the other not. They may not if they
    share a host, or if a queueing discipline must mark packets of one of them.
    """
    if one.between is None or other.between is None:
        return False
    ours, theirs = ({each.client, each.server} for each in (one.between, other.between))
    return not ours & theirs and one.sections.disciplines <= ALWAYS_MARK
