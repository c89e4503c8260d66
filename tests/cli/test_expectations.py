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
    assert netwarp("show", "ci").returncode == 0, "what holds was kept, and decides nothing here"
    assert "tcp.completion_time_s &lt; 1 s" in (tmp_path / "ci" / "report.html").read_text()
    lossy = netwarp(*race, "--loss", "1%", "--out", "lossy", "--expect", "completion_time_s < 9 s")
    assert lossy.returncode == 3
    assert "1 of 1 expectations cannot all be judged with 2 replicates" in lossy.stderr
    assert "undecided: completion_time_s < 9 s" in lossy.stdout
    refused = netwarp("show", "ci", "--expect", "tcp.completion_time < 1 s")
    assert refused.returncode == 2
    assert 'did you mean "completion_time_s"?' in refused.stderr
