"""Notes on what makes a measurement uncertain: its path, its clocks, the cause of its latency, its
means, and runs in which a transport gave up.
"""

from collections.abc import Iterator, Sequence

from netwarp.evaluation import RunData
from netwarp.measure.two_hosts import MOST_UNCERTAIN, early_s
from netwarp.metrics.registry import metric_named
from netwarp.results import Results, RunResult
from netwarp.results.comparisons import Comparisons
from netwarp.wire.path import FLOW_QUEUEING
from netwarp.wording import number
from netwarp.workloads import workload_of

APART = 0.03
"""Smallest difference between two ratios, as a ratio, about which a note is printed."""


def uncertainty_notes(data: RunData) -> list[str]:
    """Return the notes that apply to these results: on clocks, early packets, and queues for each
    flow.
    """
    return list(filter(None, (clock_text(data), early_text(data), flow_queueing_text(data))))


def disturbed_text(data: RunData) -> str | None:
    """Return a note on the number of runs during which the path changed; None if there are none."""
    runs = [run for run in data.results.runs if run.outcome == "ok"]
    disturbed = [run.run for run in runs if run.is_disturbed]
    if not disturbed:
        return None
    return (
        f"The path changed during {len(disturbed)} of {len(runs)} runs, such as {disturbed[0]}:"
        " path_measurement in their records has what it did before and after."
    )


def means_text(answers: Sequence[Comparisons]) -> str | None:
    """Return a note that verdicts compare geometric means while arithmetic means are shown, if the
    two differ visibly in a verdict; None otherwise.
    """
    for said, of_shown in (each for compared in answers for each in _ratios(compared)):
        if abs(of_shown / said - 1) >= APART:
            # Verdicts say factors of at least 1.
            factors = [ratio if said > 1 else 1 / ratio for ratio in (said, of_shown)]
            return (
                "ratios are of geometric means, which a few slow runs move less than the"
                f" arithmetic means that are shown: {number(factors[0])}× is said where these"
                f" give {number(factors[1])}×"
            )
    return None


def _ratios(compared: Comparisons) -> Iterator[tuple[float, float]]:
    """Yield the ratio of each verdict that has one, and the ratio of the means that are shown
    beside it.
    """
    for group in compared.groups:
        shown = {each.label: each.cell.estimate(compared.metric) for each in group.contenders}
        first = shown.get(compared.first)
        for each in group.contenders:
            found, own = each.comparison, shown[each.label]
            if found is None or found.scale != "ratio" or not found.verdict.decided:
                continue
            if found.effect and own and first and first.mean:
                yield found.effect, own.mean / first.mean


def gave_up_text(results: Results) -> str | None:
    """Return a note on the runs in which a transport gave up, and on the values that these have;
    None if there are none.
    """
    gave_up = [run for cell in results.cells for run in cell.gave_up]
    if not gave_up:
        return None
    first = gave_up[0]
    workload, after_s = next(iter(first.gave_up_s.items()))
    which = f"{workload} of {first.run}" if workload else first.run
    return (
        f"gave up: in {len(gave_up)} of {len(results.runs)} runs a transport had no answer any"
        f" more ({which} after {number(after_s)} s); {'such workloads' if workload else 'they'}"
        " have no other value, and means are of the runs that have one"
    )


def clock_text(data: RunData) -> str | None:
    """Return a note on the uncertainty of times between two hosts' clocks; None if no run has such
    times.
    """
    runs = [run for run in data.results.runs if run.outcome == "ok"]
    spanning = [run for run in runs if _spans_clocks(data, run)]
    if not spanning:
        return None
    worst_s = max(run.metrics["clock_uncertainty_s"] or 0.0 for run in spanning)
    said = f"One-way delays and uploads are known to ±{worst_s * 1e3:.3g} ms, as the clocks are"
    left_out = sum(_lacks_its_delay(data, run) for run in spanning)
    if left_out:
        return (
            f"{said}: in {left_out} of {len(spanning)} runs that is more than"
            f" {MOST_UNCERTAIN:.0%} of the mean delay, which is left out."
        )
    return f"{said}."


def flow_queueing_text(data: RunData) -> str | None:
    """Return a note that the latency shown is that of the flows which fill a queue, if a qdisc has
    a queue for each flow; None if no qdisc has, or no latency is shown.
    """
    is_shown = any(metric_named(each.metric).source == "queue_samples" for each in data.answers)
    of_each = data.results.factors | {key: (value,) for key, value in data.fixed.items()}
    in_force = {
        level
        for key, levels in of_each.items()
        if key.startswith("path.discipline")
        for level in levels
    }
    own = [each for each in FLOW_QUEUEING if each in in_force]
    if not is_shown or not own:
        return None
    return (
        f"{', '.join(own)} {'have' if len(own) > 1 else 'has'} a queue for each flow: the"
        " round-trip time under load and the queueing delay are those of the flows that fill"
        " the queue, and another flow waits less. A ping beside them measures how long"
        " (docs/recipes.md)."
    )


def early_text(data: RunData) -> str | None:
    """Return a note that packets between two hosts arrived earlier than over a path of netwarp's;
    None if none did.
    """
    imposed = (run for run in data.results.runs if run.metrics.get("path_imposed_rtt_s"))
    jobs = (data.job(run.run) for run in imposed)
    longest_s = max((early_s(job) for job in jobs if job is not None), default=0.0)
    if longest_s == 0:
        return None
    return (
        "Between two hosts, where packets may overtake others at a rate, each is delivered when"
        f" its transmission begins: up to {longest_s * 1e3:.3g} ms earlier than over a path of"
        " netwarp's."
    )


def _spans_clocks(data: RunData, run: RunResult) -> bool:
    if run.metrics.get("clock_uncertainty_s") is None:
        return False
    job = data.job(run.run)
    return job is not None and workload_of(job).is_between_clocks(job)


def _lacks_its_delay(data: RunData, run: RunResult) -> bool:
    """Return whether a run that measures a one-way delay has no value for it."""
    job = data.job(run.run)
    delay = None if job is None else workload_of(job).one_way_delay
    return delay is not None and run.value(delay) is None
