"""Adds expectations from the command line to a study."""

from collections.abc import Sequence
from dataclasses import replace

from netwarp.study.expectations import parse_expectation, refuse_impossible_metric
from netwarp.study.overrides import COMMAND_LINE
from netwarp.study.refusal import Refusals
from netwarp.study.study import Study

OPTION = "--expect"


def expecting(study: Study, texts: Sequence[str]) -> Study:
    """Return the study with expectations added, as `--expect` does; those that it already has are
    not added again.

    Raises:
        StudyError: an expectation cannot be read, or names something that the study does not have.
    """
    has = {each.text for each in study.expectations}
    with Refusals(COMMAND_LINE).as_study_errors():
        read = [parse_expectation(text, study.factors, study.own_metrics, OPTION) for text in texts]
        for each in read:
            refuse_impossible_metric(each, study.cells)
    added = {each.text: each for each in read if each.text not in has}
    if not added:
        return study
    tables = [*study.raw.get("expect", ()), *({"that": text} for text in added)]
    return replace(
        study,
        expectations=(*study.expectations, *added.values()),
        raw={**study.raw, "expect": tables},
    )
