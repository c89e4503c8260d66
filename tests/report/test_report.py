"""The report: whole, self-contained, escaped, and saying what must be said."""

import base64
import csv
import io
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import support
from netwarp import vega
from netwarp.estimate.comparison import Sample, compare
from netwarp.evaluation import RunData, load
from netwarp.metrics.attribution import cause_metric
from netwarp.metrics.causes import CAUSES
from netwarp.output.summary import summary
from netwarp.output.table import result_blocks
from netwarp.report import write_figures, write_report
from netwarp.report.answer import mark_class, verdict_grid
from netwarp.report.calibration import _loss_check, _numbered_check, calibration
from netwarp.report.cause_table import cause_table
from netwarp.report.trust import power_hint, settings_used
from netwarp.results import Results
from netwarp.results.comparisons import ContenderResult, compare_contenders
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.study import study_from_mapping
from netwarp.wire import GemodelLoss, NoLoss, RandomLoss


class Page(HTMLParser):
    """Counts elements, collects text and whatever could reach outside."""

    VOID = frozenset({"meta", "img", "br", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.references: list[str] = []
        self.text: list[str] = []
        self.images_without_alt = 0
        self.heads_without_scope = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that opens."""
        given = dict(attrs)
        self.references += [given[k] or "" for k in ("src", "href", "action") if k in given]
        self.images_without_alt += tag == "img" and not given.get("alt")
        self.heads_without_scope += tag == "th" and "scope" not in given
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note an element that closes."""
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        """Keep what is read."""
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = support.write_run_directory(tmp_path_factory.mktemp("report") / "out")
    study = support.STUDY | {"title": "<script>alert(1)</script> & more"}
    (path / "study.json").write_text(json.dumps(study))
    write_report(load(path))
    return path


@pytest.fixture(scope="module")
def html(directory: Path) -> str:
    return (directory / "report.html").read_text()


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    parsed = Page()
    parsed.feed(html)
    parsed.close()
    return parsed


def test_the_report_reaches_for_nothing_outside(page: Page, html: str) -> None:
    assert page.references
    assert all(ref.startswith(("data:", "#")) for ref in page.references)
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_what_users_write_is_escaped(html: str, page: Page) -> None:
    assert "<script>alert(1)" not in html
    assert "<giving up>" not in html
    text = "".join(page.text)
    assert "<script>alert(1)</script> & more" in text
    assert "netwarp-endpoint: <giving up> & out" in text
    assert "a CPU <&>" in text


def test_the_page_is_well_formed_and_accessible(page: Page) -> None:
    assert page.unbalanced == []
    assert page.open == []
    assert page.images_without_alt == 0
    assert page.heads_without_scope == 0


def test_every_section_is_there_with_its_content(page: Page) -> None:
    text = re.sub(r"\s+", " ", "".join(page.text))
    for wanted in (
        "What does packet loss do to a file transfer?",
        "Bottleneck rate50 Mbit/s Queue1 BDP Workloadbulk File size10 MB",
        "Differs: congestion control, initial window, pacing, headers, encryption",
        "Yes, in all 24 rows",
        "SCTP against TCP: slower in 5 of 6 conditions",
        "1 run failed",
        "QUIC finishes sooner than TCP at 5 % loss",
        "reproduced",
        "reversed",
        "Can these numbers be trusted?",
        "fixed in the kernel's SCTP",
        "as configured",
        "Clopper–Pearson",
        "CPU work takes no time",
        "The 14 tests are one family",
        support.FAILURE,
        "ab" * 32,
        "netwarp run 'my study.toml'",
    ):
        assert wanted in text


def test_where_the_time_went_is_told_in_one_line_and_cell_by_cell() -> None:
    shares = {cause_metric(cause): 0.0 for cause in CAUSES}
    by_transport = {
        "tcp": {"time_in_link_ratio": 0.7, "time_in_avoidance_ratio": 0.3},
        "quic": {"time_in_link_ratio": 0.004, "time_in_avoidance_ratio": 0.996},
    }
    runs = [
        replace(run, metrics={**run.metrics, **shares, **by_transport[run.factors["transport"]]})
        for run in support.results().runs
        if run.factors["transport"] in by_transport and run.outcome == "ok"
    ]
    table = cause_table(Results(tuple(runs)))
    assert table is not None
    assert table.summary == "Mostly the link's rate in 6 of 12, congestion avoidance in 6 of 12"
    assert [[share.text for share in row.told] for row in (table.rows[0], table.rows[-1])] == [
        ["the link's rate 70 %", "congestion avoidance 30 %"], ["congestion avoidance 100 %"],
    ]  # fmt: skip
    assert [name for name, _, _ in table.legend] == ["congestion avoidance", "the link's rate"]
    assert cause_table(support.results()) is None  # not sampled


def test_the_charts_can_be_drawn_in_the_page(html: str) -> None:
    specs = re.findall(r'<script type="application/json" id="spec-[^"]+">(.*?)</script>', html)
    spec, ratios = (json.loads(each) for each in specs)
    assert "Figure 2. Completion time, ratio to TCP, over packet loss" in html
    assert ratios["description"].startswith("Ratio chart: Completion time")
    assert "title" not in spec  # the page has it, and breaks its lines
    assert set(spec["usermeta"]) == {"columns", "gap", "beside"}
    # The library is inlined once and unchanged: "</" stands in one of its regular expressions.
    assert "/</g" in html
    assert html.count("vegaEmbed=") == 1
    assert html.count('<script type="module">') == 2


def test_no_picture_is_drawn_for_a_report(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise AssertionError("nobody asked for a picture")

    monkeypatch.setattr(vega, "svg", refuse)
    monkeypatch.setattr(vega, "png", refuse)
    assert write_report(load(directory)).is_file()


def test_the_grid_has_conditions_across_or_where_they_are_many_down() -> None:
    few = verdict_grid(compare_contenders(support.results(), "completion_time_s"))
    assert few is not None
    assert [name for name, _ in few.rows] == ["TLS", "SCTP", "QUIC"]
    assert few.heads[0] == ["loss 0 %", "RTT 50 ms"]
    renamed = [
        replace(run, factors=dict(run.factors) | {"path.rtt": f"{rtt}ms"}, cell=4 * run.cell + k)
        for run in support.results().runs
        for k, rtt in enumerate((50, 100, 200, 400))
        if run.factors["path.rtt"] == "50ms"
    ]
    many = verdict_grid(compare_contenders(Results(tuple(renamed)), "completion_time_s"))
    assert many is not None
    assert many.heads == [["TLS"], ["SCTP"], ["QUIC"]]
    assert len(many.rows) == 12
    name, cells = many.rows[0]
    assert name == "loss 0 %, RTT 50 ms"
    assert [cell.head for cell in cells if cell] == ["TLS", "SCTP", "QUIC"]


def test_the_numbers_are_a_csv_with_the_fixed_conditions(html: str) -> None:
    link = re.search(r'href="data:text/csv;base64,([^"]+)"', html)
    assert link is not None
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(link[1]).decode())))
    assert len(rows) == 24
    first = rows[0]
    assert (first["path.rate"], first["workload.size"]) == ("50mbit", "10MB")
    assert (first["runs"], first["failed"]) == ("10", "0")
    cell = support.results().cells[0]
    estimate = cell.estimate("completion_time_s")
    assert estimate is not None
    assert float(first["completion_time_s mean"]) == pytest.approx(estimate.mean)


