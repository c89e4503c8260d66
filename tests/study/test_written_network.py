"""Hosts, routers and links that a study writes itself, and each way in which they are no network.

A refusal is one sentence with the line of what is wrong.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.study import load_study, study_from_mapping
from netwarp.wording import factor_title

HEAD = """title = "written"
replicates = 1
[transport]
kind = "tcp"
"""
TWO_SITES = """[[host]]
name = "client"
count = 2
[[host]]
name = "server"
[[router]]
name = "left"
[[router]]
name = "right"
[[link]]
name = "wan"
between = ["left", "right"]
rate = "20mbit"
rtt = "40ms"
loss_up = "1%"
[[link]]
between = ["client", "left"]
rate_up = "5mbit"
[[link]]
between = ["right", "server"]
"""
FLOW = """[[workload]]
name = "flow"
kind = "bulk"
size = "1MB"
from = "client"
to = "server"
"""


def jobs(place: Path, text: str) -> list[wire.Job]:
    study = place / "study.toml"
    study.write_text(HEAD + text)
    return [run.job for run in plan_study(load_study(study))]


def network(job: wire.Job) -> wire.Network:
    assert job.network is not None
    return job.network


def test_each_link_has_what_its_table_says(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, TWO_SITES + FLOW)
    assert network(job).hosts == ("client1", "client2", "server")
    labels = [link.label for link in network(job).links]
    assert labels[:4] == ["wan", "client1-left", "client2-left", "right-server"]
    wan = job.paths[0]
    assert (wan.down.rate_bit_s, wan.down.delay_ns) == (20_000_000, 20_000_000)
    assert [type(each.loss) for each in (wan.down, wan.up)] == [wire.NoLoss, wire.RandomLoss]
    assert [(each.down.rate_bit_s, each.up.rate_bit_s) for each in job.paths[1:4]] == [
        (None, 5_000_000),
        (None, 5_000_000),
        (None, None),
    ]


def test_what_a_host_sends_is_impaired_by_a_router_of_its_own(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, TWO_SITES + FLOW)
    assert network(job).routers == ("left", "right", "port3", "port4")
    ends = [(link.first, link.second) for link in network(job).links]
    assert ends[1:3] == [("port3", "left"), ("port4", "left")]
    assert ends[4:] == [("client1", "port3"), ("client2", "port4")]
    assert [each.ends and each.ends.links for each in job.workloads] == [(4, 1, 0, 3), (5, 2, 0, 3)]
    # A host's own direction has nothing that the endpoint would refuse.
    assert all(path.up.delay_ns == 0 and path.up.rate_bit_s is None for path in job.paths[4:])


def test_a_host_does_not_care_on_which_side_of_its_link_it_is_written(tmp_path: Path) -> None:
    turned = TWO_SITES.replace('["client", "left"]', '["left", "client"]').replace(
        "rate_up", "rate_down"
    )
    one, other = (jobs(tmp_path, text + FLOW)[0] for text in (TWO_SITES, turned))
    assert [seen(each) for each in one.each_alone] == [seen(each) for each in other.each_alone]
    assert [each.transport for each in one.workloads] == [
        each.transport for each in other.workloads
    ]


def test_keys_of_links_and_numbers_of_hosts_are_factors(tmp_path: Path) -> None:
    factors = '[factors]\n"link.wan.rate" = ["10mbit", "20mbit"]\n"host.client.count" = [1, 3]\n'
    found = jobs(tmp_path, TWO_SITES + FLOW + factors)
    assert [(job.paths[0].down.rate_bit_s, len(job.workloads)) for job in found] == [
        (10_000_000, 1),
        (10_000_000, 3),
        (20_000_000, 1),
        (20_000_000, 3),
    ]


def test_a_link_has_events_of_its_own(tmp_path: Path) -> None:
    event = '[[link.timeline]]\nat = "1s"\nchange = "outage"\n'
    (job,) = jobs(tmp_path, TWO_SITES + event + FLOW)
    assert [(each.path, each.at_ns) for each in job.timeline.events] == [(3, 1_000_000_000)]


def test_one_router_is_enough_and_a_line_of_three_tables(tmp_path: Path) -> None:
    text = (
        '[[host]]\nname = "a"\n[[host]]\nname = "b"\n[[link]]\nbetween = ["a", "b"]\nrtt = "8ms"\n'
    )
    (job,) = jobs(tmp_path, text + FLOW.replace("client", "a").replace("server", "b"))
    (alone,) = job.each_alone
    assert alone.paths[0].idle_rtt_ns == 8_000_000
    assert network(job).routers == ("port1", "port2")


def seen(alone: wire.Job) -> list[wire.Impairments]:
    """Return what a workload's path does to packets, without the seeds of the draws."""
    (path,) = alone.paths
    return [each.model_copy(update={"seed": 0}) for each in (path.down, path.up)]


