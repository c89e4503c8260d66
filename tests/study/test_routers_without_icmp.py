"""Routers that send no ICMP: what a job says of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp import wire
from netwarp.backends.abilities import BUILT, IN_GUESTS, beyond
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import load_study
from netwarp.wire.asked import asked

STUDY = """title = "path MTU"
replicates = 1
[[host]]
name = "client"
[[host]]
name = "server"
[[router]]
name = "isp"
icmp = "{icmp}"
[[link]]
between = ["client", "isp"]
[[link]]
name = "access"
between = ["isp", "server"]
mtu = 1400
[[workload]]
name = "get"
kind = "bulk"
size = "10kB"
from = "client"
to = "server"
[transport]
kind = "tcp"
"""


def jobs(place: Path, icmp: str, rest: str = "") -> list[wire.Job]:
    study = place / "study.toml"
    study.write_text(STUDY.format(icmp=icmp) + rest)
    return [run.job for run in plan_study(load_study(study))]


def test_a_job_names_the_routers_that_send_none(tmp_path: Path) -> None:
    factor = '[factors]\n"router.isp.icmp" = ["sent", "dropped"]\n'
    sent, dropped = (each.network for each in jobs(tmp_path, "sent", factor))
    assert sent is not None
    assert dropped is not None
    assert (sent.silent, dropped.silent) == ((), ("isp",))


def test_it_takes_a_guest(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, "dropped")
    assert "ICMP" in (beyond(asked(job), BUILT, "native") or "")
    assert beyond(asked(job), IN_GUESTS, "a guest") is None


def test_another_word_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="icmp"):
        jobs(tmp_path, "lost")
