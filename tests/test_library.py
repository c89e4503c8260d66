"""netwarp as a library: the public names, what importing costs, and a notebook's way through."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import netwarp
import support
from netwarp.errors import InputError


def test_everything_public_exists_and_is_named_once() -> None:
    assert len(set(netwarp.__all__)) == len(netwarp.__all__)
    for name in netwarp.__all__:
        assert getattr(netwarp, name) is not None
    assert set(netwarp.__all__) < set(dir(netwarp))
    with pytest.raises(AttributeError, match="no attribute 'race'"):
        getattr(netwarp, "race")  # noqa: B009 - mypy knows it too


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import netwarp", ["pydantic", "rich", "typer", "numpy", "polars", "scipy", "altair"]),
        ("import netwarp; netwarp.run", ["rich", "typer", "numpy", "polars", "scipy", "altair"]),
        ("import netwarp; netwarp.open", ["rich", "typer", "numpy", "polars", "scipy", "altair"]),
    ],
)
def test_nothing_is_imported_before_it_is_needed(code: str, absent: list[str]) -> None:
    program = f"{code}; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not set(absent) & set(done.stdout.split())


def test_a_notebook_replays_a_study_and_looks_at_it(tmp_path: Path) -> None:
    recorded = support.write_run_directory(tmp_path / "recorded")
    study = netwarp.study_from_mapping(support.STUDY)
    told: list[str] = []

    class Told(netwarp.Unobserved):
        def finished(self, run: netwarp.PlannedRun, status: object, *, resumed: bool) -> None:
            del status, resumed
            told.append(run.run)

    run = netwarp.run(study, f"replay:{recorded}", out=tmp_path / "out", jobs=1, observer=Told())
    assert len(told) == len(run.frame()) == 24 * support.REPLICATES
    assert [failed.run for failed in run.failed] == [support.FAILED_RUN]
    mean = run.cells[0].estimate("completion_time_s")
    assert mean is not None
    assert mean.exact
    assert run.comparisons.first == "tcp"
    assert [claim.id for claim in run.claims] == ["claim-1", "sctp"]
    assert run.summary()["study"] == study.title
    # An Altair chart: a notebook shows it by its MIME bundle.
    assert "vega-embed" in str(run.figure(0)._repr_mimebundle_())
    with pytest.raises(InputError, match="counted from 0"):
        run.figure(99)
    assert run.report() == tmp_path / "out" / "report.html"
    again = netwarp.open(tmp_path / "out")
    assert again.frame().equals(run.frame())
    assert again.claims == run.claims


def test_what_a_run_computes_it_computes_once(tmp_path: Path) -> None:
    run = netwarp.open(support.write_run_directory(tmp_path / "out"))
    assert run.comparisons is run.comparisons
    assert run.claims is run.claims
    assert run.study is run.study
