"""The report's section on whether the numbers can be trusted: path, stacks, machine and
statistics.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netwarp.estimate.comparison import ALPHA, Comparison, Verdict
from netwarp.estimate.needed import replicates_to_tell
from netwarp.report.calibration import calibration
from netwarp.results.comparisons import Comparisons
from netwarp.results.undecided import needed_text
from netwarp.verdict_wording import p_text
from netwarp.wire import Connection, Job
from netwarp.wording import cell_text, count, level_text, number

if TYPE_CHECKING:
    from netwarp.evaluation import RunData

HINT_RATIO = 1.05


def collect(data: RunData, answers: Sequence[Comparisons]) -> dict[str, Any]:
    """Return all values for the template of the report's section on trust."""
    comparisons = [each for compared in answers for each in compared.comparisons]
    return {
        "treatment": settings_table(data),
        "settings": settings_used(data),
        "calibration": calibration(data),
        "is_imposed": any(cell.values("path_imposed_rtt_s") for cell in data.results.cells),
        "failed": [
            {"run": run.run, "cell": cell_text(run.factors),
             "reason": run.reason or "no reason given", "console": data.console_tail(run.run)}
            for run in data.results.failed
        ],
        "family": max(compared.tested for compared in answers),
        "paired": all(c.paired for c in comparisons),
        "exact": sum(c.exact for c in comparisons),
        "disagree": sum(c.wilcoxon_disagrees for c in comparisons),
        "ranked": sum(c.wilcoxon_p is not None for c in comparisons),
        "left_out": sum(c.left_out for c in comparisons if c.verdict is Verdict.FAILED_RUNS),
        "power": power_hint(answers[0]),
        "speed": speed_limits(data),
    }  # fmt: skip


def settings_table(data: RunData) -> dict[str, Any]:
    """Return the table that shows whether all transports were configured alike: a row for each
    setting, a column for each transport.
    """
    rows = data.provenance.get("equal_treatment", [])
    transports = list(dict.fromkeys(row["transport"] for row in rows))
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    by_place = {(row["setting"], row["transport"]): row for row in rows}
    return {
        "transports": [(t, level_text("transport", t)) for t in transports],
        "rows": [(s, [by_place.get((s, t)) for t in transports]) for s in settings],
        "reasons": [row for row in rows if row["deviates"]],
    }


def settings_used(data: RunData) -> list[dict[str, str]]:
    """Return the settings that the sending stacks reported, once for each contender."""
    factor = data.results.contender_factor
    found: dict[str, dict[str, str]] = {}
    for cell in data.results.cells:
        label = cell.factors.get(factor, "") if factor else ""
        run = next((run.run for run in cell.runs if run.outcome == "ok"), None)
        job = data.job(run) if run else None
        if label in found or run is None or job is None:
            continue
        side = "server" if job.direction == "down" else "client"
        for record in data.records(run):
            if isinstance(record, Connection) and record.side == side:
                used = record.settings
                found[label] = {
                    "name": level_text(factor or "", label),
                    "congestion": used.congestion,
                    "initial window": f"{used.initial_window_bytes} B",
                    "MSS": f"{used.mss_bytes} B",
                    "send buffer": _buffer_text(used.send_buffer_bytes, job),
                    "receive buffer": _buffer_text(used.receive_buffer_bytes, job),
                    "pacing": "paced" if used.paced else "not paced",
                }
                break
    return list(found.values())


def _buffer_text(used_bytes: int, job: Job) -> str:
    """Return as text the size to which a buffer had grown, and its limit, which all transports
    share.
    """
    bound_bytes = job.only.transport.buffer_bytes
    used = f"{number(used_bytes / 2**20)} MiB"
    if used_bytes >= bound_bytes:
        return used
    return f"{used} of at most {number(bound_bytes / 2**20)} MiB"


def speed_limits(data: RunData) -> dict[str, Any] | None:
    """Return the speed of each transport on the host's own kernel, and the cells whose goodput is
    above it.

    None if the machine's speed was not measured before the run.
    """
    speed = data.provenance.get("speed")
    if not speed:
        return None
    beyond = []
    for cell in data.results.cells:
        job = data.job(cell.runs[0].run)
        goodput = cell.estimate("goodput_bit_s")
        if job is None or goodput is None:
            continue
        carries_bit_s = speed["goodput_bit_s"].get(job.only.transport.kind)
        if carries_bit_s is not None and goodput.maximum > carries_bit_s:
            beyond.append({"cell": cell_text(cell.factors), "goodput": _rate_text(goodput.maximum)})
    return {
        "measured": speed["measured"],
        "rows": [
            {"name": level_text("transport", kind), "carries": _rate_text(carries_bit_s)}
            for kind, carries_bit_s in speed["goodput_bit_s"].items()
        ],
        "missing": [
            {"name": level_text("transport", kind), "reason": reason}
            for kind, reason in speed.get("not_measured", {}).items()
        ],
        "beyond": beyond,
    }


def _rate_text(rate_bit_s: float) -> str:
    return f"{count(round(rate_bit_s / 1e6))} Mbit/s"


def power_hint(compared: Comparisons) -> str:
    """Return a sentence on how many replicates would detect a difference of 5 % in the cells with
    the largest spread.
    """
    open_spreads = [
        c.spread
        for c in compared.comparisons
        if c.verdict is Verdict.UNDECIDED and c.spread and c.scale == "ratio"
    ]
    if not open_spreads:
        return ""
    needed = replicates_to_tell(max(open_spreads), math.log(HINT_RATIO), ALPHA)
    if needed is None:
        return ""
    return (
        f"Where nothing was decided, the spread is such that {needed} replicates would find"
        f" a difference of {(HINT_RATIO - 1) * 100:.3g} % in four studies of five."
    )


def comparison_note(comparison: Comparison, compared: Comparisons) -> str:
    """Return the statistics of a verdict, and what would decide it if it is undecided."""
    if comparison.exact:
        return f"n = {comparison.n}"
    if comparison.p is None:
        return ""
    parts = [f"n = {comparison.n}"]
    if comparison.left_out:
        kind = "pair" if comparison.paired else "run"
        parts.append(f"{comparison.left_out} {kind}{'s' * (comparison.left_out > 1)} left out")
    parts.append(p_text(comparison.adjusted_p or 0.0) + " (Holm)")
    if comparison.wilcoxon_p is not None:
        parts.append(f"Wilcoxon {p_text(comparison.wilcoxon_p)}")
    if comparison.verdict is Verdict.UNDECIDED:
        parts.append(needed_text(compared.replicates_needed(comparison)))
    return ", ".join(parts)
