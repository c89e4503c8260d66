"""Guests without an enclosure: one warning if the machine has none, and else a failed run."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from netwarp.backends import virtual
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.needs import Machine, Need
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import BackendError
from netwarp.execution import run_job
from netwarp.plan import plan_study
from netwarp.study.exec import study_from_exec
from netwarp.study.study import study_from_mapping

# Takes a machine's user namespaces away from what starts a guest, root's way around them too.
NO_NAMESPACES_FOR_GUESTS = """\
#!/bin/sh
case "$*" in
*time-travel*) exec unshare --user --map-root-user sh -c '
    echo 0 > /proc/sys/user/max_user_namespaces
    exec setpriv --bounding-set=-all --inh-caps=-all "$@"' sh {endpoint} "$@" ;;
esac
exec {endpoint} "$@"
"""

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


def test_a_guest_that_gets_no_enclosure_where_others_had_one_is_a_failed_run(
    tmp_path: Path,
) -> None:
    try:
        virtual.CONFINEMENT.check(Machine())
    except BackendError as error:
        pytest.skip(str(error))
    script = tmp_path / "endpoint.sh"
    script.write_text(NO_NAMESPACES_FOR_GUESTS.format(endpoint=find_endpoint()))
    script.chmod(0o755)
    backend = VirtualBackend(environ={**os.environ, "NETWARP_ENDPOINT": str(script)})
    (planned,) = plan_study(study_from_mapping(OURS))
    outcome = run_job(backend, planned.job, tmp_path / "run")
    assert outcome.failed
    assert outcome.status.reason is not None
    assert "enclose a guest's kernel: make namespaces for a guest" in outcome.status.reason
