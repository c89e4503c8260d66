"""Study files: what they mean, and that whatever is wrong is said in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import load_study, study_from_mapping
from study.good_study import GOOD, refusal, study_of, write


def test_a_study_file_is_read_as_written(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, GOOD))
    assert study.question == "Does QUIC's lead over TCP grow with packet loss?"
    assert study.replicates == 3
    assert [factor.key for factor in study.factors] == ["transport", "path.loss"]
    assert len(study.cells) == 9
    assert study.cells[5].levels == {"transport": "quic", "path.loss": "5%"}
    assert study.cells[6].levels["transport"] == "tcp-bbr"
    assert study.cells[6].sections.transport.resolved_congestion == "bbr"
    assert study.figures[0].kind == "line"


def test_claims_get_ids_and_levels_as_the_factors_spell_them(tmp_path: Path) -> None:
    claim = load_study(write(tmp_path, GOOD)).claims[0]
    assert claim.id == "claim-1"
    assert claim.where == {"path.loss": "5%"}


def test_a_study_survives_json(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, GOOD))
    again = study_from_mapping(json.loads(json.dumps(study.raw)), file=study.file)
    assert again.cells == study.cells
    assert [p.job_sha256 for p in plan_study(again)] == [p.job_sha256 for p in plan_study(study)]


def test_quotes_around_factor_keys_may_be_left_out() -> None:
    study = study_of(factors={"transport": ["tcp"], "path": {"loss": ["0%", "1%"]}})
    assert [factor.key for factor in study.factors] == ["transport", "path.loss"]


def test_one_transport_needs_no_factor() -> None:
    assert study_of(transport="tls", factors=None).cells[0].sections.transport.kind == "tls"


def test_options_of_one_transport_win_over_those_of_all() -> None:
    study = study_of(transport={"initial_window": 4, "quic": {"initial_window": 32}})
    windows = [cell.sections.transport.initial_window_packets for cell in study.cells]
    assert windows == [4, 32]


def test_options_of_a_level_win_over_those_of_its_kind() -> None:
    level = {"kind": "tcp", "initial_window": 2, "label": "tcp-2002"}
    study = study_of(
        transport={"tcp": {"initial_window": 4}}, factors={"transport": ["tcp", level]}
    )
    windows = [cell.sections.transport.initial_window_packets for cell in study.cells]
    assert windows == [4, 2]


def test_unknown_keys_are_refused_with_the_nearest_known_one() -> None:
    assert refusal(path={"rrt": "1ms"}) == (
        's.toml: path.rrt = "1ms": unknown key; did you mean "rtt"?'
    )
    assert 'did you mean "replicates"?' in refusal(replicate=3)
    assert "transport.quic.mtu = 1400: unknown key" in refusal(transport={"quic": {"mtu": 1400}})
    assert 'figure.0.z = "a": unknown key' in refusal(
        figure=[{"x": "transport", "y": "a", "z": "a"}]
    )


@pytest.mark.parametrize(
    ("path", "start"),
    [
        ({"loss": "120%"}, 'path.loss = "120%": more than 100 %; write a percentage'),
        ({"loss": 5}, "path.loss = 5: the unit is missing; write a percentage"),
        ({"rtt": "-1ms"}, 'path.rtt = "-1ms": a duration cannot be negative; write a duration'),
        ({"rate": "0mbit"}, 'path.rate = "0mbit": a rate must be at least 8bit; write'),
        ({"mtu": 500}, "path.mtu = 500: too small; write a whole number from 576 to 65535"),
        ({"mtu": "1500"}, 'path.mtu = "1500": input should be a valid integer; write a whole'),
        ({"distribution": "gauss"}, 'path.distribution = "gauss": unknown; known: uniform,'),
        (
            {"rate": "1mbit", "rtt": "1ms", "queue": "0p"},
            'path.queue = "0p": a queue must have room for at least one packet; write',
        ),
        ({"queue": "1bdp"}, 'path.queue = "1bdp": no queue forms where the rate is unlimited;'),
        (
            {"rate": "1mbit", "queue_up": "1bdp"},
            'path.queue_up = "1bdp": the bandwidth-delay product is 0 without a delay; give',
        ),
        ({"rtt": "1ms", "delay_up": "1ms"}, 'path.rtt = "1ms": rtt and delay are both given; keep'),
        (
            {"delay": "1ms", "delay_up": "1ms", "delay_down": "1ms"},
            'path.delay = "1ms": delay has no effect beside delay_down and delay_up; drop it',
        ),
        ({"rtt": "10s", "jitter": "3s"}, 'path.jitter = "3s": netem\'s jitter ends at'),
        ({"rtt": "10ms", "jitter_up": "6ms"}, 'path.jitter_up = "6ms": jitter is larger than'),
        ({"distribution": "pareto"}, 'path.distribution = "pareto": it has no effect without'),
        ({"reorder": "5%"}, 'path.reorder = "5%": there is no down delay to overtake; give'),
        ({"loss": "gemodel 1%"}, 'path.loss = "gemodel 1%": gemodel takes two to four'),
        ({"loss": "gemodel 1% 130%"}, 'path.loss = "gemodel 1% 130%": gemodel\'s r: more than'),
        ({"loss": "every"}, 'path.loss = "every": every takes one number of packets; write'),
        ({"loss": "every 1"}, 'path.loss = "every 1": every packet would be lost; write "100%"'),
        ({"loss": "every 0"}, 'path.loss = "every 0": 0 is not a number of packets from 1'),
        ({"loss": "every 1%"}, 'path.loss = "every 1%": 1% is not a number of packets from 1'),
        ({"loss": "packets"}, 'path.loss = "packets": packets takes one to 1000 numbers, not 0'),
        ({"loss": "packets 5 5"}, 'path.loss = "packets 5 5": a packet is listed twice; leave'),
        (
            {"loss": "every 9", "loss_correlation": "5%"},
            'path.loss_correlation = "5%": packets that are lost by number are not drawn; drop',
        ),
        ({"loss": {"p": "1%", "q": "1%"}}, 'path.loss = {"p": "1%", "q": "1%"}: not a Gilbert'),
        (
            {"rtt": "2s", "rate": "10gbit", "queue": "10p"},
            "transport.buffer: 10000060560 bytes are more than a socket buffer can have",
        ),
    ],
)
def test_paths_that_cannot_be_are_refused(path: dict[str, Any], start: str) -> None:
    assert refusal(path=path).removeprefix("s.toml: ").startswith(start)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        (
            {"factors": {"transport": ["quick"]}},
            'transport = "quick": unknown; did you mean "quic"?',
        ),
        ({"factors": None}, "factors.transport: no transport is named; add [factors]"),
        ({"factors": {"transport": []}}, "factors.transport = []: a factor is a list of at least"),
        (
            {"factors": {"transport": "tcp"}},
            'factors.transport = "tcp": not a list; write one in brackets',
        ),
        ({"factors": {"transport": ["tcp", "tcp"]}}, '"tcp": the same level twice; drop one'),
        ({"factors": {"transport": [{"kind": "tcp"}]}}, 'needs a label; add label = "…"'),
        (
            {"factors": {"transport": [{"kind": "tcp", "label": "a", "sck": True}]}},
            "factors.transport.sck = true: unknown key",
        ),
        ({"factors": {"transport": ["tcp"], "path.los": ["1%"]}}, 'did you mean "path.loss"?'),
        (
            {"factors": {"transport": ["tcp"], "path.loss": ["0%", "120%"]}},
            'factors."path.loss" = "120%": more than 100 %',
        ),
        (
            {"factors": {"transport": ["tcp"], "transport.tcp.mss": [500]}},
            "an option of one transport cannot vary",
        ),
        ({"factors": {"transport": ["sctp"]}, "transport": {"congestion": "cubic"}}, "rfc9260"),
        (
            {"factors": {"transport": ["sctp"]}, "transport": {"initial_window": 10}},
            "transport.initial_window = 10: the kernel's SCTP has a fixed initial window",
        ),
        ({"transport": {"congestion": "vegas"}}, 'transport.congestion = "vegas": quic has no'),
        ({"transport": {"sctp": {"mss": 1000}}}, "the study does not use sctp; drop the table"),
        ({"transport": {"mss": 1000}}, "transport.mss = 1000: QUIC packets cannot be limited"),
        ({"transport": {"mss": 1470}}, "transport.mss = 1470: more than 1460 bytes of tcp do not"),
        ({"path": {"mtu": 1200}}, "path.mtu = 1200: QUIC needs packets of 1200 bytes"),
        (
            {"transport": {"buffer": "4607B"}},
            'transport.buffer = "4607B": the kernel\'s sockets have 4608',
        ),
        (
            {
                "transport": {"tcp": {"congestion": "reno"}},
                "factors": {"transport": ["tcp"], "transport.congestion": ["cubic", "bbr"]},
            },
            'transport.tcp.congestion = "reno": congestion is a factor as well; drop one',
        ),
        ({"workload": {}}, "workload.size: of size, file and case, none is given; give one"),
        ({"workload": {"size": "1MB", "file": "a"}}, "of size, file and case, several are given"),
        ({"workload": {"kind": "bulky", "size": "1B"}}, 'unknown; did you mean "bulk"?'),
        ({"workload": "bulk"}, 'workload = "bulk": not a table; write [workload]'),
        ({"title": None}, "title: missing; add it: text"),
        ({"replicates": 0}, "replicates = 0: too small; write a whole number from 1 to 10000"),
        ({"seed": True}, "seed = true: input should be a valid integer; write a whole number"),
        ({"limits": {"virtual_s": 0}}, "limits.virtual_s = 0: too small"),
        ({"limits": {"virtual_s": 10**12}}, "limits.virtual_s = 1000000000000: too large"),
        ({"figure": [{"x": "path.loss", "y": "goodput_bit_s"}]}, "figure.0.x"),
        ({"figure": [{"x": "transport", "y": "goodput"}]}, 'did you mean "goodput_bit_s"?'),
        ({"figure": [{"y": "goodput_bit_s"}]}, "a line chart needs x; add x, one of: transport"),
        ({"figure": [{"kind": "cdf", "x": "transport", "y": "goodput_bit_s"}]}, "drop x"),
    ],
)
def test_studies_that_cannot_be_run_are_refused(changes: dict[str, Any], part: str) -> None:
    assert part in refusal(**changes)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"metric": "speed"}, "claim.0.metric"),
        ({"than": {"path.rtt": "1ms"}}, "less and than must name the same factors"),
        ({"than": {"transport": "tls"}}, 'claim.0.than.transport = "tls": not a level of'),
        (
            {"where": {"transport": "tcp"}},
            "transport is what the claim compares, and stands in where as well",
        ),
        ({"where": {"path.loss": "1%"}}, 'claim.0.where = "path.loss": not a factor'),
    ],
)
def test_claims_that_cannot_be_checked_are_refused(change: dict[str, Any], part: str) -> None:
    claim = {
        "text": "QUIC is faster",
        "metric": "completion_time_s",
        "less": {"transport": "quic"},
        "than": {"transport": "tcp"},
    }
    assert len(study_of(claim=[claim]).claims) == 1
    assert part in refusal(claim=[claim | change])
    assert "two claims of this id" in refusal(claim=[claim | {"id": "a"}, claim | {"id": "a"}])


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"absent\.toml: no such file"):
        load_study(tmp_path / "absent.toml")
    with pytest.raises(StudyError, match=r"a directory, not a regular file"):
        load_study(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(StudyError, match=r"latin\.toml: not UTF-8 from byte"):
        load_study(tmp_path / "latin.toml")


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"study\.toml: not TOML: .*at line 3, column"):
        load_study(write(tmp_path, 'title = "t"\n[path]\nrtt = 100ms\n'))
