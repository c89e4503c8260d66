"""Test cases for CI servers: JUnit's XML as its consumers read it, and Markdown for a summary."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import support
from netwarp.cli.checks import Checks, status_of
from netwarp.errors import InputError
from netwarp.evaluation import RunData, load
from netwarp.output.baseline import BaselineComparison, baseline_of, compare_with_baseline
from netwarp.output.cases import Case, cases
from netwarp.output.junit import junit_xml
from netwarp.output.markdown import markdown

EXPECTED = (
    "tcp.completion_time_s < 500 s",
    "quic.completion_time_s < 1 ms where path.loss=0%",
    "tls / tcp: completion_time_s <= 1.0045 where path.loss=1%, path.rtt=50ms",
)
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set[str](),
}
"""What the schemas of Jenkins (xunit plugin, junit-10.xsd) and of Surefire both allow."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    found = load(support.write_run_directory(tmp_path_factory.mktemp("ci") / "out"))
    return replace(found, results=support.results(failed_run=None)).expecting(EXPECTED)


@pytest.fixture(scope="module")
def held(data: RunData) -> BaselineComparison:
    before = baseline_of(data)
    cells = list(before.cells)
    cells[0] = replace(
        cells[0],
        records_sha256="0" * 64,
        values={"completion_time_s": [v and v / 2 for v in cells[0].values["completion_time_s"]]},
    )
    return compare_with_baseline(replace(before, cells=tuple(cells)), data, "baseline.json")


def parsed(document: str | bytes) -> ElementTree.Element:
    return ElementTree.fromstring(document)  # noqa: S314 - written by this test


def by_suite(root: ElementTree.Element, suite: str) -> list[ElementTree.Element]:
    return root.findall(f"./testsuite[@name='netwarp.{suite}']/testcase")


def test_every_kind_of_case_is_there(data: RunData, held: BaselineComparison) -> None:
    found = cases(data, held)
    counted = [(case.suite, case.outcome) for case in found]
    assert counted[:4] == [
        ("runs", "passed"), ("expectations", "passed"), ("expectations", "failed"),
        ("expectations", "undecided"),
    ]  # fmt: skip
    assert counted[4:6] == [("claims", "passed"), ("claims", "failed")], "SCTP is later than TCP"
    of_baseline = [outcome for suite, outcome in counted if suite == "baseline"]
    assert (of_baseline.count("passed"), of_baseline.count("failed")) == (23, 1)


def test_junit_has_what_its_consumers_read(data: RunData, held: BaselineComparison) -> None:
    listed = cases(data, held)
    root = parsed(junit_xml(data, listed))
    for element in root.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag], element.tag
    for suite in root:
        tested = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(tested)
        for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[key]) == len(suite.findall(f"testcase/{tag}"))
        names = [case.attrib["name"] for case in tested]
        assert len(names) == len(set(names)), "consumers tell cases apart by their names"
    totals = {key: int(root.attrib[key]) for key in ("tests", "failures", "errors")}
    assert totals == {"tests": len(listed), "failures": 3, "errors": 1}
    passed, failed, undecided = by_suite(root, "expectations")
    assert passed.find("failure") is None
    broken = failed.find("failure")
    assert broken is not None
    assert broken.attrib["type"] == "does-not-hold"
    assert "above the bound" in broken.attrib["message"]
    open_ = undecided.find("error")
    assert open_ is not None
    assert "replicates would decide it" in open_.attrib["message"]
    worse = root.find(".//failure[@type='worse']")
    assert worse is not None
    assert "netwarp timeline" in worse.attrib["message"]


def test_a_failed_run_is_a_failure_with_its_reason(data: RunData) -> None:
    failing = replace(data, results=support.results())
    root = parsed(junit_xml(failing, cases(failing)))
    together, one = by_suite(root, "runs")
    assert together.find("failure") is not None
    failure = one.find("failure")
    assert failure is not None
    assert support.FAILURE in failure.attrib["message"]


