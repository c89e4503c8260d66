"""netwarp as a library: the public names, what importing costs, and a notebook's way through."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import netwarp
import support
from fake_backend import FakeBackend
from netwarp.backends.replay import ReplayBackend
from netwarp.errors import InputError, StudyError
from netwarp.execution import Interrupted
from netwarp.fields import KeyValueError
from netwarp.regular_files import UnreadableFileError
from netwarp.units import UnitError
from netwarp.verification import verify


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
        ("import netwarp", ["pydantic", "rich", "click", "numpy", "polars", "scipy", "altair"]),
        ("import netwarp; netwarp.run", ["rich", "click", "numpy", "polars", "scipy", "altair"]),
        ("import netwarp; netwarp.open", ["rich", "click", "numpy", "polars", "scipy", "altair"]),
    ],
)
def test_nothing_is_imported_before_it_is_needed(code: str, absent: list[str]) -> None:
    program = f"{code}; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not set(absent) & set(done.stdout.split())


def test_results_are_read_wherever_the_program_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative directory is of when it was named."""
    recorded = support.write_run_directory(tmp_path / "recorded")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    study = netwarp.study_from_mapping(support.STUDY)
    made = netwarp.run(study, f"replay:{recorded}", out="out", jobs=1)
    opened = netwarp.open("recorded")
    monkeypatch.chdir(elsewhere)
    first = made.data.results.runs[0].run
    for run in (made, opened):
        assert run.data.job(first) is not None
        assert run.data.records(first)
        assert run.data.records_sha256 is not None
        assert run.report().is_file()
        assert run.data.asked(["goodput_bit_s"], {}).job(first) is not None
    assert made.directory == tmp_path / "out"
    assert opened.study.title == study.title
    assert verify(opened.data, ReplayBackend(recorded), runs=1).is_identical
    assert not list(elsewhere.iterdir())


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
    assert mean.all_equal
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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"transport": []}, "transport=[]: give a level such as transport='tcp'"),
        ({"file": ["a", "b"]}, 'file=["a", "b"]: give a path'),
        ({"set": 5}, "set=5: give a text, or a list of texts"),
        ({"set": [5]}, "set=[5]: give a text, or a list of texts"),
        ({"against": ["transport=tcp"]}, 'against=["transport=tcp"]: give a text'),
        ({"metric": {"a": 1}}, 'metric={"a": 1}: give a level such as'),
        ({"rtt": 0.1}, "path.rtt"),
        ({"rtt": []}, "rtt=[]: give a level"),
        ({"rtt": None}, "rtt=null: give a level"),
        ({"size": []}, "size=[]: give a level"),
        ({"out": "a\0b"}, "no path has a NUL in it"),
    ],
)
def test_what_is_no_level_or_path_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as refused:
        netwarp.compare(**{"transport": ["tcp", "quic"], "size": "1kB", **options})  # type: ignore[arg-type]
    assert said in str(refused.value).replace("--rtt", "path.rtt")


def test_a_number_of_runs_that_none_can_be_is_refused(tmp_path: Path) -> None:
    recorded = support.write_run_directory(tmp_path / "recorded")
    study = netwarp.study_from_mapping(support.STUDY)
    with pytest.raises(InputError, match="-1 runs at a time"):
        netwarp.run(study, f"replay:{recorded}", out=tmp_path / "out", jobs=-1)
    assert not (tmp_path / "out").exists()


def test_files_are_named_by_strings_too(tmp_path: Path) -> None:
    recorded = support.write_run_directory(tmp_path / "recorded")
    text = 'title = "t"\nfactors.transport = ["tcp"]\n[workload]\nsize = "1kB"\n'
    (tmp_path / "study.toml").write_text(text)
    assert netwarp.load_study(f"{tmp_path}/study.toml").title == "t"
    assert netwarp.read_records(f"{recorded}/runs/c000-r00/records.jsonl")


def test_a_metric_that_there_is_not_is_refused(tmp_path: Path) -> None:
    cell = netwarp.open(support.write_run_directory(tmp_path / "recorded")).cells[0]
    assert cell.estimate("startup_delay_s") is None
    with pytest.raises(InputError, match="no metric completion_time: did you mean"):
        cell.estimate("completion_time")
    with pytest.raises(InputError, match='did you mean "completion_time_s"'):
        cell.estimate("completion_tim_s")  # ends in a unit, as metrics that a study defines do


def test_a_number_of_runs_to_verify_that_is_none_is_refused(tmp_path: Path) -> None:
    run = netwarp.open(support.write_run_directory(tmp_path / "recorded"))
    for wrong in ("c000-r00", 2.5, True):
        with pytest.raises(InputError, match="not a number of runs"):
            verify(run.data, FakeBackend(), runs=wrong)  # type: ignore[arg-type]


def _errors() -> list[Exception]:
    named = {"file": "a.toml", "line": 3, "key": "path.rtt", "value": [1], "remedy": "write it"}
    return [
        StudyError("a reason", **named),  # type: ignore[arg-type]
        InputError("text"),
        KeyValueError("path.rtt", 1, "a reason", "write it"),
        UnitError("a reason", "write it"),
        UnreadableFileError("a reason"),
    ]


@pytest.mark.parametrize("error", _errors(), ids=lambda error: type(error).__name__)
def test_errors_come_whole_out_of_a_process_pool(error: Exception) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_an_interruption_comes_whole_out_of_a_process_pool() -> None:
    again = pickle.loads(pickle.dumps(Interrupted(3, 7)))  # noqa: S301
    assert (str(again), again.finished, again.planned) == ("3 of 7 runs are finished", 3, 7)
