"""Measures metrics of other packages so that one that fails harms nothing else."""

import logging
from dataclasses import replace
from functools import cache

from netwarp import plugins
from netwarp.errors import one_line
from netwarp.measure.metric import Metric
from netwarp.measure.run_records import RunRecords
from netwarp.plugins import Registry

_told: set[str] = set()
"""Names of the metrics whose failure has been reported by this process."""


class MetricRegistry(Registry[Metric]):
    """The registry of metrics. A metric of a package that raises an exception has no value."""

    def _loaded(self, name: str) -> Metric:
        return _without_harm(super()._loaded(name), name)


@cache
def _without_harm(metric: Metric, name: str) -> Metric:
    """Return a metric that has no value where the package's function fails, with one line on
    standard error for the first such run.

    The run itself has succeeded, and its other metrics are as good as ever. Its records are kept,
    so the metric has a value as soon as the package is mended.
    """

    def measure(run: RunRecords) -> float | None:
        try:
            value = metric.measure(run)
            return None if value is None else float(value)
        except Exception as error:  # noqa: BLE001 - code of another package may raise anything
            _tell(name, run.job.run, error)
            return None

    return replace(metric, measure=measure)


def _tell(name: str, run: str, error: Exception) -> None:
    if name in _told:
        return
    _told.add(name)
    package = plugins.package_of("metrics", name)
    logging.getLogger("netwarp").warning(
        "warning: the metric %s, which the package %s adds, has no value in runs in which it fails,"
        " such as %s (%s): mend or uninstall %s",
        name, package, run, one_line(f"{type(error).__name__}: {error}", 300), package,
    )  # fmt: skip
