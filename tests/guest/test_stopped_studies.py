"""A study that is stopped on the local pages keeps what was measured, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.run_directory import RunDirectory
from netwarp.ui.studies import Progress, StudyRun


def test_runs_that_were_killed_are_not_failed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = StudyRun("bufferbloat", quick=True, into=tmp_path)

    def progressed(progress: Progress, *_: object) -> None:
        """Stop the study while a guest is under way, once another run has ended."""
        if progress._ended:
            begun.cancel()

    monkeypatch.setattr(Progress, "progressed", progressed)
    begun.begin()
    begun.join()
    (place,) = tmp_path.iterdir()
    directory = RunDirectory(place)
    kept = directory.kept_runs()
    assert 1 <= len(kept) < len(directory.plan_lines())
    found = {run: status.outcome for run in kept if (status := directory.status(run)) is not None}
    assert set(found.values()) == {"ok"}, found
