"""Where guests have no enclosure, a run of other people's programs says so, once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from netwarp.backends import virtual
from netwarp.backends.needs import Machine, Need
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import BackendError
from netwarp.execution import run_job
from netwarp.plan import plan_study
from netwarp.study.exec import study_from_exec
from netwarp.study.study import study_from_mapping

OURS = {
    "title": "No other program",
    "replicates": 1,
    "path": {"rtt": "2ms"},
    "transport": {"kind": "tcp"},
    "workload": {"kind": "bulk", "size": "10kB"},
}


def test_what_does_not_hold_programs_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Machine) -> str:
        raise BackendError("this machine has no namespaces")

    monkeypatch.setattr(virtual, "CONFINEMENT", Need("confinement", refuse, refuse, optional=True))
    backend = VirtualBackend()
    theirs = study_from_exec(["true"], server="echo ready; sleep 1000", ready="line:^ready$")
    studies = [study_from_mapping(OURS), theirs, theirs]
    told = []
    with caplog.at_level(logging.WARNING, logger="netwarp"):
        for place, study in enumerate(studies):
            (planned,) = plan_study(study)
            outcome = run_job(backend, planned.job, tmp_path / str(place))
            assert not outcome.failed, outcome.status.reason
            told.append(caplog.text.count("this machine has no namespaces"))
    assert told == [0, 1, 1]
