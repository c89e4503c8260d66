"""A source of one study, and its outcome, made without a run."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

import support
from netwarp.cli.printing import print_scorecard
from netwarp.errors import BackendError
from netwarp.estimate.staging import Staging
from netwarp.evaluation import RunData, load
from netwarp.pipeline import write_outputs
from netwarp.plan import plan_study
from netwarp.results import Results, RunResult
from netwarp.sources import load_source
from netwarp.sources.preparation import prepare
from netwarp.sources.reproduce import outcomes_of, reproduce_document
from netwarp.sources.reproduction import Reproduction
from netwarp.study import Study

INDEX = """# A test.
title = "A test of <everything>"
authors = "Nobody"
published = "nowhere"
method = "none"
differs = "nothing"
studies = ["one", "two"]
"""


STUDY = """# Is it?
title = "Study"
replicates = 3
[path]
rtt = "10ms"
[workload]
size = "1MB"
[factors]
transport = ["tcp", "quic"]
"path.loss" = ["0%", "1%"]
[[claim]]
text = "QUIC is sooner"
source = "test, figure 1"
metric = "completion_time_s"
less = { transport = "quic" }
than = { transport = "tcp" }
[quick]
replicates = 2
workload.size = "1kB"
[quick.factors]
"path.loss" = ["1%"]
"""


def write_source(place: Path) -> Path:
    folder = place / "test-2000"
    folder.mkdir(parents=True)
    (folder / "source.toml").write_text(INDEX)
    for name in ("one", "two"):
        (folder / f"{name}.toml").write_text(STUDY)
    return folder


def outcome(
    tmp_path: Path, *, refuse: str | None = None, not_run: str | None = None
) -> Reproduction:
    """Do the test source again; results are those of the shared example."""

    def run_study(
        study: Study, directory: Path, staging: Staging | None
    ) -> tuple[RunData, str | None]:
        assert staging is None
        if directory.name == refuse:
            raise BackendError("no <namespaces> here")
        directory.parent.mkdir(parents=True, exist_ok=True)
        data = load(support.write_run_directory(directory), study=study)
        write_outputs(data)
        return data, not_run

    source = load_source(write_source(tmp_path))
    prepared = prepare(source, out=tmp_path / "out", quick=True)
    return reproduce_document(prepared, run_study)


def printed(done: Reproduction) -> str:
    """Print a scorecard to a string."""
    out = io.StringIO()
    print_scorecard(done, Console(file=out, width=100))
    return out.getvalue()


CONTROLLED = STUDY.replace(
    'source = "test, figure 1"\n',
    'source = "test, figure 1"\nwhy = "windows"\ncontrol = "wide"\nunder_control = "higher"\n',
).replace(
    "[quick]\n",
    """[[control]]
id = "wide"
text = "windows are wide"
change = { transport.buffer = "8MB" }
[[sensitivity]]
id = "rate"
chosen = "the rate"
here = "no limit"
over = "path.rate"
levels = ["10mbit", "1gbit"]
[[sensitivity]]
id = "delay"
chosen = "the reading of the delay"
here = "a round trip"
text = "one way"
change = { path.rtt = "20ms" }
quick = false
[quick]
""",
)


def controlled(
    tmp_path: Path, values: dict[str, float], *, quick: bool = True, text: str = CONTROLLED
) -> Reproduction:
    """Do a study with variants again; QUIC takes 10 s, TCP so long by run directory and rate."""

    def run_study(
        study: Study, directory: Path, staging: Staging | None
    ) -> tuple[RunData, str | None]:
        runs = []
        for planned in plan_study(study):
            cell = planned.cell
            rate = cell.levels.get("path.rate", "")
            value = 10.0
            if cell.levels["transport"] == "tcp":
                value = values.get(f"{directory.name}{rate}", 20.0)
            seed, metrics = planned.replicate, {"completion_time_s": value}
            runs.append(
                RunResult(planned.run, cell.index, planned.replicate, seed, cell.levels, "ok",
                          None, metrics, ())
            )  # fmt: skip
        return RunData(directory, Results(tuple(runs)), {}, given_study=study), None

    source = load_source(write_source(tmp_path))
    for path in source.studies:
        path.write_text(text)
    prepared = prepare(source, out=tmp_path / "out", quick=quick, other_seeds=2)
    outcomes = outcomes_of(prepared, run_study, None)
    return Reproduction(source, prepared.directory, quick, prepared.seed, outcomes)
