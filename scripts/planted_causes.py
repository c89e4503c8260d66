#!/usr/bin/env python3
"""Plants one cause in each of many transfers, and counts how often `netwarp why` names it first.

A transfer is drawn first (transport, round-trip time, rate, size), healthy: wide windows, no
losses, and a queue that holds all of it, since slow start overflows one of a bandwidth-delay
product, which would be a second cause. Then one cause is drawn and planted, its strength drawn from
a range that does not look at any result. A cause is found if it is the first limit named.

What was planted is what was changed, but it need not be what matters most: a transfer may gain more
by something that the healthy one lacks as well, such as another congestion control. So a trial
counts only where undoing the change gains more than each of these rivals, by runs of other seeds
that come before the explanation and that it never sees.

    scripts/planted_causes.py SEED COUNT [FIRST]

With FIRST, the trials before it are left out: those of one seed can be carried out in parts.
"""

from __future__ import annotations

import copy
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netwarp.backends.base import Backend
from netwarp.backends.virtual import VirtualBackend
from netwarp.estimate.comparison import Sample
from netwarp.execution.outcome import Outcome
from netwarp.plan import PlannedRun, plan_study
from netwarp.study import study_from_mapping
from netwarp.transports import TRANSPORTS
from netwarp.why.answer import Answer, BaseRun, explain
from netwarp.why.experiment import measured, outcomes
from netwarp.why.lifts import LIFTS
from netwarp.wire import Job, Record

REPLICATES = (5, 12)
"""Replicates of a transfer: the first ones answer if a limit is named first with them, else all do,
at the full error both times. With five, effects of 40 % are often undecided. Where nothing is
random they tell what stacks draw by themselves, as QUIC does and BBR, with which limits are lifted.
"""
CONTROL_REPLICATES = 3
"""Replicates by which it is decided whether a trial counts."""
RIVALS = frozenset({"hystart", "reno", "bbr"})
"""Lifts of what the healthy transfer has as well, and which may be what it loses most by."""
METRIC = "completion_time_s"

WANTED = 0.98
"""Share of the causes that are to be named first."""

Tables = dict[str, Any]


def _window(draw: random.Random, study: Tables, bdp_bytes: float) -> None:
    study["transport"]["buffer"] = f"{max(16_384, int(bdp_bytes * draw.uniform(0.1, 0.3)))}B"


def _loss(draw: random.Random, study: Tables, _: float) -> None:
    study["path"]["loss_down"] = f"{draw.uniform(1, 3):.2f}%"


def _burst(draw: random.Random, study: Tables, _: float) -> None:
    bad = {"p": f"{draw.uniform(0.3, 1):.2f}%", "r": f"{draw.uniform(20, 40):.0f}%",
           "loss_bad": "100%", "loss_good": "0%"}  # fmt: skip
    study["path"]["loss_down"] = bad


def _queue(draw: random.Random, study: Tables, _: float) -> None:
    study["path"]["queue"] = f"{draw.randint(2, 6)}p"


def _outage(draw: random.Random, study: Tables, _: float) -> None:
    """Plant an outage that begins while the rate alone still has content to send."""
    size_bit = 8e3 * int(study["workload"]["size"].removesuffix("kB"))
    least_ms = 1e3 * size_bit / (1e6 * int(study["path"]["rate"].removesuffix("mbit")))
    study["path"]["outages"] = {
        "every": "1000s", "count": 1, "first": f"{least_ms * draw.uniform(0.3, 0.9):.0f}ms",
        "length": f"{draw.randint(800, 2500)}ms",
    }  # fmt: skip


def _reordering(draw: random.Random, study: Tables, _: float) -> None:
    study["path"]["reorder_down"] = f"{draw.uniform(5, 20):.1f}%"


def _in_parts(draw: random.Random, study: Tables) -> None:
    chunks = draw.randint(10, 20)
    study["workload"] |= {"size": f"{20 * chunks}kB", "chunks": chunks, "dial": "parallel"}


def _dial(_: random.Random, study: Tables, __: float) -> None:
    study["workload"]["dial"] = "sequential"


def _small(draw: random.Random, study: Tables) -> None:
    study["workload"]["size"] = f"{draw.randint(30, 60)}kB"


def _first_flight(draw: random.Random, study: Tables, _: float) -> None:
    least = TRANSPORTS[study["transport"]["kind"]].least_initial_window_packets
    study["transport"]["initial_window"] = draw.randint(least, 2)


def _as_drawn(_: random.Random, __: Tables) -> None:
    """Leave a transfer as it is."""