def test_the_conditions_that_all_cells_share_are_those_that_no_factor_varies(
    directory: Path,
) -> None:
    data = load(directory)
    job = data.job("c000-r00")
    assert fixed_conditions(data.study.raw, job) == {
        "path.mtu": "1500", "path.rate": "50mbit", "path.queue": "1bdp",
        "workload.kind": "bulk", "workload.size": "10MB",
    }  # fmt: skip
    varied = study_from_mapping(
        support.STUDY
        | {
            "factors": {"transport": ["tcp"], "path.queue": ["9p", "20p"]},
            "figure": [],
            "claim": [],
        }
    )
    found = fixed_conditions(varied.raw, job)
    assert (found["path.rtt"], found["path.loss"]) == ("50ms", "0%")
    assert "path.queue" not in found


def test_how_a_metric_is_read_is_no_condition(directory: Path) -> None:
    metrics = {"taken_s": {"regex": "took (.*) s"}}
    programs = {"kind": "command", "server": "serve", "client": "ask", "metrics": metrics}
    study = study_from_mapping({"title": "Programs", "transport": "tcp", "workload": programs})
    conditions = fixed_conditions(study.raw, load(directory).job("c000-r00"))
    assert conditions["workload.client"] == "ask"
    assert not [key for key in conditions if "metrics" in key]


