"""The bench asks other tools for what netwarp itself is asked for."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import containment, peers, sampling, shadow
from bench.guests import plan
from bench.lines import FAST, JOBS, Transfer
from bench.ns3 import mirrored
from netwarp.backends.ns3.request import refusal, request
from netwarp.backends.virtual import enclosed_in, guest_command, runs_code_of_others

SMALL = Transfer("small", "tcp", "1MB", {**FAST, "loss": "1%"})


@pytest.mark.parametrize("line", JOBS, ids=lambda line: line.name)
def test_ns3_is_asked_for_the_same_job_the_other_way_round(line: Transfer) -> None:
    ours, theirs = plan(line).job, plan(mirrored(line), seed=2).job
    assert refusal(theirs) is None
    there, back = ours.paths[0].down, theirs.paths[0].up
    assert (there.rate_bit_s, there.delay_ns, there.loss) == (
        back.rate_bit_s,
        back.delay_ns,
        back.loss,
    )
    asked = request(theirs)
    assert asked["flows"][0]["size_bytes"] == ours.only.workload.content.size_bytes  # type: ignore[union-attr]
    # One bandwidth-delay product, in frames of 1514 bytes, and behind the delay line in both.
    assert asked["links"][1]["queues_packets"][1] == pytest.approx(12.5e6 * 0.1 / 1514, abs=1)


def test_each_repetition_of_a_job_loses_other_packets() -> None:
    seeds = [request(plan(mirrored(JOBS[1]), seed).job)["seed"] for seed in (1, 2)]
    assert len(set(seeds)) == 2


def test_shadow_is_given_the_path_one_key_a_line() -> None:
    node = 'host_bandwidth_up "100000000 bit"\nhost_bandwidth_down "100000000 bit"\n]\n'
    edge = 'latency "50000000 ns"\npacket_loss {}\n]\n'
    assert shadow.graph(plan(JOBS[1]).job.paths[0]) + "\n" == (
        "graph [\ndirected 1\n"
        f"node [\nid 0\n{node}node [\nid 1\n{node}"
        f"edge [\nsource 0\ntarget 1\n{edge.format(0.01)}"
        f"edge [\nsource 1\ntarget 0\n{edge.format(0.0)}"
        f"edge [\nsource 0\ntarget 0\n{edge.format(0.0)}"
        f"edge [\nsource 1\ntarget 1\n{edge.format(0.0)}]\n"
    )


@pytest.mark.parametrize("line", JOBS, ids=lambda line: line.name)
def test_shadow_is_asked_for_the_same_bytes_within_the_same_time(line: Transfer) -> None:
    job = plan(line).job
    size = job.only.workload.content.size_bytes  # type: ignore[union-attr]
    asked = shadow.configuration(job, seed=7)
    limit_s = job.limits.virtual_ns // 10**9
    assert asked["general"]["seed"] == 7
    assert asked["general"]["stop_time"] == f"{limit_s + 2} s"
    (server,), (client,) = (asked["hosts"][name]["processes"] for name in ("server", "client"))
    assert server["args"][-2:] == ["serve", str(size)]
    assert client["args"][-3:] == ["download", "server", str(size)]
    assert (client["start_time"], client["shutdown_time"]) == ("1 s", f"{limit_s + 1} s")


def test_shadow_is_found_by_name_or_on_the_path(tmp_path: Path) -> None:
    program = _program(tmp_path, "")
    assert shadow.find({"PATH": str(tmp_path)}) == program
    assert shadow.find({"PATH": "", shadow.VARIABLE: program}) == program
    assert shadow.find({"PATH": str(tmp_path / "nothing")}) is None
    with pytest.raises(SystemExit, match="NETWARP_SHADOW=nonesuch: no such program"):
        shadow.find({"PATH": str(tmp_path), shadow.VARIABLE: "nonesuch"})


def test_a_download_in_shadow_costs_what_all_its_processes_cost(tmp_path: Path) -> None:
    spent_s = 0.2
    busy = f"import time\nwhile time.process_time() < {spent_s}: pass"
    program = _program(tmp_path, _client_prints('{"bytes": 1000000, "elapsed_s": 4.5}', busy))
    cost = shadow.Shadow(program).run(SMALL, seed=1)
    assert cost is not None
    assert cost.virtual_s == 4.5
    assert cost.cpu_s >= spent_s


def test_an_unfinished_download_in_shadow_does_not_count(tmp_path: Path) -> None:
    program = _program(tmp_path, _client_prints('{"bytes": 999999, "elapsed_s": 86400.0}'))
    assert shadow.Shadow(program).run(SMALL, seed=1) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "import sys; print('n/a [ERROR] no such edge'); sys.exit(3)",
            r"3: \[ERROR\] no such edge",
        ),
        ("", "printed ''"),
        ("client('Traceback')", "printed 'Traceback'"),
        ("client('[1]')", r"printed '\[1\]'"),
    ],
)
def test_what_goes_wrong_in_shadow_ends_the_bench(tmp_path: Path, body: str, reason: str) -> None:
    program = _program(tmp_path, body)
    with pytest.raises(SystemExit, match=reason):
        shadow.Shadow(program).run(SMALL, seed=1)


@pytest.mark.skipif(shadow.find(os.environ) is None, reason=shadow.NOT_INSTALLED)
def test_shadow_itself_downloads_a_megabyte_over_the_path() -> None:
    program = shadow.find(os.environ)
    assert program is not None
    cost = shadow.Shadow(program).run(Transfer("small", "tcp", "1MB", FAST), seed=1)
    assert cost is not None
    assert cost.virtual_s is not None
    assert 8e6 / 100e6 + 0.1 < cost.virtual_s < 5


def test_the_table_of_peers_leaves_out_what_did_not_finish() -> None:
    job = {"name": "C", "netwarp": _costs(0.5), "ns-3": _costs(2.0), "unfinished": {"Shadow": 3}}
    answer = {
        "peers": ["ns-3", "Shadow"],
        "notes": ["a note"],
        "jobs": [{**job, "ratios_of_cpu_minima": {"ns-3": 4.0}}],
    }
    _, note, head, line, unfinished = peers.table(answer, repeats=3)
    assert note == "a note"
    assert head.split("  ")[-1].strip() == "ratio"
    assert line.split() == ["C", "0.50", "9.0", "2.00", "9.0", "1", ":", "4.0", "–", "–", "–"]
    assert unfinished.startswith("C: 3 of 3 did not finish in Shadow")


def _costs(cpu_s: float) -> dict[str, Any]:
    return {"cpu_s": {"min": cpu_s}, "virtual_s": 9.0}


def _client_prints(text: str, work: str = "") -> str:
    """Word a program that does some work in a child, as Shadow does, and leaves an output."""
    child = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}], check=True)\n"
    )
    return f"{child}client({text!r})"


def _program(place: Path, body: str) -> str:
    """Write a program in Shadow's place, which holds that it is given a configuration."""
    path = place / "shadow"
    path.write_text(
        f"""#!{sys.executable}
import json, pathlib, sys
def client(text):
    output = pathlib.Path("shadow.data/hosts/client/python.1000.stdout")
    output.parent.mkdir(parents=True)
    output.write_text(text)
assert json.loads(pathlib.Path(sys.argv[1]).read_text())["hosts"]
{body}
"""
    )
    path.chmod(0o755)
    return str(path)


