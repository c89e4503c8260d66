"""What is added in one place reaches all that shows it: a metric, a transport, a path property and
a backend, made up here.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any, get_args

import pytest

from fuzz.program import call
from netwarp.backend_table import BACKENDS, BackendName
from netwarp.backends.needs import ENDPOINT, Need, programs
from netwarp.backends.registry import open_backend
from netwarp.backends.replay import ReplayBackend
from netwarp.backends.watch import Bounds
from netwarp.errors import InputError, StudyError
from netwarp.machine.doctor import examine
from netwarp.measure.metric import LOWER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.metrics import METRICS
from netwarp.plan import plan_study
from netwarp.run_directory import RunDirectory
from netwarp.run_files import write_json
from netwarp.study import study_from_mapping
from netwarp.study.study import StudyFile
from netwarp.transports import TRANSPORTS
from netwarp.wire import Calibration
from support import STUDY, write_run_directory

REPOSITORY = Path(__file__).parents[1]
SCRIPTS = str(REPOSITORY / "scripts")
NAME = "wire_overhead_ratio"


def _overhead(run: RunRecords) -> float | None:
    counted = (each for each in run.of_kind(Calibration) if each.direction == "down")
    sent = sum(each.offered_bytes or 0 for each in counted)
    return sent * 8 / run.content_bits - 1 if run.content_bits else None


OVERHEAD = Metric(
    NAME, "ratio", "lower", "Overhead on the wire",
    "Bytes that the server put on the wire beyond those of the content, for each of those.",
    "calibration, transfer", _overhead, LOWER, head="overhead", in_report=True,
)  # fmt: skip


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the metric: its entry, and its name beside the one that the table compares."""
    completion = METRICS["completion_time_s"]
    beside = (NAME, *(completion.beside or ()))
    entries: Any = METRICS.own
    monkeypatch.setitem(entries, NAME, OVERHEAD)
    monkeypatch.setitem(entries, "completion_time_s", replace(completion, beside=beside))


@pytest.fixture
def run_directory(tmp_path: Path, made_up: None) -> Path:
    """Record runs of a study that asks about the metric, in a figure and a claim."""
    place = write_run_directory(tmp_path / "run")
    figure = {"kind": "bar", "x": "path.loss", "y": NAME, "series": "transport"}
    claim = {
        "text": "QUIC costs less on the wire",
        "metric": NAME,
        "less": {"transport": "quic"},
        "than": {"transport": "tcp"},
    }
    write_json(RunDirectory(place).study_json, {**STUDY, "figure": [figure], "claim": [claim]})
    return place


def test_a_metric_is_one_entry(run_directory: Path) -> None:
    """Its entry brings it to table, report, figures, claims, export and documents."""
    shown = call(["show", str(run_directory)], run_directory)
    assert (shown.status, shown.stderr) == (0, "")
    assert "overhead" in shown.stdout
    reported = call(["report", str(run_directory)], run_directory)
    assert reported.status == 1, "one of the recorded runs has failed"
    page = (run_directory / "report.html").read_text(encoding="utf-8")
    assert page.count("Overhead on the wire") > 2
    assert "QUIC costs less on the wire" in page
    head, *_ = call(["export", str(run_directory)], run_directory).stdout.splitlines()
    assert NAME in head.split(",")
    generated = runpy.run_path(str(REPOSITORY / "scripts" / "generate_docs.py"))["documents"]()
    assert f"| `{NAME}` | ratio | lower | {OVERHEAD.description} |" in generated["run-format.md"]


def test_traits_of_a_transport_are_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row brings its name to tables and reports, and what its stack has to studies."""
    study = {
        "title": "A transport's own congestion control",
        "transport": {"kind": "tcp", "congestion": "toy"},
        "workload": {"size": "1kB"},
    }
    with pytest.raises(StudyError, match="toy"):
        study_from_mapping(study)
    controls = (*TRANSPORTS["tcp"].congestion_controls, "toy")
    row = replace(TRANSPORTS["tcp"], name="ToyTP", congestion_controls=controls)
    entries: dict[str, Any] = TRANSPORTS  # type: ignore[assignment]
    monkeypatch.setitem(entries, "tcp", row)
    job = plan_study(study_from_mapping(study))[0].job
    assert job.only.transport.congestion == "toy"
    place = write_run_directory(tmp_path / "run")
    assert "ToyTP" in call(["show", str(place)], tmp_path).stdout
    call(["report", str(place)], tmp_path)
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "ToyTP" in page


def test_a_path_property_is_one_row() -> None:
    """Its row is a key of studies, an option of `compare`, and a line of the documents."""
    # The study's sections are made of the rows when they are imported: in a process of their own.
    script = """
