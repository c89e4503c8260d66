"""Changes a comparison so that it sends in both directions at the same time: ``--direction
both``.
"""

from collections.abc import Mapping
from typing import Any

from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.study.refusal import Refusals

OPTION, BOTH = "--direction", "both"


def both_ways(
    tables: Mapping[str, Any], metric: str, command: str, *, is_network: bool
) -> dict[str, Any]:
    """Return a comparison's tables with two workloads instead of one, of the same kind, one in each
    direction, as in a call.

    Args:
        tables: the tables of the comparison with one workload.
        metric: the metric by which its kind is compared.
        command: the command that has the options of the comparison, for messages.
        is_network: whether hosts other than one client and one server are asked for.

    Raises:
        StudyError: the comparison has several hosts, or varies a key of the workload.
    """
    if is_network:
        reason = "on a network of several hosts each flow has one direction"
        remedy = "give down or up, or drop --rtts and --shape"
        raise Refusals(command).study_error(KeyValueError(OPTION, BOTH, reason, remedy))
    varied = [key for key in tables["factors"] if key.startswith("workload.")]
    if varied:
        reason = f"{varied[0]} varies, and each direction has a workload of its own"
        raise Refusals(command).study_error(
            KeyValueError(OPTION, BOTH, reason, "give one value of it, or one direction")
        )
    workloads = [
        {**tables["workload"], "name": direction, "direction": direction}
        for direction in DIRECTIONS
    ]
    metrics = [f"{direction}.{metric}" for direction in DIRECTIONS]
    figures = [
        {**figure, "y": each} for figure in tables["figure"] if figure["y"] == metric
        for each in metrics
    ]  # fmt: skip
    return {**tables, "workload": workloads, "metrics": metrics, "figure": figures}
