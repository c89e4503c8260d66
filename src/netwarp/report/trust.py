"""Can these numbers be trusted? What the runs say about the path, the stacks and the statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from netwarp.comparison import Comparison, Verdict
from netwarp.job import GemodelLoss, Heading, Job, Loss, RandomLoss
from netwarp.levels import condition_text, level_text
from netwarp.record import Connection
from netwarp.stats import binomial_interval, replicates_needed
from netwarp.wording import count, number, p_text, percent

if TYPE_CHECKING:
    from netwarp.race import Race
    from netwarp.results import CellResult
    from netwarp.rundata import RunData

ETHERNET_HEADER_BYTES = 14
Mark = Literal["good", "check", "bad", "none"]
# What a probe of some bytes needs beyond the delay on the slowest path worth studying.
RTT_SLACK_S = 0.001
HINT_RATIO = 1.05


@dataclass(frozen=True)
class Calibration:
    """What the path of one cell was asked to do in one direction, and what it did."""

    cell: str
    way: str
    asked_loss: str
    packets: str
    lost: str
    overflow: str
    loss: str
    interval: str
    loss_says: str
    loss_mark: Mark
    asked_rtt: str
    rtt: str
    rtt_mark: Mark
    asked_rate: str
    rate: str
    frame: str
    largest_frame: str
    frame_mark: Mark


def collect(data: RunData, compared: Race) -> dict[str, Any]:
    """Gather everything the section shows."""
    return {
        "treatment": treatment(data),
        "settings": settings_used(data),
        "calibration": calibration(data),
        "limits": limits(data),
        "failed": [
            {"run": run.run, "cell": _name(run.factors), "reason": run.reason or "no reason given",
             "console": data.console_tail(run.run)}
            for run in data.results.failed
        ],
        "family": compared.tested,
        "paired": all(c.paired for c in compared.comparisons),
        "exact": sum(c.exact for c in compared.comparisons),
        "disagree": sum(c.wilcoxon_disagrees for c in compared.comparisons),
        "ranked": sum(c.wilcoxon_p is not None for c in compared.comparisons),
        "left_out": sum(c.left_out for c in compared.comparisons),
        "power": power_hint(compared),
        "speed": speed_limits(data),
    }  # fmt: skip


def treatment(data: RunData) -> dict[str, Any]:
    """Arrange the equal-treatment rows as setting × transport."""
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
    """Read back what the sending stacks said they used, once for each contender."""
    factor = data.results.contender_factor
    found: dict[str, dict[str, str]] = {}
    for cell in data.results.cells:
        label = cell.factors.get(factor, "") if factor else ""
        run = next((run.run for run in cell.runs if run.outcome == "ok"), None)
        job = data.job(run) if run else None
        if label in found or run is None or job is None:
            continue
        side = "server" if job.heading == "down" else "client"
        for record in data.records(run):
            if isinstance(record, Connection) and record.side == side:
                used = record.settings
                found[label] = {
                    "name": level_text(factor or "", label),
                    "congestion": used.congestion,
                    "initial window": f"{used.initial_window_bytes} B",
                    "MSS": f"{used.mss_bytes} B",
                    "send buffer": f"{number(used.send_buffer_bytes / 2**20)} MiB",
                    "receive buffer": f"{number(used.receive_buffer_bytes / 2**20)} MiB",
                    "pacing": "paced" if used.paced else "not paced",
                }
                break
    return list(found.values())


def calibration(data: RunData) -> list[Calibration]:
    """Compare the path that was asked for with the one that was delivered, cell by cell.

    The intervals hold together (Bonferroni): in 95 of 100 reports no cell is marked by chance.
    """
    found: list[tuple[CellResult, Heading, Job | None]] = []
    for cell in data.results.cells:
        job = data.job(cell.runs[0].run)
        heading = job.heading if job else "down"
        headings: list[Heading] = [heading]
        other: Heading = "up" if heading == "down" else "down"
        if cell.total(f"path_dropped_{other}") or (job and _asked_ratio(job, other)):
            headings.append(other)
        found += [(cell, each, job) for each in headings]
    confidence = 1 - 0.05 / max(1, len(found))
    return [
        _calibrated(cell, heading, job, confidence)
        for cell, heading, job in found
        if cell.total(f"path_packets_{heading}")
    ]


def _calibrated(
    cell: CellResult, heading: Heading, job: Job | None, confidence: float
) -> Calibration:
    packets = int(cell.total(f"path_packets_{heading}") or 0)
    dropped = int(cell.total(f"path_dropped_{heading}") or 0)
    direction = None if job is None else getattr(job.paths[0], heading)
    loss = None if direction is None else direction.loss
    overflow = cell.total(f"path_overflow_{heading}")
    # A kernel that does not tell the two apart leaves both in one number.
    lost = dropped - int(overflow or 0)
    says, mark = _loss_check(loss, lost, packets, confidence, told_apart=overflow is not None)
    low, high = binomial_interval(lost, packets, confidence)
    rtt_s = min(cell.values("path_min_rtt_s"), default=None)
    asked_rtt_s = None if job is None else _base_rtt_s(job)
    rate_bit_s = max(cell.values(f"path_rate_{heading}_bit_s"), default=None)
    frame_bytes = (cell.total(f"wire_bytes_{heading}") or 0) / packets
    most_bytes = None if job is None else job.paths[0].mtu_bytes + ETHERNET_HEADER_BYTES
    asked_bit_s = None if direction is None else direction.rate_bit_s
    return Calibration(
        cell=_name(cell.factors),
        way="server → client" if heading == "down" else "client → server",
        asked_loss=_loss_text(loss),
        packets=count(packets),
        lost=count(lost),
        overflow="not told apart" if overflow is None else count(int(overflow)),
        loss=percent(lost / packets),
        interval=f"{percent(low)} to {percent(high)}",
        loss_says=says,
        loss_mark=mark,
        asked_rtt="unknown" if asked_rtt_s is None else f"{number(asked_rtt_s * 1e3, 4)} ms",
        rtt="not probed" if rtt_s is None else f"{number(rtt_s * 1e3, 5)} ms",
        rtt_mark=_rtt_mark(job, asked_rtt_s, rtt_s),
        asked_rate="unlimited" if asked_bit_s is None else f"{number(asked_bit_s / 1e6)} Mbit/s",
        rate="–" if rate_bit_s is None else f"{number(rate_bit_s / 1e6)} Mbit/s",
        frame=f"{count(round(frame_bytes))} B",
        largest_frame="unknown" if most_bytes is None else f"{count(most_bytes)} B",
        frame_mark="none" if not most_bytes else "good" if frame_bytes <= most_bytes else "bad",
    )


def _loss_check(
    loss: Loss | None, lost: int, packets: int, confidence: float, *, told_apart: bool
) -> tuple[str, Mark]:
    if loss is None:
        return ("the job was not kept", "none")
    if isinstance(loss, GemodelLoss) or (isinstance(loss, RandomLoss) and loss.correlation):
        return ("losses are correlated: no simple interval", "none")
    ratio = loss.ratio if isinstance(loss, RandomLoss) else 0.0
    low, high = binomial_interval(lost, packets, confidence)
    if low <= ratio <= high:
        return ("as asked", "good")
    if ratio < low and not told_apart:
        return ("more than asked: a full queue drops as well", "check")
    return ("more than asked" if ratio < low else "less than asked", "bad")


def _rtt_mark(job: Job | None, asked_s: float | None, rtt_s: float | None) -> Mark:
    if job is None or asked_s is None or rtt_s is None:
        return "none"
    if job.paths[0].down.jitter_ns or job.paths[0].up.jitter_ns:
        return "none"
    return "good" if asked_s <= rtt_s <= asked_s + RTT_SLACK_S else "check"


def _asked_ratio(job: Job, heading: Heading) -> bool:
    return (
        job.paths[0].up.loss.kind != "none"
        if heading == "up"
        else (job.paths[0].down.loss.kind != "none")
    )


def _base_rtt_s(job: Job) -> float:
    return (job.paths[0].down.delay_ns + job.paths[0].up.delay_ns) / 1e9


def _loss_text(loss: Loss | None) -> str:
    if loss is None:
        return "unknown"
    if isinstance(loss, GemodelLoss):
        bad = loss.p / (loss.p + loss.r) if loss.p + loss.r else 0.0
        mean = bad * loss.loss_bad + (1 - bad) * loss.loss_good
        return f"{percent(mean)} on average, in bursts (Gilbert–Elliott)"
    return percent(loss.ratio) if isinstance(loss, RandomLoss) else "0 %"


def limits(data: RunData) -> list[dict[str, str]]:
    """Say what held each cell's sender back, as shares of the time it had something to send."""
    rows = []
    for cell in data.results.cells:
        busy_s = cell.total("busy_s")
        row = {"cell": _name(cell.factors), "busy": "the stack does not say"}
        receive_s = cell.total("receive_window_limited_s") or 0.0
        buffer_s = cell.total("send_buffer_limited_s") or 0.0
        if busy_s:
            row |= {
                "busy": f"{number(busy_s / len(cell.values('busy_s')))} s",
                "receive": percent(receive_s / busy_s, 2),
                "buffer": percent(buffer_s / busy_s, 2),
                "path": percent(max(0.0, 1 - (receive_s + buffer_s) / busy_s), 3),
            }
        rows.append(row)
    return rows