def test_records_of_netwarps_own_programs_repeat_byte_for_byte(html: str) -> None:
    assert "Yes, byte for byte" in html
    assert "as far as the programs" not in html


def test_figures_are_drawn_beside_the_report_when_asked_for(directory: Path) -> None:
    assert not (directory / "figures").exists()
    paths = write_figures(load(directory))
    assert [path.name for path in paths] == [
        "completion-time-over-loss.svg",
        "completion-time-over-loss-ratio.svg",
    ]
    assert all(path.read_text().startswith("<svg") for path in paths)


def test_the_path_is_checked_against_what_was_asked(directory: Path) -> None:
    rows = calibration(load(directory))
    assert len(rows) == 24
    assert {row.loss_mark for row in rows} == {"good"}
    assert {row.rtt_mark for row in rows} == {"good"}
    assert {row.frame_mark for row in rows} == {"good"}
    lossy = next(row for row in rows if row.configured_loss == "5.00 %")
    assert lossy.configured_rate == "50.0 Mbit/s"


@pytest.mark.parametrize(
    ("loss", "lost", "told_apart", "mark"),
    [
        (RandomLoss(kind="random", ratio=0.05, correlation=0.0), 500, True, "good"),
        (RandomLoss(kind="random", ratio=0.05, correlation=0.0), 900, True, "bad"),
        (RandomLoss(kind="random", ratio=0.05, correlation=0.0), 900, False, "check"),
        (RandomLoss(kind="random", ratio=0.05, correlation=0.0), 25, True, "bad"),
        (RandomLoss(kind="random", ratio=0.05, correlation=0.5), 900, True, "none"),
        (GemodelLoss(kind="gemodel", p=0.1, r=0.3, loss_bad=1, loss_good=0), 900, True, "none"),
        (NoLoss(kind="none"), 0, True, "good"),
        (NoLoss(kind="none"), 1, True, "bad"),
        (NoLoss(kind="none"), 1, False, "check"),
    ],
)
def test_delivered_loss_is_judged_by_its_interval(
    loss: RandomLoss | GemodelLoss | NoLoss, lost: int, told_apart: bool, mark: str
) -> None:
    assert _loss_check(loss, lost, 10_000, 0.99, told_apart=told_apart)[1] == mark


@pytest.mark.parametrize(
    ("lost", "neighbours", "told_apart", "mark"),
    [
        (5, "warm", True, "good"),
        (4, "warm", True, "bad"),
        (6, "warm", True, "bad"),
        (4, "cold", True, "none"),
        (5, "warm", False, "good"),
        (4, "warm", False, "bad"),
        (6, "warm", False, "check"),
    ],
)
def test_losses_by_number_are_those_due_in_each_run(
    lost: int, neighbours: str, told_apart: bool, mark: str
) -> None:
    study = {
        "title": "Every hundredth",
        "path": {"loss": "every 100", "neighbours": neighbours},
        "transport": {"kind": "tcp"},
        "workload": {"size": "1MB"},
    }
    job = study_from_mapping(study).cells[0].template
    packets = [299.0, 301.0]
    assert _numbered_check(job, "down", lost, packets, told_apart=told_apart)[1] == mark


