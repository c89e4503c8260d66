"""The command that does a source document again, on a tiny one, as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp import pipeline
from netwarp.backends import needs
from netwarp.backends.virtual import VirtualBackend
from netwarp.claims import ClaimVerdict
from netwarp.estimate.staging import Staging
from netwarp.evaluation import RunData
from netwarp.sources import find_sources, load_source
from netwarp.sources.preparation import prepare
from netwarp.sources.reproduce import reproduce_document
from netwarp.study import Study

INDEX = """# A test of the command, not of a publication.
title = "Two round trips are more than one"
authors = "Nobody"
published = "here"
method = "none"
differs = "nothing"
studies = ["connect"]
"""
STUDY = """# Does TLS take longer to connect than TCP?
title = "Connection time"
replicates = 3
[path]
rtt = "20ms"
[workload]
size = "100kB"
[factors]
transport = ["tcp", "tls"]
"workload.chunks" = [1, 2, 3]
[[figure]]
x = "workload.chunks"
y = "connect_time_s"
series = "transport"
[[claim]]
text = "TCP connects sooner than TLS"
source = "a test"
metric = "connect_time_s"
less = { transport = "tcp" }
than = { transport = "tls" }
[[claim]]
text = "Three connections are up sooner than one"
source = "a test"
why = "each waits for the one before"
control = "at-once"
under_control = "lower"
metric = "connect_time_s"
less = { "workload.chunks" = 3 }
than = { "workload.chunks" = 1 }
[[claim]]
text = "Every connection costs as much as the one before"
source = "a test"
metric = "connect_time_s"
linear_over = "workload.chunks"
[[claim]]
text = "TLS connects after TCP"
id = "wrong-why"
source = "a test"
why = "it computes more"
control = "more-bytes"
under_control = "lower"
metric = "connect_time_s"
less = { transport = "tcp" }
than = { transport = "tls" }
where = { "workload.chunks" = 1 }
[[control]]
id = "at-once"
text = "all are opened at once"
change = { workload.dial = "parallel" }
[[control]]
id = "more-bytes"
text = "the file is larger"
change = { workload.size = "200kB" }
[[sensitivity]]
id = "rtt"
chosen = "the round trip"
here = "20 ms"
over = "path.rtt"
levels = ["10ms", "40ms"]
claims = ["claim-1"]
[quick]
replicates = 5
"""


def test_a_source_is_done_again_with_figures_and_a_scorecard(tmp_path: Path) -> None:
    folder = tmp_path / "test-2000"
    folder.mkdir()
    (folder / "source.toml").write_text(INDEX)
    (folder / "connect.toml").write_text(STUDY)
    answer = subprocess.run(
        [Path(sys.prefix) / "bin" / "netwarp", "reproduce", "./test-2000", "--quick", "--json",
         "--seeds", "2"],
        cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.rstrip().endswith("in all, with figures and reports")
    told = json.loads(answer.stdout)
    assert [(claim["verdict"], claim["why"]) for claim in told["claims"]] == [
        ("reproduced", None),
        ("reversed", "each waits for the one before"),
        ("reproduced", None),
        ("reproduced", None),
    ]
    control = told["claims"][1]["control"]
    assert (control["text"], control["shows_it"]) == ("all are opened at once", True)
    assert [each["n"] for each in control["conditions"]] == [5, 5]
    wrong = told["claims"][3]
    assert (wrong["proposed_why"], wrong["control"]["shows_it"]) == ("it computes more", False)
    (rtt,) = told["claims"][0]["sensitivity"]
    assert [(each["choice"], each["verdict"]) for each in rtt["others"]] == [
        ("10 ms", "reproduced"), ("40 ms", "reproduced")
    ]  # fmt: skip
    assert told["claims"][0]["seeds"] == {
        "tried": 2, "same": 2, "words": ["reproduced", "reproduced"]
    }  # fmt: skip
    out = tmp_path / "netwarp-out" / "reproduce" / "test-2000-quick"
    (source,) = told["sources"]
    assert source == json.loads((out / "scorecard.json").read_text())
    assert source["virtual_s"] > 30 * 0.04  # thirty runs of two round trips and more
    (study,) = source["studies"]
    assert (study["runs"], study["failed"]) == (30, 0)
    assert study["figures"]
    assert all((tmp_path / figure).read_text().startswith("<svg") for figure in study["figures"])
    assert (out / "connect" / "report.html").is_file()
    assert "each waits for the one before" in (out / "scorecard.html").read_text()


def test_without_a_browser_its_conclusions_are_not_testable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "web"
    folder.mkdir()
    shipped = find_sources()["nam-2021"] / "fig-5-browser.toml"
    shutil.copy(shipped, folder)
    (folder / "source.toml").write_text(INDEX.replace('"connect"', '"fig-5-browser"'))
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(needs, "GUEST_PATH", str(tmp_path / "bin"))

    def run_study(study: Study, directory: Path, _: Staging | None) -> tuple[RunData, None]:
        return pipeline.run(study, VirtualBackend(), out=directory), None

    done = reproduce_document(prepare(load_source(folder), out=tmp_path / "out"), run_study)
    assert len(done.rows) == 4
    assert {row.result.verdict for row in done.rows} == {ClaimVerdict.NOT_TESTABLE}
    assert "chromium is not installed: `apt-get install chromium`" in done.rows[0].result.found
    assert "caddy is not installed: `apt-get install caddy`" in done.rows[0].result.found
    assert not done.succeeded
    page = (tmp_path / "out" / "scorecard.html").read_text()
    assert "chromium is not installed" in page
