"""Makes figures of runs over time: selects the runs, and chooses colours and texts."""

from collections.abc import Sequence
from textwrap import wrap

from netwarp.figures.chart import Chart, finished
from netwarp.figures.over_time.panels import timeline_chart
from netwarp.figures.over_time.plots import ShownRun
from netwarp.figures.over_time.run_timeline import RunTimeline, link_timeline, run_timeline
from netwarp.figures.style import SCREEN, TRANSPORT_STYLES, Spec, Theme, series_styles
from netwarp.kept_runs import Kept
from netwarp.results import CellResult, Results, RunResult
from netwarp.study.figures import Figure
from netwarp.units import span_text
from netwarp.wire import Job
from netwarp.wording import cell_text, condition_text, contender_text, number, sentence_case

SUBTITLE_LETTERS = 150
"""Maximum number of letters of a subtitle that fit in one line above the chart."""

NEARLY_EVEN = 1.5
"""Ratio of the longest to the shortest interval between samples below which the text names only one
interval."""


def run_chart(
    run: RunResult,
    kept: Kept,
    theme: Theme = SCREEN,
    *,
    samples_alone: bool = True,
    link: str | None = None,
) -> Chart | None:
    """Draw one run over time, or one link of its network. None if the run has no time series, or
    only samples and `samples_alone` is false.

    Raises:
        InputError: the run's network has no such link, or nothing of the link was sampled.
    """
    job = kept.job(run.run)
    if job is None:
        return None
    if link is not None:
        timeline = link_timeline(job, kept.records(run.run), link)
        title = f"Link {link}"
        if run.factors:
            title += f": {cell_text(run.factors, ', ')}"
        names = f"Run {run.run}, link {link}"
        return _chart(run.run, title, names, [ShownRun("", _colour(job), timeline)], theme)
    shown = _shown_run(run, kept, "", _colour(job))
    if shown is None or (shown.timeline.is_sampled_alone and not samples_alone):
        return None
    title = sentence_case(cell_text(run.factors, ", "))
    return _chart(run.run, title, f"Run {run.run}", [shown], theme)


def _colour(job: Job) -> str:
    """Return the colour of a run's lines: its transport's, or its first transport's if it has
    several.
    """
    return TRANSPORT_STYLES[job.workloads[0].transport.kind].colour


def timeline_figure(
    figure: Figure, results: Results, kept: Kept, name: str, theme: Theme = SCREEN
) -> Chart | None:
    """Draw a study's figure of runs over time; None if none of them recorded anything over time."""
    labels = list(results.factors.get(figure.series, ())) if figure.series else [""]
    styles = series_styles(figure.series, labels)
    found: list[ShownRun] = []
    runs: list[RunResult] = []
    for label, style in zip(labels, styles, strict=True):
        wanted = dict(figure.where) | ({figure.series: label} if figure.series else {})
        run = _replicate(results.select(wanted), figure.replicate or 0)
        text = contender_text(figure.series, label) if figure.series else ""
        shown = _shown_run(run, kept, text, style.colour) if run else None
        if run is not None and shown is not None:
            found.append(shown)
            runs.append(run)
    if not found:
        return None
    job = kept.job(runs[0].run)
    if len(found) == 1 and job is not None and figure.series is None:
        found = [ShownRun("", _colour(job), found[0].timeline)]
    shared = condition_text(figure.where)
    which = ", ".join(run.run for run in runs)
    names = sentence_case(f"{shared}: runs {which}" if shared else f"runs {which}")
    title = figure.title or "What happened in a run"
    return _chart(name, title, names, found, theme)


def _replicate(cells: Sequence[CellResult], replicate: int) -> RunResult | None:
    return next((run for cell in cells for run in cell.runs if run.replicate == replicate), None)