def test_what_the_stacks_used_is_read_back(directory: Path) -> None:
    used = {row["name"]: row for row in settings_used(load(directory))}
    assert set(used) == {"TCP", "TLS", "SCTP", "QUIC"}
    assert used["SCTP"]["congestion"] == "rfc9260"
    assert used["QUIC"]["pacing"] == "paced"


def test_runs_that_were_not_kept_are_not_made_up(directory: Path, tmp_path: Path) -> None:
    kept = load(directory)
    data = RunData(tmp_path, kept.results, kept.provenance, given_study=kept.study)
    assert {row.loss_mark for row in calibration(data)} == {"none"}
    assert settings_used(data) == []
    assert "Its console was not kept." in write_report(data).read_text()


def test_runs_that_were_not_done_are_counted_in_table_and_report(tmp_path: Path) -> None:
    """As after Ctrl-C: the plan has all runs, and some have no directory."""
    out = support.write_run_directory(tmp_path / "out")
    whole = load(out)
    assert whole.unfinished_text is None
    planned = len(whole.results.runs)
    for run in whole.results.runs[3:]:
        shutil.rmtree(out / "runs" / run.run)
    data = load(out)
    said = f"3 of {planned} runs; the rest was not done."
    text = write_report(data).read_text()
    assert said in text.partition('<ul class="answer">')[0], (
        "it is said before what was found so far"
    )
    assert said in "\n".join(str(block) for block in result_blocks(data))
    summed_up = summary(data)
    assert summed_up["runs_planned"] == planned
    assert summed_up["runs_not_done"] == [run.run for run in whole.results.runs[3:]]
    assert summary(whole)["runs_not_done"] == []


def test_the_power_hint_names_a_number(directory: Path) -> None:
    assert re.search(
        r"\d+ replicates would find", power_hint(compare_contenders(load(directory).results))
    )


def test_the_summary_is_what_scripts_rely_on(directory: Path) -> None:
    summed_up = json.loads(json.dumps(summary(load(directory))))
    keys = {"study", "out", "seed", "virtual_s", "wall_s", "time_limit", "records_sha256"}
    keys |= {"cells", "claims", "too_few_replicates"}
    keys |= {"expectations", "too_few_for_expectations"}
    keys |= {"runs_planned", "runs_not_done", "runs_left_by_time_limit"}
    assert set(summed_up) == keys
    assert len(summed_up["cells"]) == 24
    cell = summed_up["cells"][5]
    assert cell["factors"] == {"transport": "tcp", "path.loss": "5%", "path.rtt": "200ms"}
    assert (cell["runs"], cell["failed"]) == (10, 0)
    estimate = cell["estimates"]["completion_time_s"]
    assert set(estimate) == {"mean", "ci95", "median", "samples"}
    assert estimate["ci95"][0] < estimate["mean"] < estimate["ci95"][1]
    assert len(estimate["samples"]) == 10
    failed = next(cell for cell in summed_up["cells"] if cell["failed"])
    assert failed["comparison"]["left_out"] == 1
    claim = summed_up["claims"][0]
    assert claim["verdict"] == "reproduced"
    assert {"id", "source", "text", "verdict", "values"} <= set(claim)


@pytest.mark.parametrize(
    ("ratio", "classes"),
    [(1.02, "worse slight"), (1.5, "worse"), (3.0, "worse strong"), (0.95, "better slight"),
     (0.4, "better strong"), (1.0001, "even")],
)  # fmt: skip
def test_colour_follows_the_size_of_a_difference(ratio: float, classes: str) -> None:
    made = support.results(failed_run=None)
    compared = compare_contenders(made)
    first = {0: Sample(1.0, 0, random=False), 1: Sample(1.0, 1, random=False)}
    second = {0: Sample(ratio, 0, random=False), 1: Sample(ratio, 1, random=False)}
    contender = ContenderResult(made.cells[0], "quic", compare(first, second))
    assert mark_class(contender, compared) == classes
    of_a_share = replace(compared, metric="share_ratio")
    neutral = classes.replace("worse", "other").replace("better", "other")
    assert mark_class(contender, of_a_share) == neutral, "neither side of a share is better"