def test_a_transfer_is_asked_for_with_samples_and_without() -> None:
    line = sampling.LINES[0]
    assert plan(line).job.sampling is not None
    assert plan(replace(line, sampling="off")).job.sampling is None


def test_the_share_of_samples_is_that_of_one_times_their_number() -> None:
    without = sampling.Sampled(cpu_s=1.0, samples=0, virtual_s=10.0)
    # The CPU time is less by the machine's noise.
    default = sampling.Sampled(cpu_s=0.9, samples=100, virtual_s=10.0, attribution_cpu_s=0.04)
    often = sampling.Sampled(cpu_s=2.0, samples=5000, virtual_s=10.0)
    share = sampling.shares(without, default, often)
    assert share == pytest.approx(
        {"sample_cpu_us": 200.0, "samples": 100, "share": 0.02, "attributed_share": 0.06}
    )
    shown = "\n".join(sampling.table([sampling.summed_up("tcp", [share, share])], 2))
    assert "200      100      2.00% [2.00% – 2.00%]  within 3%" in shown
    assert "6.00% [6.00% – 6.00%]  OVER 5%" in shown


def test_what_is_compared_with_containment_is_the_same_guest_without_it() -> None:
    linux, endpoint = Path("/kernel/linux"), Path("/endpoint")
    start = ["taskset", "-c", "1"]
    now = [
        *enclosed_in(endpoint, Path(), must=True, own_memory_bytes=1 << 28),
        *start,
        *guest_command(linux, seccomp=False),
    ]
    before = [
        *(str(endpoint), "confine", "--writable=.", f"--own-memory={1 << 28}", "--"),
        *start,
        *guest_command(linux, seccomp=True),
    ]
    assert [each for each in before if each not in now] == ["seccomp=on"]
    assert containment.uncontained(now, has_seccomp=True) == before
    without = [each for each in before if each != "seccomp=on"]
    assert containment.uncontained(now, has_seccomp=False) == without


@pytest.mark.parametrize("line", containment.LINES, ids=lambda line: line.name)
def test_the_lines_of_containment_are_of_programs_of_others_or_of_our_own(
    line: containment.Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    if line.stack is not None and (missing := line.missing()):
        pytest.skip(missing)
    job = containment.plan(line).job
    assert runs_code_of_others(job) != line.name.startswith("own: ")
    monkeypatch.setenv("PATH", "/nowhere")
    assert (line.missing() is None) == (not line.programs)


def test_the_cost_of_containment_is_that_of_pairs() -> None:
    line = containment.summed_up("x", {"before": [1.0, 2.0, 4.0], "now": [1.5, 2.0, 5.0]}, 2)
    assert line["pairs"] == [(1.0, 1.5), (2.0, 2.0), (4.0, 5.0)]
    assert (line["before"], line["now"]) == ([2.0, 1.0, 4.0], [2.0, 1.5, 5.0])
    assert line["ratio"] == [1.25, 1.0, 1.5]
    shown = "\n".join(containment.table({"lines": [line], "left_out": {"y": "no curl"}}, 3))
    assert "1.25 [1.00 – 1.50]" in shown
    assert "x: (1.00, 1.50), (2.00, 2.00), (4.00, 5.00)" in shown
    assert "x: wrote 2 different records" in shown
    assert "left out: y: no curl" in shown
