"""Virtual time held against real time: which cells agree, and what may be the reason where not."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import support
from netwarp.cli.printing import print_agreement
from netwarp.errors import InputError, StudyError
from netwarp.evaluation import RunData, load
from netwarp.output.agreement import Agreement, Answer, agreement
from netwarp.plan import plan_study
from netwarp.plan.without import without_path
from netwarp.results import Results, RunResult
from netwarp.study import Study, study_from_mapping

MANY = 50
"""Replicates with which four cells can be called equivalent."""
LIKE_IT = ("path.loss=0%", "path.rtt=50ms")
MEASURED: Mapping[str, float] = {
    "path_min_rtt_s": 0.0501, "path_median_rtt_s": 0.0502, "path_rtt_s_p90": 0.0503,
    "probed_rate_down_bit_s": 60e6, "probed_rate_up_bit_s": 60e6,
    "probed_loss_down": 0.0, "probed_loss_up": 0.0, "disturbed_ratio": 0.0,
    "cpu_client_s": 0.01, "cpu_server_s": 0.01, "client_busy_ratio": 0.1, "server_busy_ratio": 0.1,
}  # fmt: skip


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    data = load(support.write_run_directory(tmp_path_factory.mktemp("virtual") / "out"))
    return replace(data, results=support.results(MANY, failed_run=None))


def between_hosts(
    data: RunData, slower: Mapping[str, float] | None = None, **measured: float
) -> RunData:
    """The lossless cells at 50 ms as two hosts might have measured them, with a little noise."""
    factor = {"tcp": 1.0, "tls": 1.0, "sctp": 1.0, "quic": 1.0} | dict(slower or {})
    runs = []
    for run in data.results.runs:
        if (run.factors["path.loss"], run.factors["path.rtt"]) != ("0%", "50ms"):
            continue
        transport = run.factors["transport"]
        value = run.value("completion_time_s")
        assert value is not None
        noisy = value * factor[transport] * (1 + 0.0005 * (run.replicate % 3 - 1))
        metrics = {"completion_time_s": noisy, **MEASURED, **measured}
        runs.append(replace(run, factors={"transport": transport}, metrics=metrics))
    provenance = dict(data.provenance) | {
        "clock": "real", "backend": "remote", "server": {"address": "192.0.2.7:4434"},
        "offloads": {"client": ["tso", "gso"], "server": []},
    }  # fmt: skip
    return replace(
        data, directory=Path("there"), results=Results(tuple(runs)), provenance=provenance,
        given_study=data.study,
    )  # fmt: skip


def held(virtual: RunData, real: RunData) -> Agreement:
    return agreement(virtual, real, filters=LIKE_IT)


def answers(found: Agreement) -> dict[str, Answer]:
    return {cell.factors["transport"]: cell.answer for cell in found.cells}


def causes(found: Agreement, transport: str) -> dict[str, str]:
    (cell,) = (each for each in found.cells if each.factors["transport"] == transport)
    return {reason.cause: reason.text for reason in cell.reasons}


def test_cells_agree_or_differ_by_the_relevant_difference(virtual: RunData) -> None:
    found = held(virtual, between_hosts(virtual, {"quic": 1.3, "tls": 1.005}))
    assert answers(found) == {
        "tcp": Answer.AGREES, "tls": Answer.AGREES, "sctp": Answer.AGREES, "quic": Answer.DIFFERS,
    }  # fmt: skip
    assert not found.only_virtual
    quic = found.cells[-1].comparison
    assert quic.effect == pytest.approx(1.3, rel=1e-3)
    assert not quic.paired, "other packets are lost between hosts"
    strict = agreement(virtual, between_hosts(virtual, {"tls": 1.005}), filters=LIKE_IT,
                       relevant=0.001)  # fmt: skip
    assert answers(strict)["tls"] is Answer.DIFFERS


def test_ten_replicates_do_not_agree_and_say_how_many_would(virtual: RunData) -> None:
    """Ten miss an event in one run of ten in 35 %."""
    few = replace(
        virtual, results=Results(tuple(r for r in virtual.results.runs if r.replicate < 10))
    )
    found = held(few, between_hosts(few, {"quic": 1.3}))
    assert [answer.value for answer in answers(found).values()] == ["undecided"] * 3 + ["differs"]
    text = "3 of 4 are undecided: about 39 replicates would decide them all (--replicates)."
    assert text in printed(found)


def test_a_cell_that_agrees_needs_no_reason(virtual: RunData) -> None:
    found = held(virtual, between_hosts(virtual, {"quic": 1.3}))
    assert [bool(cell.reasons) for cell in found.cells] == [False, False, False, True]


@pytest.mark.parametrize(
    ("measured", "cause", "text"),
    [
        ({"path_min_rtt_s": 0.08}, "path", "RTT is 80.0 ms, in virtual time 50.0 ms"),
        ({"probed_rate_down_bit_s": 20e6}, "path", "from the server arrive at 20.0 Mbit/s"),
        ({"probed_loss_up": 0.02}, "path", "2.0 % of the probes to the server were lost"),
        ({"cpu_server_s": 0.6}, "CPU", "610 ms of CPU time"),
        ({"client_busy_ratio": 0.97}, "CPU", "97 % of the client's CPUs"),
        ({"disturbed_ratio": 1.0}, "cross traffic", "changed during 50 of 50 runs"),
        ({"path_rtt_s_p90": 0.07}, "cross traffic", "50.1 ms at best and up to 70.0 ms"),
        ({}, "offloads", "tso, gso at the client: segments leave in bursts"),
    ],
)
def test_what_was_measured_is_named_as_a_reason(
    virtual: RunData, measured: dict[str, float], cause: str, text: str
) -> None:
    found = causes(held(virtual, between_hosts(virtual, {"quic": 1.3}, **measured)), "quic")
    assert text in found[cause]
    assert ("path" in found) == (cause == "path")
    assert ("CPU" in found) == (cause == "CPU")


def test_nothing_is_named_where_nothing_stands_out(virtual: RunData) -> None:
    real = between_hosts(virtual, {"quic": 1.3})
    quiet = replace(real, provenance={**real.provenance, "offloads": {"client": [], "server": []}})
    assert list(causes(held(virtual, quiet), "quic")) == ["unknown"]


def test_free_cpu_is_no_reason_to_be_faster(virtual: RunData) -> None:
    assert "CPU" not in causes(
        held(virtual, between_hosts(virtual, {"quic": 0.7}, cpu_server_s=5)), "quic"
    )


def test_cells_of_several_paths_are_not_held_against_one(virtual: RunData) -> None:
    with pytest.raises(InputError, match=r"--filter path\.(loss|rtt)="):
        agreement(virtual, between_hosts(virtual))


def test_the_times_must_be_two(virtual: RunData) -> None:
    real = between_hosts(virtual)
    with pytest.raises(InputError, match="netwarp diff"):
        agreement(virtual, virtual)
    with pytest.raises(InputError, match="name the one of virtual time first"):
        agreement(real, virtual)


def test_another_study_is_refused(virtual: RunData) -> None:
    raw = dict(virtual.study.raw) | {"workload": {"kind": "bulk", "size": "1MB"}}
    real = replace(between_hosts(virtual), given_study=study_from_mapping(raw))
    with pytest.raises(InputError, match=r"workload\.size is 1MB there and 10MB here"):
        held(virtual, real)


def failed(run: RunResult) -> RunResult:
    return replace(run, outcome="failed", reason="the server is gone", metrics={})


def test_failed_runs_are_said_and_not_compared(virtual: RunData) -> None:
    real = between_hosts(virtual)
    first, *others = real.results.runs
    found = held(virtual, replace(real, results=Results((failed(first), *others))))
    assert answers(found)["tcp"] is Answer.NOT_COMPARED
    assert "1 runs failed in there, such as c000-r00 (the server is gone)" in printed(found)


def printed(found: Agreement) -> str:
    text = io.StringIO()
    print_agreement(found, Console(file=text, width=200))
    return text.getvalue()


def test_the_table_has_the_path_the_cells_and_the_reasons(virtual: RunData) -> None:
    found = held(virtual, between_hosts(virtual, {"quic": 1.3}, path_min_rtt_s=0.08))
    lines = printed(found).splitlines()
    (rtt,) = (line for line in lines if line.lstrip().startswith("RTT"))
    assert rtt.split() == ["RTT", "50.0", "ms", "80.0", "[80.0", "–", "80.0]", "ms"]
    (tcp,) = (line for line in lines if line.lstrip().startswith("TCP"))
    assert "agrees" in tcp
    assert "equivalent" in tcp
    (quic,) = (line for line in lines if "× slower" in line)
    assert "differs" in quic
    assert "1.30" in quic
    assert "4 cells: 3 agree, 1 differs" in lines
    assert "QUIC differs; it may be" in lines
    assert "--set path.rtt=80ms --set path.rate_down=60mbit" in lines[-1]


def test_the_object_for_scripts_has_every_cell_with_its_reasons(virtual: RunData) -> None:
    found = json.loads(json.dumps(held(virtual, between_hosts(virtual, {"quic": 1.3})).to_json()))
    assert (found["agrees"], found["differs"], found["undecided"]) == (3, 1, 0)
    assert (found["backend"], found["metric"], found["unit"]) == (
        "remote",
        "completion_time_s",
        "s",
    )
    quic = found["cells"][-1]
    assert quic["ratio"] == pytest.approx(1.3, rel=1e-3)
    assert quic["ci95"][0] < 1.3 < quic["ci95"][1]
    assert quic["reasons"][0]["cause"] == "offloads"
    assert len(quic["real"]["samples"]) == MANY


STUDY = {
    "title": "held",
    "replicates": 2,
    "path": {"rtt": "20ms", "rate": "20mbit", "mtu": 1400, "queue": "1bdp"},
    "workload": {"kind": "bulk", "size": "100kB"},
    "factors": {"transport": ["tcp", "quic"], "path.loss": ["0%", "1%"]},
    "figure": [{"x": "path.loss", "y": "completion_time_s", "series": "transport"}],
}


def study(**changed: object) -> Study:
    return study_from_mapping({**STUDY, **changed})


def test_hosts_are_asked_for_everything_but_the_path() -> None:
    lossy = {"that": "quic.completion_time_s < 9 s where path.loss=1%"}
    asked = without_path(study(expect=[lossy]), ["path.loss=0%", "transport=quic"])
    (run, _) = plan_study(asked)
    assert run.job.paths[0].mtu_bytes == 1400
    assert run.job.paths[0].down.delay_ns == 0
    assert run.job.paths[0].down.rate_bit_s is None
    assert dict(run.cell.levels) == {"transport": "quic"}


def test_one_path_cannot_be_several() -> None:
    with pytest.raises(StudyError, match=r"--filter path\.loss=0%"):
        without_path(study(), ["transport=quic"])


def test_what_changes_a_path_over_time_stays_to_be_refused() -> None:
    outages = {"every": "10s", "length": "1s", "count": 1}
    asked = without_path(
        study(path={"rtt": "20ms", "outages": outages}, factors={"transport": ["tcp"]}, figure=[])
    )
    assert not plan_study(asked)[0].job.timeline.is_empty