def speed_limits(data: RunData) -> dict[str, Any] | None:
    """Say how far results are limited by the network alone, and which cells are beyond that.

    None where the machine's speed was not measured before the run.
    """
    speed = data.provenance.get("speed")
    if not speed:
        return None
    beyond = []
    for cell in data.results.cells:
        job = data.job(cell.runs[0].run)
        goodput = cell.estimate("goodput_bit_s")
        carries_bit_s = speed["goodput_bit_s"].get(job.transport.kind) if job else None
        if goodput is not None and carries_bit_s is not None and goodput.maximum > carries_bit_s:
            beyond.append({"cell": _name(cell.factors), "goodput": _rate_text(goodput.maximum)})
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


def power_hint(compared: Race) -> str:
    """Say how many replicates would find a difference of 5 % where the spread is largest."""
    open_spreads = [
        c.spread
        for c in compared.comparisons
        if c.verdict is Verdict.NO_DIFFERENCE and c.spread and c.scale == "ratio"
    ]
    if not open_spreads:
        return ""
    needed = replicates_needed(max(open_spreads), HINT_RATIO)
    return (
        f"Where no difference was found, the spread is such that {needed} replicates would find"
        f" a difference of {(HINT_RATIO - 1) * 100:.3g} % in four studies of five."
    )


def comparison_note(comparison: Comparison) -> str:
    """Give the figures behind a verdict."""
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
    return ", ".join(parts)


def _name(factors: Any) -> str:
    transport = factors.get("transport")
    rest = condition_text({f: level for f, level in factors.items() if f != "transport"})
    if transport is None:
        return rest or "all runs"
    name = level_text("transport", transport)
    return f"{name} · {rest}" if rest else name
