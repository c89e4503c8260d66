"""The bench asks other tools for what netwarp itself is asked for."""

from __future__ import annotations

import pytest

from bench.guests import plan
from bench.lines import JOBS, Transfer
from bench.peers import mirrored
from netwarp.backends.ns3.question import question, refusal


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
    asked = question(theirs)
    assert asked["size_bytes"] == ours.workload.content.size_bytes  # type: ignore[union-attr]
    # One bandwidth-delay product, in frames of 1514 bytes, and behind the delay line in both.
    assert asked["queue_packets_up"] == pytest.approx(12.5e6 * 0.1 / 1514, abs=1)


def test_each_repetition_of_a_job_loses_other_packets() -> None:
    seeds = [question(plan(mirrored(JOBS[1]), seed).job)["seed"] for seed in (1, 2)]
    assert len(set(seeds)) == 2
