"""What expectations make of the exit status, as a script sees it."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import Netwarp

PATH = ("--rtt", "20ms", "--rate", "50mbit", "--replicates", "2", "--out", "ci")


def test_the_exit_status_says_which_of_the_three_answers_it_is(
    netwarp: Netwarp, tmp_path: Path
) -> None:
    race = ("compare", "--transport", "tcp,tls", "--size", "20kB", *PATH)
    held = netwarp(*race, "--expect", "tcp.completion_time_s < 1 s", "--json")
    assert held.returncode == 0, held.stderr
    (told,) = json.loads(held.stdout)["expectations"]
    assert (told["answer"], told["unit"], told["bound"]) == ("holds", "s", 1.0)
    (condition,) = told["conditions"]
    assert condition["exact"]
    assert condition["value"] == condition["interval"][0] == condition["interval"][1]
    broken = netwarp("show", "ci", "--expect", "tls / tcp: completion_time_s < 1")
    assert broken.returncode == 1
    assert "does not hold: tls / tcp: completion_time_s < 1" in broken.stdout
    assert "above the bound" in broken.stdout
    assert netwarp("show", "ci").returncode == 0, "what was asked of `show` is not kept"
    assert "tcp.completion_time_s &lt; 1 s" in (tmp_path / "ci" / "report.html").read_text()
    lossy = netwarp(*race, "--loss", "1%", "--out", "lossy", "--expect", "completion_time_s < 9 s")
    assert lossy.returncode == 3
    assert "the expectation cannot be judged with 2 replicates" in lossy.stderr
    assert "undecided: completion_time_s < 9 s" in lossy.stdout
    assert netwarp("show", "lossy").returncode == 3, "the study has it, whatever is asked here"
    refused = netwarp("show", "ci", "--expect", "tcp.completion_time < 1 s")
    assert refused.returncode == 2
    assert 'did you mean "completion_time_s"?' in refused.stderr


def test_a_baseline_is_saved_and_held_against(netwarp: Netwarp, tmp_path: Path) -> None:
    race = ("compare", "--transport", "tcp", "--size", "20kB", *PATH)
    assert netwarp(*race).returncode == 0
    saved = netwarp("baseline", "save", "b.json", "ci")
    assert saved.stdout == "b.json: 1 cells of ci, by completion_time_s\n"
    again = netwarp(*race, "--out", "again", "--baseline", "b.json", "--json")
    assert again.returncode == 0, again.stderr
    (by_metric,) = json.loads(again.stdout)["baseline"]["by_metric"]
    assert by_metric["cells"][0]["same_records"]
    kept = json.loads((tmp_path / "b.json").read_text())
    (cell,) = kept["cells"]
    cell |= {"values": {"completion_time_s": [0.01, 0.01]}, "records_sha256": "0"}
    (tmp_path / "b.json").write_text(json.dumps(kept))
    worse = netwarp("show", "again", "--baseline", "b.json")
    assert worse.returncode == 1, worse.stdout
    assert "worse: TCP" in worse.stdout
    assert "netwarp timeline again c000-r00" in worse.stdout
    refused = netwarp(*race, "--baseline", "none.json")
    assert refused.returncode == 2
    assert "`netwarp baseline save none.json` makes one" in refused.stderr


def test_programs_that_succeed_end_by_what_is_expected_of_them(netwarp: Netwarp) -> None:
    server = "exec python3 -m http.server 80"
    run = ("exec", "--rtt", "20ms", "--replicates", "7", "--server", server)
    get = "import urllib.request as web; web.urlopen('http://server/').read()"
    fetch = ("--", "python3", "-c", get)
    held = netwarp(*run, "--expect", "run_time_s < 1 s", *fetch)
    assert (held.returncode, "holds: run_time_s < 1 s" in held.stderr) == (0, True), held.stderr
    broken = netwarp(*run, "--json", "--expect", "run_time_s < 10 ms", *fetch)
    assert broken.returncode == 1
    assert json.loads(broken.stdout)["expectations"][0]["answer"] == "does-not-hold"