@dataclass(frozen=True)
class Plant:
    """A cause that can be planted."""

    name: str
    lift: str
    """The lift that should be named first."""
    kinds: tuple[str, ...]
    """Transports in which it has an effect."""
    plant: Callable[[random.Random, Tables, float], None]
    """Plants it in a study, whose path has a bandwidth-delay product of so many bytes."""
    suit: Callable[[random.Random, Tables], None] = _as_drawn
    """Makes a healthy transfer one in which the cause can matter."""


def _kinds(*, dials: bool = True, first: bool = True, tcp: bool = True) -> tuple[str, ...]:
    """Return the transports whose connections are dialled one by one, whose first flight can be
    set, or which do not run over the kernel's TCP, if that is asked.
    """
    return tuple(
        kind
        for kind, traits in TRANSPORTS.items()
        if traits.repeats_what_is_lost
        and traits.second_path != "needed"
        and (dials or traits.multiplexes != "always")
        and (first or traits.fixed_initial_window is None)
        and (tcp or not traits.runs_over_tcp)
    )


PLANTS: tuple[Plant, ...] = (
    Plant("small window", "window", _kinds(), _window),
    Plant("random loss", "loss", _kinds(), _loss),
    Plant("burst loss", "loss", _kinds(), _burst),
    Plant("tiny queue", "queue", _kinds(), _queue),
    Plant("outage", "outages", _kinds(), _outage),
    # Linux's TCP learns how far packets are reordered, and hardly loses by it.
    Plant("reordering", "order", _kinds(tcp=False), _reordering),
    Plant("late dial", "dial", _kinds(dials=False), _dial, _in_parts),
    Plant("small first flight", "first-flight", _kinds(first=False), _first_flight, _small),
)


@dataclass(frozen=True)
class Drawn:
    """A transfer, and the same with a cause."""

    planted: Plant
    healthy: Tables
    study: Tables


@dataclass(frozen=True)
class Trial:
    """A transfer with a cause, and what was named."""

    number: int
    drawn: Drawn
    rival: str | None
    """The rival that gains more than undoing the cause, so that the trial does not count."""
    answer: Answer

    @property
    def named(self) -> str | None:
        """The lift named first."""
        first = self.answer.first
        return None if first is None else first.lifts[0].name

    @property
    def is_found(self) -> bool:
        """Whether the limit named first is the planted one."""
        return self.named == self.drawn.planted.lift


@dataclass
class Repeated:
    """Carries jobs out, and each only once: the same job gives the same records."""

    backend: Backend
    done: dict[Job, Outcome] = field(default_factory=dict)

    def outcomes(
        self, _: Backend, jobs: Sequence[Job], on_done: Callable[[], None]
    ) -> list[Outcome]:
        """Return the outcomes of jobs, in their order."""
        fresh = [job for job in dict.fromkeys(jobs) if job not in self.done]
        self.done |= zip(fresh, outcomes(self.backend, fresh, on_done), strict=True)
        return [self.done[job] for job in jobs]

    def measured(self, jobs: Sequence[Job]) -> list[tuple[Outcome, Sequence[Record]]]:
        """Return the outcomes of jobs that were not carried out before, with their records."""
        found = measured(self.backend, jobs)
        self.done |= {job: outcome for job, (outcome, _) in zip(jobs, found, strict=True)}
        return found


def drawn(seed: int, number: int) -> Drawn:
    """Draw a transfer and plant a cause in it."""
    draw = random.Random(f"{seed}-{number}")  # noqa: S311 - what is drawn is a test
    planted = draw.choice(PLANTS)
    rtt_ms, rate_mbit = draw.randint(20, 150), draw.randint(10, 60)
    size_kb = draw.randint(2000, 4000)
    healthy: Tables = {
        "title": f"trial {number}",
        "seed": draw.randrange(2**32),
        "replicates": REPLICATES[-1],
        "transport": {"kind": draw.choice(planted.kinds)},
        "workload": {"kind": "bulk", "size": f"{size_kb}kB"},
        "path": {"rtt": f"{rtt_ms}ms", "rate": f"{rate_mbit}mbit", "queue": f"{size_kb}p"},
    }
    planted.suit(draw, healthy)
    study = copy.deepcopy(healthy)
    planted.plant(draw, study, rate_mbit * 1e6 / 8 * rtt_ms / 1e3)
    return Drawn(planted, healthy, study)


def trials(seed: int, numbers: range, backend: Backend) -> Iterator[Trial]:
    """Carry out trials one after the other."""
    for number in numbers:
        each = drawn(seed, number)
        rival = rival_of(each, f"control-{seed}-{number}", backend)
        yield Trial(number, each, rival, answer(each.study, backend))