import runpy
import subprocess
import sys
from dataclasses import replace
from netwarp import path_properties
toy = replace(
    next(row for row in path_properties.PATH_PROPERTIES if row.key == "duplicate"),
    key="twice", help="Made up.", option_help="Made up for the option.",
)
path_properties.PATH_PROPERTIES = (*path_properties.PATH_PROPERTIES, toy)
from netwarp.options.study import PATH
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
tables = {"title": "t", "path": {"rtt": "10ms", "twice": "3%"}, "workload": {"size": "1kB"}}
job = plan_study(study_from_mapping({**tables, "transport": {"kind": "tcp"}}))[0].job
print(job.paths[0].down.duplicate_ratio, [row.name for row in PATH][-3:])
print("`twice`" in runpy.run_path("scripts/generate_docs.py")["documents"]()["study-format.md"])
"""
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": SCRIPTS}, check=False,
    )  # fmt: skip
    assert answer.stderr == ""
    assert answer.stdout.splitlines() == ["0.03 ['twice', 'twice_down', 'twice_up']", "True"]


QUIC_OPTIONS = 'class QuicOptions(Wire):\n    """Options of QUIC."""\n'
SPIN = """
    spin: Annotated[bool, Option(False, "QUIC: made up.", setting="spin bit")] = False
    \"\"\"Made up.\"\"\"
"""
USE_OF_SPIN = """
import json
import runpy
from pathlib import Path
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.study import study_from_mapping
from netwarp.wire import job_from_json, job_to_json

def study(*levels):
    quic = [{"kind": "quic", "label": f"{each}", **each} for each in levels]
    tables = {"title": "t", "path": {"rtt": "10ms"}, "workload": {"size": "1kB"}, "replicates": 1}
    return study_from_mapping({**tables, "factors": {"transport": quic}})

with_it, without = plan_study(study({"spin": True}, {}))
print(with_it.job.only.transport.quic.spin, '"spin":true' in with_it.job_json)
print("spin" in without.job_json, job_to_json(without.job) == without.job_json)
print([row["value"] for row in equal_treatment(study({"spin": True}, {}))
       if row["setting"] == "spin bit"])
try:
    study_from_mapping({"title": "t", "workload": {"size": "1kB"}, "transport":
                        {"kind": "tcp", "spin": True}})
except StudyError as error:
    print(error)
for path in Path("tests/golden").glob("job-*.json"):
    text = path.read_text()
    assert json.loads(job_to_json(job_from_json(text))) == json.loads(text), path
documents = runpy.run_path("scripts/generate_docs.py")["documents"]()
print("| `spin` | `true` or `false` | – | QUIC: made up. |" in documents["study-format.md"])
print("| `spin` | boolean | Made up. Left out: `false`. |" in documents["run-format.md"])
types = runpy.run_path("scripts/generate_wire.py")["files"]()["job/transport.rs"]
print('default, skip_serializing_if = "is_left_out")]\\n    pub spin: bool,' in types)
"""


def test_a_transport_option_is_one_field_of_the_job(tmp_path: Path) -> None:
    """What describes it brings it to studies, refusals, documents and the endpoint's types; jobs
    that do not set it are the same as before.
    """
    package = tmp_path / "netwarp"
    copytree(REPOSITORY / "src" / "netwarp", package, ignore=ignore_patterns("__pycache__"))
    models = package / "wire" / "transport.py"
    before = models.read_text(encoding="utf-8")
    models.write_text(before.replace(QUIC_OPTIONS, QUIC_OPTIONS + SPIN), encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-c", USE_OF_SPIN], cwd=REPOSITORY, capture_output=True, text=True,
        env={"PYTHONPATH": f"{tmp_path}:{SCRIPTS}"}, check=False,
    )  # fmt: skip
    assert answer.stderr == ""
    assert answer.stdout.splitlines() == [
        "True True",
        "False True",
        "['on', 'off']",
        "study: transport.spin = true: tcp has no such option; set it per transport, such as in"
        " [transport.quic]",
        "True",
        "True",
        "True",
    ]


class Toy(ReplayBackend):
    """A backend of its own name, which needs something that no machine has."""

    name = "toy"
    needs: tuple[Need, ...] = (ENDPOINT, programs("no-such-program"))


def test_a_backend_is_a_class_and_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its line lets the command line open it, and doctor look for what it needs."""
    place = write_run_directory(tmp_path / "recorded")
    entries: dict[str, Any] = BACKENDS  # type: ignore[assignment]
    row = BackendName(f"{__name__}:{Toy.__name__}", "nowhere", "DIR")
    monkeypatch.setitem(entries, "toy", row)
    assert isinstance(open_backend(f"toy:{place}", Bounds()), Toy)
    with pytest.raises(InputError, match="`replay:DIR` and `toy:DIR`"):
        open_backend("toy", Bounds())
    monkeypatch.setenv("NETWARP_ENDPOINT", "/bin/true")
    monkeypatch.setenv("NETWARP_KERNEL", str(tmp_path))  # without one, doctor boots no guest
    found = next(finding for finding in examine() if finding.name == "toy")
    assert (found.ok, found.optional) == (False, True)
    assert found.detail == "no-such-program is missing: `apt-get install util-linux`"