def test_runs_that_were_not_done_leave_it_undecided(data: RunData) -> None:
    """Also if all that was done is as expected."""
    kept = replace(data.results, runs=data.results.runs[:30])
    rest = tuple(run.run for run in data.results.runs[30:])
    held = replace(data, results=kept).expecting(["tcp.completion_time_s < 500 s"])
    study = replace(held.study, expectations=held.study.expectations[:1])
    done = replace(held, given_study=study)
    assert status_of(done, None) == 0
    unfinished = replace(done, not_done=rest)
    assert status_of(unfinished, None) == 3
    runs = cases(unfinished)[0]
    assert (runs.outcome, runs.found) == (
        "undecided", "30 of 240 runs succeeded; 210 were not done",
    )  # fmt: skip
    failing = replace(data, results=replace(support.results(), runs=support.results().runs[:180]))
    assert status_of(replace(failing, not_done=rest), None) == 1


def test_the_command_is_copied_as_it_was_typed(data: RunData) -> None:
    line = ["netwarp", "exec", "--", "sh", "-c", "echo `date` | wc ```` \\"]
    text = markdown(replace(data, provenance={**data.provenance, "command_line": line}), [])
    assert f"\n\n`````\n{shlex.join(line)}\n`````\n" in text


def test_what_a_program_says_cannot_break_the_files(data: RunData) -> None:
    said = "<b>&\x1b[31m | `x` \ud800 \uffff\n]]>"
    listed = [Case("runs", said, "failed", "failed", said)]
    root = parsed(junit_xml(data, listed).encode())
    (failure,) = root.findall(".//failure")
    assert failure.attrib["message"].startswith("failed: <b>&\\x1b[31m")
    (row,) = [line for line in markdown(data, listed).splitlines() if "**failed**" in line]
    assert "<b>" not in row.split(" | ")[2]
    assert "\x1b" not in row
    unescaped = row.replace("\\|", "")
    assert unescaped.count("|") == 4, "three columns"


def test_markdown_has_what_failed_first_and_the_results(
    data: RunData, held: BaselineComparison
) -> None:
    text = markdown(data, cases(data, held))
    assert "### Expectations: 1 of 3 passed" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[2].startswith("| **does not hold** | `quic.completion_time_s < 1 ms")
    assert rows[3].startswith("| **undecided** | `tls / tcp")
    assert "### Baseline: 23 of 24 passed" in text
    assert "| loss 5 %, RTT 200 ms | QUIC |" in text
    assert "seed 1" in text


def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--junit .*there is no directory .*nowhere; make it"):
        Checks.taken_from({"junit": tmp_path / "nowhere" / "junit.xml"})
    with pytest.raises(InputError, match=r"--markdown .*it is a directory; name a file"):
        Checks.taken_from({"markdown": tmp_path})
    with pytest.raises(InputError, match="it is no regular file"):
        Checks.taken_from({"markdown": Path("/dev/null")})


@pytest.mark.parametrize("option", ["junit", "markdown"])
def test_only_what_netwarp_wrote_is_replaced(data: RunData, tmp_path: Path, option: str) -> None:
    """As root a slip would otherwise cost a file of the system."""
    path = tmp_path / "file"
    path.write_bytes(b"")
    Checks.taken_from({option: path}).write(data, None)  # such as GitHub's summary, empty at first
    first = path.read_text()
    Checks.taken_from({option: path}).write(data, None)
    assert path.read_text() == first
    for other in ("root:*:20000:0:99999:7:::\n", "## another heading\n", "<"):
        path.write_text(other)
        with pytest.raises(InputError, match="another file is there, which netwarp did not write"):
            Checks.taken_from({option: path})
        assert path.read_text() == other
    with pytest.raises(InputError, match="File name too long; name another file"):
        Checks.taken_from({option: tmp_path / ("9" * 4400)})


def test_the_files_are_written_where_they_are_asked_for(data: RunData, tmp_path: Path) -> None:
    how = {"junit": tmp_path / "j.xml", "markdown": tmp_path / "m.md", "jobs": 1}
    checks = Checks.taken_from(how)
    assert how == {"jobs": 1}
    checks.write(data, None)
    assert parsed((tmp_path / "j.xml").read_bytes()).tag == "testsuites"
    assert (tmp_path / "m.md").read_text().startswith("## netwarp: A real file over")