def test_two_hosts_and_a_cable_are_a_network(tmp_path: Path) -> None:
    text = '[[host]]\nname = "a"\n[[host]]\nname = "b"\n[[link]]\nbetween = ["a", "b"]\n'
    (job,) = jobs(tmp_path, text + FLOW.replace("client", "a").replace("server", "b"))
    assert len(network(job).links) == 3


def test_what_is_the_same_in_all_cells_is_said_of_named_links(tmp_path: Path) -> None:
    factors = '[factors]\n"link.wan.rate" = ["10mbit", "20mbit"]\n'
    (tmp_path / "study.toml").write_text(HEAD + TWO_SITES + FLOW + factors)
    study = load_study(tmp_path / "study.toml")
    found = fixed_conditions(study.raw, plan_study(study)[0].job)
    of_links = {key: value for key, value in found.items() if key.startswith("link.")}
    assert of_links == {"link.wan.rtt": "40ms", "link.wan.loss_up": "1%"}
    assert not any(key.startswith("path.") for key in found), "there is no path"
    assert factor_title("link.wan.rate") == "wan: rate"


def lined(text: str, mark: str) -> int:
    """Return the line of the study in which a text first stands."""
    return (HEAD + text).split(mark)[0].count("\n") + 1


MORE = '[[host]]\nname = "more"\ncount = 2\n'
ISLAND = '[[host]]\nname = "lonely"\n'
BAD = {
    "an island": (TWO_SITES + ISLAND + FLOW, ISLAND, "no links lead from lonely to client1"),
    "a duplicate name": (
        TWO_SITES + '[[router]]\nname = "server"\n' + FLOW,
        'name = "server"\n[[workload]]',
        "another host or router has this name",
    ),
    "a number that is a name": (
        TWO_SITES + '[[host]]\nname = "client2"\n' + FLOW,
        'name = "client2"',
        "another host or router has this name",
    ),
    "two routes between routers": (
        TWO_SITES + '[[link]]\nname = "again"\nbetween = ["left", "right"]\n' + FLOW,
        '[[link]]\nname = "again"',
        "two routes between left and right",
    ),
    "two routes from a host": (
        TWO_SITES + '[[link]]\nbetween = ["left", "server"]\n' + FLOW,
        'between = ["left", "server"]',
        "server has another link, and there would be two routes from it",
    ),
    "a link from a router to itself": (
        TWO_SITES + '[[link]]\nbetween = ["left", "left"]\n' + FLOW,
        '[[link]]\nbetween = ["left", "left"]',
        "it would be between left and itself",
    ),
    "a discipline without a rate": (
        TWO_SITES.replace('rate = "20mbit"', 'discipline = "fq"') + FLOW,
        'discipline = "fq"',
        "give rate or rate_down too",
    ),
    "hosts without a way": (
        TWO_SITES.replace('between = ["right", "server"]', 'between = ["right", "other"]')
        + '[[host]]\nname = "other"\n'
        + FLOW,
        'to = "server"',
        "no links lead from client1 to server",
    ),
    "no such host": (
        TWO_SITES + FLOW.replace('to = "server"', 'to = "nobody"'),
        'to = "nobody"',
        "the hosts are server, client1 to client2",
    ),
    "a million hosts": (
        TWO_SITES.replace("count = 2", "count = 1000000") + FLOW,
        "count = 1000000",
        "a whole number from 1 to 1000",
    ),
    "more hosts than addresses are given out for": (
        TWO_SITES.replace("count = 2", "count = 999") + MORE + FLOW,
        MORE,
        "there would be 1002 hosts",
    ),
    "a link to nobody": (
        TWO_SITES + '[[link]]\nbetween = ["left", "nobody"]\n' + FLOW,
        'between = ["left", "nobody"]',
        "there is no host or router of this name",
    ),
    "an unknown key of a link": (
        TWO_SITES.replace("rtt =", "rttt =") + FLOW,
        'rttt = "40ms"',
        'did you mean "rtt"',
    ),
    "a second path": (
        TWO_SITES.replace('loss_up = "1%"', '[link.second]\nrtt = "1ms"') + FLOW,
        "[link.second]",
        "there is one way between two hosts",
    ),
    "a link that overtakes itself": (
        TWO_SITES.replace('loss_up = "1%"', 'jitter = "30ms"') + FLOW,
        'jitter = "30ms"',
        "jitter is larger than the down delay",
    ),
    "a path beside links": (
        '[path]\nrtt = "1ms"\n' + TWO_SITES + FLOW,
        "[path]",
        "the study writes its hosts and links itself",
    ),
    "a name that the kernel has no room for": (
        TWO_SITES.replace('"client"', '"abcdefghijkl"') + FLOW.replace("client", "abcdefghijkl"),
        'name = "abcdefghijkl"',
        "12 characters at most",
    ),
    "a workload that has no name": (
        TWO_SITES + '[workload]\nkind = "bulk"\nsize = "1MB"\n',
        '[[host]]\nname = "client"',
        "workloads between several hosts have names",
    ),
    "a factor of a link that there is not": (
        TWO_SITES + FLOW + '[factors]\n"link.lan.rate" = ["1mbit"]\n',
        '"link.lan.rate"',
        "there is nothing of this name to vary",
    ),
}  # fmt: skip