def _shown_run(run: RunResult, kept: Kept, name: str, colour: str) -> ShownRun | None:
    job, records = kept.job(run.run), kept.records(run.run)
    if job is None or not records:
        return None
    timeline = run_timeline(job, records)
    failed = " (failed)" if run.outcome == "failed" and name else ""
    return None if timeline.is_empty else ShownRun(f"{name}{failed}", colour, timeline)


def _chart(name: str, title: str, names: str, runs: Sequence[ShownRun], theme: Theme) -> Chart:
    """Return the chart of runs over time, with its subtitle and its description."""
    timelines = [run.timeline for run in runs]
    said = [text for text in (f"{names}.", _key(timelines), _sampling(timelines),
                        _unsampled(timelines)) if text]  # fmt: skip
    subtitle = [line for text in said for line in wrap(text, SUBTITLE_LETTERS)]
    described = " ".join(map(_run_description, runs))
    alt = f"Panels over time: {title}. {' '.join(said)} {described}".strip()

    def drawn(*, interactive: bool) -> Spec:
        chart = timeline_chart(runs, theme, interactive=interactive)
        return finished(chart, title, subtitle, alt, theme)

    return Chart(name, title, alt, drawn(interactive=True), drawn(interactive=False))


def _key(timelines: Sequence[RunTimeline]) -> str:
    """Return a sentence that explains the marks in the chart."""
    parts = []
    if any(each.handovers for each in timelines):
        parts.append("dashed: the client comes to another path")
    if any(each.reconnections for each in timelines):
        parts.append("diamonds: a new connection is ready")
    if any(each.outages for each in timelines):
        parts.append("grey: nothing gets through")
    if any(each.seeks for each in timelines):
        parts.append("triangles: the viewer seeks")
    return sentence_case("; ".join(parts)) + "." if parts else ""


def _sampling(timelines: Sequence[RunTimeline]) -> str:
    """Return a sentence on how often queues and connections were sampled."""
    of_runs = [each.sampling_intervals_s for each in timelines if each.sampling_intervals_s]
    if not of_runs:
        return ""
    shortest_s, longest_s = min(of_runs)[0], max(longest for _, longest in of_runs)
    every = span_text(shortest_s)
    if longest_s < NEARLY_EVEN * shortest_s:
        return f"Queues and connections were sampled every {every}."
    return (
        f"Queues and connections were sampled every {every} to {span_text(longest_s)}: between two"
        " samples lines are straight, whatever happened."
    )


def _unsampled(timelines: Sequence[RunTimeline]) -> str:
    """Return a sentence on why runs with some stacks do not have all panels."""
    stacks = dict.fromkeys(name for each in timelines for name in each.unsampled_stacks)
    if not stacks:
        return ""
    named = " and ".join(stacks)
    return f"No congestion window and no RTT of {named}: the stack's process alone knows them."


def _run_description(run: ShownRun) -> str:
    timeline = run.timeline
    parts = [f"{number(timeline.end_s)} s"]
    if timeline.handovers:
        parts.append(_counted(len(timeline.handovers), "handover"))
    if timeline.reconnections:
        parts.append(_counted(len(timeline.reconnections), "new connection"))
    if timeline.playback:
        stopped = {label for label, tone in timeline.tones.items() if tone == "stopped"}
        stalls = [band for band in timeline.playback if band.label in stopped]
        stalled_s = sum(band.end_s - band.start_s for band in stalls)
        parts.append(f"{_counted(len(stalls), 'stall')} ({number(stalled_s)} s together)")
    if timeline.seeks:
        parts.append(_counted(len(timeline.seeks), "seek"))
    if timeline.items:
        parts.append(_counted(len(timeline.items), "resource"))
    parts += [f"{mark.label} at {number(mark.at_s)} s" for mark in timeline.milestones]
    return f"{run.name}: {', '.join(parts)}." if run.name else f"{', '.join(parts)}."


def _counted(number_of: int, what: str) -> str:
    return f"{number_of} {what}{'s' * (number_of != 1)}"
