"""Makes the comparison of ``netwarp compare --rtts`` one of flows that share a bottleneck."""

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp.fields import KeyValueError
from netwarp.study.refusal import Refusals

USUAL_STOP = "30s"
_START_JITTER = "100ms"
"""Spread of the flows' starts: which of them is first differs between replicates."""
_WITHOUT = ("size", "file", "chunks", "resume", "dial", "page", "flow")
"""Options of a single content, which flows that last for some time do not have."""


def shared_by_flows(
    tables: Mapping[str, Any], rtts: Sequence[Any], given: Mapping[str, Any], command: str
) -> dict[str, Any]:
    """Replace a study's workload by flows between pairs of hosts around its path.

    Args:
        tables: those of the comparison.
        rtts: round-trip time of each flow.
        given: the options, by name.
        command: the command of which these are options, for refusals.

    Raises:
        StudyError: there is one flow only, or an option is of a single content.
    """
    for name in (each for each in _WITHOUT if each in given):
        reason = "flows that share a path last until --stop"
        misfit = KeyValueError(f"--{name}", None, reason, f"drop --{name}, or drop --rtts")
        raise Refusals(command).study_error(misfit)
    if len(rtts) < 2:
        reason, remedy = "one flow shares nothing", "give one for each flow, as --rtts 20ms,160ms"
        raise Refusals(command).study_error(KeyValueError("--rtts", rtts[0], reason, remedy))
    names = [f"flow{number}" for number in range(1, len(rtts) + 1)]
    flows = [
        {
            "name": name, "kind": "bulk", "from": f"client{number}", "to": f"server{number}",
            "stop": given.get("stop", USUAL_STOP), "start_jitter": _START_JITTER,
        } | {key: tables["workload"][key] for key in ("direction",) if key in tables["workload"]}
        for number, name in enumerate(names, 1)
    ]  # fmt: skip
    racing = next(iter(tables["factors"]))
    shares = [f"{name}.share_ratio" for name in names]
    figures = [{"kind": "bar", "x": racing, "y": share} for share in shares]
    return {
        **tables,
        "title": f"{tables['title']}: {len(flows)} flows of {', '.join(map(str, rtts))}",
        "metrics": [*shares, "jain_index"],
        "topology": {"shape": "dumbbell", "rtts": list(rtts)},
        "workload": flows,
        "figure": figures,
    }