def test_studies_name_the_backends_that_take_no_argument() -> None:
    named = get_args(StudyFile.model_fields["backend"].annotation)
    assert named == ("virtual", "native")


def in_a_changed_copy(place: Path, module: str, old: str, new: str, script: str) -> list[str]:
    """Run a script with a copy of the package in which one place has changed; give its lines."""
    shutil.copytree(REPOSITORY / "src" / "netwarp", place / "netwarp")
    changed = place / "netwarp" / module
    text = changed.read_text()
    assert text.count(old) == 1
    changed.write_text(text.replace(old, new))
    answer = subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    return answer.stdout.splitlines()


def test_a_profile_is_one_row(tmp_path: Path) -> None:
    """Its row is a value of `path.profile`, and in the help of the option."""
    script = """
from netwarp import path_properties
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
tables = {"title": "t", "path": {"profile": "moon"}, "workload": {"size": "1kB"}}
path = plan_study(study_from_mapping({**tables, "transport": {"kind": "tcp"}}))[0].job.paths[0]
print(path.down.delay_ns + path.up.delay_ns, path.up.rate_bit_s)
print("moon" in path_properties.BY_KEY["profile"].option_help)
"""
    old = "PROFILES: Mapping[str, PathProfile] = {\n"
    new = f'{old}    "moon": PathProfile("2600ms", "10mbit", "1mbit", 1969, "light"),\n'
    lines = in_a_changed_copy(tmp_path, "path_profiles.py", old, new, script)
    assert lines == ["2600000000 1000000", "True"]


def test_a_discipline_is_one_place_of_the_wire_format(tmp_path: Path) -> None:
    """Its name and meaning make it a level of studies, and what the endpoint's backends name."""
    script = """
from netwarp.backends.abilities import BUILT
from netwarp.fields import DisciplineName
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
path = {"rtt": "10ms", "rate": "10mbit", "discipline": "toy"}
tables = {"title": "t", "path": path, "workload": {"size": "1kB"}, "transport": {"kind": "tcp"}}
print(plan_study(study_from_mapping(tables))[0].job.paths[0].down.discipline.kind)
print("discipline.toy" in BUILT, '"toy"' in str(DisciplineName.__metadata__))
"""
    old = '"pie", "red", "dualpi2"],\n'
    new = '"pie", "red", "dualpi2", "toy"],\n'
    lines = in_a_changed_copy(tmp_path, "wire/path.py", old, new, script)
    assert lines == ["toy", "True True"]


TOY_KIND = """
from netwarp.figures.encodings import panels
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.rows import mean_rows

class Toy(MetricKind):
    \"\"\"Means as toys.\"\"\"
    name = "toy-chart"
    caption = "Every toy a mean"
    def chart(self, figure, plan):
        return panels(plan, [{"mark": "tick", "encoding": {}}], mean_rows(plan))

KIND = Toy()
"""


def test_a_figure_kind_is_one_file(tmp_path: Path) -> None:
    """Its file is a value of `kind`, a line of the documents, and a figure of the report."""
    # The kinds are found when the study's model is imported: in a copy and a process of its own.
    shutil.copytree(REPOSITORY / "src" / "netwarp", tmp_path / "netwarp")
    (tmp_path / "netwarp" / "figures" / "kinds" / "toy_chart.py").write_text(TOY_KIND)
    place = write_run_directory(tmp_path / "run")
    figure = {"kind": "toy-chart", "x": "path.loss", "y": "completion_time_s"}
    write_json(RunDirectory(place).study_json, {**STUDY, "figure": [figure]})
    script = """
import runpy
import sys
from pathlib import Path
from netwarp.evaluation import load
from netwarp.report import write_report
page = write_report(load(Path(sys.argv[1]))).read_text()
print(page.count("Every toy a mean, "), page.count("Toy-chart chart: Completion time over"))
documents = runpy.run_path(sys.argv[2])["documents"]()
print("| `toy-chart` | Means as toys. |" in documents["study-format.md"])
"""
    answer = subprocess.run(
        [sys.executable, "-c", script, str(place), str(REPOSITORY / "scripts/generate_docs.py")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{SCRIPTS}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    drawn, documented = answer.stdout.splitlines()
    assert min(int(count) for count in drawn.split()) >= 1
    assert documented == "True"
