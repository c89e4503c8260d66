"""What a job asks for and a backend does not name is refused, by every backend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backends.able import ABLE
from netwarp.backend_table import BACKENDS
from netwarp.backends.native import host_refusal
from netwarp.backends.ns3.request import refusal as ns3_refusal
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.admission import refusal as server_refusal
from netwarp.backends.remote.host_refusals import path_refusal
from netwarp.backends.replay import ReplayBackend
from netwarp.backends.virtual import VirtualBackend
from netwarp.wire import Impairments, Job, RandomLoss, job_from_json, job_sha256
from netwarp.wire import Path as JobPath
from netwarp.wire.asked import asked
from netwarp.wire.base import Ratio
from support import write_run_directory

GOLDEN = Path(__file__).parents[1] / "golden"
JOB = job_from_json((GOLDEN / "job-rr.json").read_text())
SIMULATED = job_from_json((GOLDEN / "job-flow-ns3.json").read_text())


# A model knows the types of its fields once it is built; what is derived from one needs them.
for model in (Job, JobPath, Impairments):
    model.model_rebuild()


class Twisted(Impairments):
    """Impairments with a field that no backend has heard of."""

    twist_ratio: Ratio


class Paved(JobPath):
    """A path with a field that no backend has heard of."""

    surface: str


class Linked(Job):
    """A job with a field that no backend has heard of."""

    links: tuple[str, ...]


def twisted(job: Job, direction: str = "up", ratio: float = 0.5) -> Job:
    """Give a job whose path asks for the made-up field in one direction."""
    path = job.paths[0]
    fields = getattr(path, direction).model_dump() | {"twist_ratio": ratio}
    changed = path.model_copy(update={direction: Twisted.model_validate(fields)})
    return job.model_copy(update={"paths": (changed,)})


def refusals(job: Job, place: Path) -> dict[str, str | None]:
    """Ask every backend, each as it is asked before a run."""
    virtual = object.__new__(VirtualBackend)  # what a kernel would add is not asked for here
    recorded = ReplayBackend(write_run_directory(place / "recorded"))
    hosts = server_refusal(job, Limits()) or path_refusal(job, lambda _: None)
    return {
        "virtual": virtual.refuse(job, job_sha256(job)),
        "native": host_refusal(ABLE, job),
        "remote": hosts,
        "replay": recorded.refuse(job, job_sha256(job)),
        "ns3": ns3_refusal(job.model_copy(update={"workloads": SIMULATED.workloads})),
    }


def test_every_backend_refuses_a_field_that_it_does_not_name(tmp_path: Path) -> None:
    answers = refusals(twisted(JOB), tmp_path)
    assert set(answers) == {*BACKENDS, "ns3"}
    recorded = answers.pop("replay")
    assert recorded is not None, "no run of such a job is recorded"
    for name, reason in answers.items():
        assert reason is not None, f"{name} ignores it"
        assert reason.startswith("it asks for twist ratio (client to server), and "), name


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            JOB.model_copy(update={"paths": (Paved(**dict(JOB.paths[0]), surface="gravel"),)}),
            "it asks for surface, and ",
        ),
        (Linked(**dict(JOB), links=("a", "b")), "it asks for links, and "),
    ],
)
def test_fields_of_paths_and_jobs_are_no_different(
    changed: Job, words: str, tmp_path: Path
) -> None:
    for name, reason in refusals(changed, tmp_path).items():
        assert reason is not None, f"{name} ignores it"
        assert name == "replay" or reason.startswith(words), (name, reason)


def test_a_field_that_asks_for_nothing_is_refused_by_none() -> None:
    assert asked(twisted(JOB, ratio=0.0)) == asked(JOB)


def test_of_several_paths_the_one_that_asks_is_named() -> None:
    several = job_from_json((GOLDEN / "job-bulk-sctp-multihomed.json").read_text())
    fields = several.paths[1].down.model_dump() | {"twist_ratio": 0.5}
    second = several.paths[1].model_copy(update={"down": Twisted.model_validate(fields)})
    reason = host_refusal(ABLE, several.model_copy(update={"paths": (several.paths[0], second)}))
    assert str(reason).startswith("it asks for twist ratio (path 2, server to client), and ")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("job-*.json")), ids=lambda path: path.stem)
def test_what_the_endpoint_can_build_the_virtual_backend_does_not_refuse(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for refusal in ("_kernel_refusal", "_is_under_seccomp"):  # whatever is built here
        monkeypatch.setattr(VirtualBackend, refusal, lambda *_: None)
    virtual = object.__new__(VirtualBackend)
    reason = virtual.refuse(job_from_json(path.read_text()), "")
    assert "asks for" not in str(reason)


def test_correlated_loss_is_what_every_netem_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for refusal in ("_kernel_refusal", "_is_under_seccomp"):  # whatever is built here
        monkeypatch.setattr(VirtualBackend, refusal, lambda *_: None)
    path = JOB.paths[0]
    loss = RandomLoss(kind="random", ratio=0.1, correlation=0.25)
    way = path.down.model_copy(update={"loss": loss})
    job = JOB.model_copy(update={"paths": (path.model_copy(update={"down": way}),)})
    answers = refusals(job, tmp_path)
    assert "correlated loss" in str(answers["ns3"])
    for name in ("virtual", "native", "remote"):
        assert "loss" not in str(answers[name]), name


def test_two_hosts_refuse_arp_that_nobody_would_ask_for() -> None:
    """Their neighbours are what they are: it was ignored."""
    cold: dict[str, Any] = json.loads((GOLDEN / "job-rr.json").read_text())
    cold["paths"][0]["neighbours"] = "cold"
    reason = server_refusal(job_from_json(json.dumps(cold)), Limits())
    assert reason == (
        "it asks for ARP at the start, and the path between two hosts has none: leave it out"
    )