def test_an_address_range_that_is_used_up_is_refused_with_the_router() -> None:
    routers = [{"name": f"r{number}"} for number in range(1 << 15)]
    flow = {"name": "flow", "kind": "bulk", "size": "1MB", "from": "a1", "to": "a2"}
    host = {"name": "a", "count": 2}
    with pytest.raises(StudyError, match=r"10\.0\.0\.0/8") as refused:
        study_from_mapping(
            {
                "title": "too many",
                "host": [host],
                "router": routers,
                "transport": {"kind": "tcp"},
                "workload": [flow],
            }
        )
    assert "router.32767" in str(refused.value)


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_network_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    text, mark, said = BAD[case]
    with pytest.raises(StudyError) as refused:
        jobs(tmp_path, text)
    assert said in str(refused.value).replace("\n", " ")
    assert refused.value.line == lined(text, mark), str(refused.value)


@pytest.mark.parametrize(
    ("key", "levels"), [("path.loss", '["0%", "1%"]'), ("topology.rtts", '[["1ms"], ["2ms"]]')]
)
def test_a_factor_of_what_is_not_there_is_refused(tmp_path: Path, key: str, levels: str) -> None:
    with pytest.raises(StudyError, match="vary a link by its name") as refused:
        jobs(tmp_path, TWO_SITES + FLOW + f'[factors]\n"{key}" = {levels}\n')
    assert f'factors."{key}"' in str(refused.value)


@pytest.mark.parametrize("version", [4, 6])
def test_all_links_have_the_version_of_ip_of_the_one_that_says_it(
    tmp_path: Path, version: int
) -> None:
    factors = f'[factors]\n"link.wan.ip" = [{version}]\n'
    (job,) = jobs(tmp_path, TWO_SITES + FLOW + factors)
    assert {path.ipv6 for path in job.paths} == {version == 6}


def test_two_versions_of_ip_are_refused_at_the_link(tmp_path: Path) -> None:
    text = TWO_SITES.replace('rate_up = "5mbit"', "ip = 6").replace('rtt = "40ms"', "ip = 4")
    with pytest.raises(StudyError, match="another link has another version of IP") as refused:
        jobs(tmp_path, text + FLOW)
    assert refused.value.line == lined(text, "ip = 6")


def row_of_routers(number: int) -> str:
    """Return a client, so many routers in a row, and a server."""
    names = ["client", *(f"r{index}" for index in range(number)), "server"]
    return "".join(
        [
            *(f'[[host]]\nname = "{name}"\n' for name in (names[0], names[-1])),
            *(f'[[router]]\nname = "{name}"\n' for name in names[1:-1]),
            *(f'[[link]]\nbetween = ["{one}", "{other}"]\n' for one, other in pairwise(names)),
        ]
    )


def test_more_routers_than_a_hop_limit_counts_are_refused(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, row_of_routers(254) + FLOW)
    assert len(network(job).links) == 255
    with pytest.raises(StudyError, match="255 routers are between client and server") as refused:
        jobs(tmp_path, row_of_routers(255) + FLOW)
    assert 'to = "server"' in str(refused.value)


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("link.ip=6", "there are several of [[link]]; name one: link.wan.ip"),
        ("workload.size=2MB", "there are several of [[workload]]; name one: workload.flow.size"),
        ("link.lan.ip=6", "no link is called lan"),
        ("router.name=x", "there are several of [[router]]; name one: router.left.name"),
    ],
)
def test_an_override_of_one_of_several_tables_names_it(
    tmp_path: Path, override: str, part: str
) -> None:
    (tmp_path / "study.toml").write_text(HEAD + TWO_SITES + FLOW)
    with pytest.raises(StudyError) as refused:
        load_study(tmp_path / "study.toml", overrides=[override])
    assert part in str(refused.value)


def test_an_override_with_several_levels_makes_a_factor_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(HEAD + TWO_SITES + FLOW)
    overrides = ["link.wan.rate=5mbit,10mbit", "host.client.count=1,2"]
    study = load_study(tmp_path / "study.toml", overrides=overrides)
    assert [factor.key for factor in study.factors] == ["link.wan.rate", "host.client.count"]