def rival_of(each: Drawn, seed: str, backend: Backend) -> str | None:
    """Return the rival that gains more than undoing the cause does, by runs of a seed of their own;
    None if none does.
    """
    other = {"seed": random.Random(seed).randrange(2**32)}  # noqa: S311 - what is drawn is a test
    with_cause = _runs(each.study | other, CONTROL_REPLICATES)
    jobs = [run.job for run in with_cause]
    rivals = {
        lift.name: changed
        for lift in LIFTS
        if lift.name in RIVALS
        and len(changed := [one for job in jobs if (one := lift.change(job)) is not None])
        == len(jobs)
    }
    undone = [run.job for run in _runs(each.healthy | other, CONTROL_REPLICATES)]
    asked = [("", undone), *rivals.items()]
    found = iter(outcomes(backend, [job for _, its in asked for job in its]))
    took = {name: _mean_s([next(found) for _ in its]) for name, its in asked}
    best = min(took, key=lambda name: took[name])
    return best or None


def _runs(tables: Tables, replicates: int) -> list[PlannedRun]:
    """Return the first runs of a study."""
    return plan_study(study_from_mapping(tables))[:replicates]


def _mean_s(found: Sequence[Outcome]) -> float:
    """Return the geometric mean of the completion times; infinite if a run failed."""
    if any(each.failed for each in found):
        return math.inf
    return math.prod(each.metrics[METRIC] for each in found) ** (1 / len(found))


def answer(tables: Tables, backend: Backend) -> Answer:
    """Explain a study's transfers, with more replicates if few name nothing first. Yardsticks are
    left out to save runs, so that fewer tests share the error than in `netwarp why`.
    """
    relevant = study_from_mapping(tables).relevant
    runs: list[BaseRun] = []
    repeated = Repeated(backend)
    for replicates in REPLICATES:
        planned = _runs(tables, replicates)[len(runs) :]
        runs += [
            _base_run(run, outcome, records)
            for run, (outcome, records) in zip(
                planned, repeated.measured([run.job for run in planned]), strict=True
            )
        ]
        found = explain(
            runs, METRIC, relevant, backend, run_jobs=repeated.outcomes, yardsticks=False
        )
        if found.first is not None or replicates == REPLICATES[-1]:
            return found
    raise AssertionError("the last number of replicates returns")


def _base_run(run: PlannedRun, outcome: Outcome, records: Sequence[Record]) -> BaseRun:
    if outcome.failed:
        raise RuntimeError(f"{run.job}: {outcome.status.reason}")
    sample = Sample(outcome.metrics[METRIC], run.seeds["run"], False, bool(run.random))
    return BaseRun(run.job, records, sample)


def tally(done: list[Trial]) -> Iterator[str]:
    """Write how many were found, what was named where each cause was planted, and each trial that
    was not found or does not count.
    """
    counted = [trial for trial in done if trial.rival is None]
    for these, of in ((counted, "that count"), (done, "in all")):
        found = sum(trial.is_found for trial in these)
        share = 100 * found / max(1, len(these))
        yield f"{found} of {len(these)} {of} named first ({share:.1f} %)"
    named = Counter((trial.drawn.planted.name, str(trial.named)) for trial in counted)
    for name in sorted({planted for planted, _ in named}):
        of_name = {lift: n for (planted, lift), n in named.most_common() if planted == name}
        yield f"  {name}: " + ", ".join(f"{lift} {n}" for lift, n in of_name.items())
    for trial in done:
        if not trial.is_found or trial.rival is not None:
            yield f"  trial {trial.number}: {_line(trial)}: {trial.drawn.study}"


def _line(trial: Trial) -> str:
    kind = trial.drawn.study["transport"]["kind"]
    found = "found" if trial.is_found else f"NAMED {trial.named}"
    counts = "" if trial.rival is None else f", does not count: {trial.rival} gains more"
    return f"{trial.drawn.planted.name} ({kind}): {found}{counts}"


def main(arguments: list[str]) -> int:
    """Carry out COUNT trials from SEED; the status is 1 if fewer than 98 % are found of those that
    count.
    """
    if len(arguments) not in (2, 3) or not all(each.isdigit() for each in arguments):
        print(f"usage: {Path(__file__).name} SEED COUNT [FIRST]", file=sys.stderr)
        return 2
    seed, count, first = (*map(int, arguments), 0)[:3]
    done: list[Trial] = []
    for trial in trials(seed, range(first, first + count), VirtualBackend()):
        done.append(trial)
        print(f"{trial.number:4} {_line(trial)}", flush=True)
    print("\n".join(tally(done)))
    counted = [trial for trial in done if trial.rival is None]
    return 0 if sum(trial.is_found for trial in counted) >= WANTED * len(counted) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
