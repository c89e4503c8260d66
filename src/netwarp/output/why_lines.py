"""What `netwarp why` prints, as lines for users and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netwarp.estimate.comparison import Comparison
from netwarp.metrics import METRICS
from netwarp.metrics.attribution import CAUSE_TEXTS
from netwarp.metrics.causes import Cause
from netwarp.results import CellResult
from netwarp.why.answer import Answer, BaseRun, Lifted
from netwarp.why.contrast import Contrast, Contrasts
from netwarp.why.lifts import Lift
from netwarp.why.swap import Part
from netwarp.wording import cell_text, sentence_case, value_text

MOST_CAUSES = 4
LEAST_CAUSE = 0.01


def answer_lines(found: Answer, cell: CellResult, runs: Sequence[BaseRun]) -> Iterator[str]:
    """Yield lines that say how much better a cell's metric is when each limit on its transfers is
    removed.
    """
    values = [run.sample.value for run in runs if run.sample.value is not None]
    mean = value_text(found.metric, sum(values) / len(values))
    title = METRICS[found.metric].title if found.metric in METRICS else found.metric
    counted = f"{len(runs)} runs" if len(runs) > 1 else "1 run"
    yield f"{cell_text(cell.factors) or 'the only cell'}: {title.lower()} {mean} ({counted})"
    if found.shares is not None:
        yield f"where the time went: {_shares_text(found.shares)}"
    yield ""
    gaining = [each for each in found.alone if each.gains]
    shown = [each for each in gaining if not each.lifts[0].is_yardstick]
    network = [each for each in gaining if each.lifts[0].is_yardstick]
    others = [each for each in found.alone if not each.gains]
    if not shown:
        yield "No limit of the endpoints, and none of what happens to packets, is shown to matter."
    if found.before_it is not None:
        other = found.before_it
        yield (
            f"None is named first: {_changed(other.lifts)} makes it {_effect(other)}, may gain more"
            " than what is shown, and more replicates of the study may show it."
        )
    begin = "It is " if found.before_it is None else "Shown to gain: "
    for place, each in enumerate(shown):
        head = begin if place == 0 else "  and "
        yield f"{head}{each.lifts[0].limit}: {_changed(each.lifts)} makes it {_effect(each)}"
    if found.together is not None:
        names = " and ".join(lift.name for lift in found.together.lifts)
        yield f"together ({names}): {_effect(found.together)}"
    if network:
        yield ""
        yield "What the network, the question and standards set, as a yardstick:"
        for each in network:
            yield f"  {each.lifts[0].limit}: {_changed(each.lifts)} makes it {_effect(each)}"
    if others:
        yield ""
        yield "Not shown to matter:"
        for each in others:
            yield f"  {_changed(each.lifts)}: {_effect(each)}"
    yield from _failed_lines(found.failed)
    if any(each.comparison.verdict.value == "undecided" for each in others):
        yield "Undecided ones may be decided by more replicates of the study."


def _changed(lifts: Sequence[Lift]) -> str:
    return " and ".join(lift.keys for lift in lifts)


def _effect(each: Lifted) -> str:
    return f"{effect_text(each.comparison)} ({_verdict(each)})"


def _verdict(each: Lifted) -> str:
    verdict = each.comparison.verdict
    if verdict.decided:
        return "better" if each.is_better else "worse"
    return str(verdict.value)


def effect_text(found: Comparison) -> str:
    """Return as text a ratio, and the interval on which its verdict is based."""
    if found.effect is None:
        return "no value"
    shown = f"× {found.effect:.3g}"
    if found.exact:
        return f"{shown}, exact"
    interval = found.interval
    if interval is None:
        return f"{shown}, of {found.n} runs whose interval has no bounds"
    return f"{shown} [{interval[0]:.3g}, {interval[1]:.3g}]"


def _shares_text(shares: Mapping[Cause, float]) -> str:
    largest = sorted(shares, key=lambda cause: -shares[cause])[:MOST_CAUSES]
    told = [
        f"{CAUSE_TEXTS[cause].name} {100 * shares[cause]:.0f} %"
        for cause in largest
        if shares[cause] >= LEAST_CAUSE
    ]
    return ", ".join(told)


def answer_json(found: Answer, cell: CellResult) -> dict[str, Any]:
    """Return what `netwarp why` says about one cell, as a JSON object."""
    first, before_it = found.first, found.before_it
    return {
        "cell": cell.index,
        "factors": dict(cell.factors),
        "metric": found.metric,
        "time_shares": None if found.shares is None else dict(found.shares),
        "first": None if first is None else first.lifts[0].name,
        "before_it": None if before_it is None else before_it.lifts[0].name,
        "lifts": [_lifted_json(each) for each in found.alone],
        "together": None if found.together is None else _lifted_json(found.together),
        "failed": dict(found.failed),
    }


def _lifted_json(each: Lifted) -> dict[str, Any]:
    return {
        "lifts": [lift.name for lift in each.lifts],
        "changes": [lift.keys for lift in each.lifts],
        "gains": each.gains,
        **_comparison_json(each.comparison),
    }


def _comparison_json(found: Comparison) -> dict[str, Any]:
    return {
        "ratio": found.effect,
        "interval": None if found.interval is None else list(found.interval),
        "exact": found.exact,
        "verdict": found.verdict.value,
        "n": found.n,
    }


def contrast_lines(
    found: Contrasts, cells: tuple[CellResult, CellResult], metric: str
) -> Iterator[str]:
    """Yield lines that say which limit makes two cells differ."""
    one, other = (cell_text(cell.factors) for cell in cells)
    title = METRICS[metric].title.lower() if metric in METRICS else metric
    yield f"{title} of {other} to that of {one}: {effect_text(found.comparison)}"
    for name, answer in ((one, found.one), (other, found.other)):
        if answer.shares is not None:
            yield f"where the time went, {name}: {_shares_text(answer.shares)}"
    yield ""
    if not found.comparison.verdict.decided:
        yield "They are not shown to differ, so there is no difference to explain."
    shown = [each for each in found.found if found.makes(each)]
    if found.comparison.verdict.decided and not shown:
        yield "No limit that was lifted in both is shown to make the difference."
    for place, each in enumerate(shown):
        head = "It is " if place == 0 else "  and "
        yield f"{head}{each.lift.limit}: {_contrast(each)}"
    others = [each for each in found.found if not found.makes(each)]
    if others:
        yield ""
        yield "Not shown to bring them together:"
        for each in others:
            yield f"  {_contrast(each)}"
    yield from _failed_lines(found.failed)


def _failed_lines(failed: Mapping[str, str]) -> Iterator[str]:
    for name, reason in failed.items():
        yield f"  {name}: a run failed: {reason}"


def _contrast(each: Contrast) -> str:
    changed = effect_text(each.comparison)
    return f"with {each.lift.keys} the ratio is {each.ratio:.3g}, changed by {changed}"


def contrast_json(
    found: Contrasts, cells: tuple[CellResult, CellResult], metric: str
) -> dict[str, Any]:
    """Return which limit makes two cells differ, as a JSON object."""
    return {
        "cells": [cell.index for cell in cells],
        "metric": metric,
        "difference": _comparison_json(found.comparison),
        "lifts": [
            {
                "lift": each.lift.name, "changes": each.lift.keys, "ratio_lifted": each.ratio,
                "makes_the_difference": found.makes(each),
                "change_of_ratio": _comparison_json(each.comparison),
            }
            for each in found.found
        ],
        "failed": dict(found.failed),
    }  # fmt: skip


def parts_lines(
    divided: Sequence[Part], cells: tuple[CellResult, CellResult], metric: str
) -> Iterator[str]:
    """Yield lines that say how much each factor contributes to the difference of two cells."""
    one, other = (cell_text(cell.factors) for cell in cells)
    title = METRICS[metric].title.lower() if metric in METRICS else metric
    yield f"{title} of {other} to that of {one}, by factor (means over all orders of change):"
    for part in sorted(divided, key=lambda each: -abs((each.comparison.effect or 1) - 1)):
        word = "" if part.comparison.verdict.decided else f" ({part.comparison.verdict.value})"
        yield (
            f"  {part.factor} {part.before} → {part.after}: {effect_text(part.comparison)}{word};"
            f" changed first × {part.first:.3g}, last × {part.last:.3g}"
        )
    yield sentence_case("the ratios of all factors multiply to the whole difference.")


def parts_json(
    divided: Sequence[Part], cells: tuple[CellResult, CellResult], metric: str
) -> dict[str, Any]:
    """Return how much each factor contributes to the difference of two cells, as a JSON object."""
    return {
        "cells": [cell.index for cell in cells],
        "metric": metric,
        "factors": [
            {
                "factor": part.factor, "from": part.before, "to": part.after,
                "changed_first": part.first, "changed_last": part.last,
                **_comparison_json(part.comparison),
            }
            for part in divided
        ],
    }  # fmt: skip
