"""Routers that translate addresses: what a job says of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import load_study

HEAD = """title = "nat"
replicates = 1
[[host]]
name = "client"
count = 2
[[host]]
name = "server"
[[router]]
name = "home"
"""
REST = """[[router]]
name = "isp"
[[link]]
name = "wan"
between = ["home", "isp"]
rtt = "40ms"
[[link]]
between = ["client", "home"]
rate_up = "5mbit"
[[link]]
between = ["isp", "server"]
[[workload]]
name = "ping"
kind = "rr"
interval = "1s"
count = 2
from = "client"
to = "server"
[transport]
kind = "udp"
"""


def jobs(place: Path, nat: str, rest: str = REST) -> list[wire.Job]:
    study = place / "study.toml"
    study.write_text(HEAD + nat + rest)
    return [run.job for run in plan_study(load_study(study))]


def test_a_job_has_the_router_its_outside_and_how_long_it_remembers(tmp_path: Path) -> None:
    factor = '[factors]\n"router.home.nat_ports" = ["kept", "random"]\n'
    kept, drawn = jobs(tmp_path, 'nat = true\nnat_timeout = "60s"\n', REST + factor)
    for job, random_ports in ((kept, False), (drawn, True)):
        assert job.network is not None
        nat = wire.Nat(router="home", link=0, random_ports=random_ports, timeout_s=60)
        assert job.network.nats == (nat,)


def test_a_network_without_nat_says_nothing_of_it(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, "nat = false\n")
    assert '"nats"' not in wire.job_to_json(job)


@pytest.mark.parametrize(
    ("nat", "old", "new", "reason"),
    [
        ('nat_ports = "random"\n', "", "", "nat_ports: the router translates no addresses"),
        ('nat_timeout = "60s"\n', "", "", "nat_timeout: the router translates no addresses"),
        ('nat = true\nnat_timeout = "1500ms"\n', "", "", "the kernel counts whole seconds"),
        ('nat = true\nnat_timeout = "0s"\n', "", "", "the kernel counts whole seconds"),
        ('nat = true\nnat_ports = "some"\n', "", "", "nat_ports"),
        ("nat = true\n", 'from = "client"\nto = "server"', 'from = "server"\nto = "client"',
         "its server is behind home"),
        ("nat = true\n", '"udp"', '"sctp"', "the guest's NAT has no ports of SCTP"),
        ("nat = true\n", 'rtt = "40ms"', 'rtt = "40ms"\nip = 6', "addresses of IPv4 alone"),
        ("nat = true\n", '["isp", "server"]', '["home", "server"]\n[[router]]\nname = "far"\n'
         '[[link]]\nbetween = ["home", "far"]', "and it has 2"),
    ],
)  # fmt: skip
def test_a_nat_that_cannot_be_is_refused_with_its_line(
    tmp_path: Path, nat: str, old: str, new: str, reason: str
) -> None:
    with pytest.raises(StudyError) as refused:
        jobs(tmp_path, nat, REST.replace(old, new, 1))
    message = str(refused.value)
    assert reason in message
    assert "\n" not in message.strip(), message
