"""The kernel's own tests: which there are, what they lack, and how they ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netwarp.backends.guest_files import GuestKernel
from netwarp.errors import InputError
from netwarp.selftests.catalogue import (
    PACKETDRILL_STANDS,
    SelfTest,
    built_tests,
    chosen,
)
from netwarp.selftests.needs import lacking, silently_absent, word_of
from netwarp.selftests.outcomes import (
    Ended,
    Row,
    Verdict,
    flip_texts,
    judged,
    same_seed_texts,
    summary,
)
from netwarp.selftests.study import AGAIN, FACTOR, STATUS, study_of
from netwarp.selftests.table import PAGE_START, page

CONFIG = ["CONFIG_VXLAN=m", "CONFIG_VETH=y", "CONFIG_NET_SCH_ETF=m", "CONFIG_IP6_NF_FILTER=m"]
CONFIG += ["CONFIG_CRYPTO_SM4_GENERIC=y"]
OPTIONS = frozenset({"CONFIG_VETH"})


def lack(text: str, *, is_built: bool = True) -> str | None:
    return lacking(text, CONFIG, OPTIONS, lambda name: is_built or name != "tls_tool")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("ip link add v type vxlan id 1", "CONFIG_VXLAN"),
        ("ip link add a type veth peer name b", None),
        ("# without vxlan", None),
        ("ip link add my-vxlan-name type veth", None),
        ("tc qdisc add dev lo root etf", "CONFIG_NET_SCH_ETF"),
        ("echo etf", None),
        ("ip6tables -A FORWARD -j DROP", "CONFIG_IP6_NF_FILTER"),
        ("echo 'this is a filter'", None),
        ("static struct tls12_crypto_info_sm4_gcm info;", "CONFIG_CRYPTO_SM4_GENERIC"),
    ],
)
def test_an_option_is_needed_where_its_word_stands(text: str, option: str | None) -> None:
    expected = option and f"{option} is not in the kernel"
    assert lack(text) == expected


def test_rules_of_ipv6_need_tables_of_their_own() -> None:
    config = ["CONFIG_IPV6_MULTIPLE_TABLES=y"]
    needs = {
        text: lacking(text, config, OPTIONS, lambda _: True)
        for text in ("ip -6 -netns $NS rule add fwmark 1 lookup 300", "ip rule add fwmark 1",
                     "ip -6 route add prohibit any table 300; ip rule")
    }  # fmt: skip
    assert list(needs.values()) == [
        "CONFIG_IPV6_MULTIPLE_TABLES is not in the kernel", None, None,
    ]  # fmt: skip


CAPTURE = "ip netns exec $NS1 timeout 10 tcpdump -c 1 icmp > $OUT"


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        (f"{CAPTURE} 2>/dev/null", ("tcpdump",)),
        (f"{CAPTURE} &>/dev/null &", ("tcpdump",)),
        # What it says is in the output, if it is called at all.
        (f"if $capture; then\n{CAPTURE} &", ()),
        (f"# {CAPTURE} 2>/dev/null", ()),
        ("ip netns exec $NS1 tcpdump --version 2>/dev/null || exit 4", ()),
        ("ip netns exec $NS1 ping -c 1 a 2>/dev/null", ()),
    ],
)
def test_a_program_whose_absence_a_script_keeps_to_itself_is_found_in_its_text(
    text: str, absent: tuple[str, ...]
) -> None:
    assert silently_absent(text, lambda name: name != "tcpdump") == absent


def test_a_failure_for_want_of_such_a_program_is_a_skip_and_a_success_is_none() -> None:
    assert judged(f"FAIL\n{STATUS} 1\n", None, ["nc"]) == (Verdict.SKIP, "nc is not installed")
    assert judged(f"OK\n{STATUS} 0\n", None, ["nc"]) == (Verdict.PASS, "")


def test_a_test_of_the_first_namespace_is_not_run_in_another() -> None:
    assert "first network namespace" in str(lack('echo "not writable in the init netns!"'))


def test_a_program_that_could_not_be_built_is_named() -> None:
    assert lack("./tls_tool -s 1") is None
    assert lack("./tls_tool -s 1", is_built=False) == "its program tls_tool could not be built here"
    assert lack("./lib.sh; ./tls_tool.py", is_built=False) is None


@pytest.mark.parametrize(
    ("option", "word"),
    [("CONFIG_GENEVE", "geneve"), ("CONFIG_NET_VRF", "vrf"), ("CONFIG_CRYPTO_SHA1", r"\w*sha1\w*"),
     ("CONFIG_NF_TABLES_IPV4", ""), ("CONFIG_IP_NF_MANGLE", "iptables")],
)  # fmt: skip
def test_the_word_of_an_option_is_its_name_without_its_family(option: str, word: str) -> None:
    assert word_of(option) == word


NAMES = ("fib_tests", "fib_rules", "mptcp/diag", "mptcp/simult_flows", "udpgso")
TESTS = [SelfTest(name, f"{name}.sh", None) for name in NAMES]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], NAMES),
        (["mptcp/simult_flows"], ["mptcp/simult_flows"]),
        (["net/mptcp/simult_flows.sh"], ["mptcp/simult_flows"]),
        (["mptcp"], ["mptcp/diag", "mptcp/simult_flows"]),
        (["fib*", "udpgso"], ["fib_tests", "fib_rules", "udpgso"]),
        (["net"], ["fib_tests", "fib_rules", "udpgso"]),
    ],
)
def test_tests_are_chosen_by_name_folder_or_pattern(names: list[str], expected: list[str]) -> None:
    assert [each.name for each in chosen(TESTS, names)] == list(expected)


def test_a_name_that_there_is_not_is_refused_with_what_was_meant() -> None:
    with pytest.raises(InputError, match=r"did you mean mptcp/simult_flows\?"):
        chosen(TESTS, ["mptcp/simult_flow"])


@pytest.mark.parametrize(
    ("printed", "status", "verdict", "why"),
    [
        ("ok 1\n", 0, Verdict.PASS, ""),
        ("SKIP: no ethtool\nbye\n", 4, Verdict.SKIP, "SKIP: no ethtool"),
        ("not ok 3 - MTU\nPassed: 7\nFailed: 1\n", 1, Verdict.FAIL, "Failed: 1"),
        ("not ok 3 - MTU\nFAILED: 0\n", 1, Verdict.FAIL, "not ok 3 - MTU"),
        ("", 2, Verdict.FAIL, "exit status 2"),
        ("waiting\n", 124, Verdict.FAIL, "it did not end in its time; the last it said: waiting"),
        (
            "a.sh: line 7: tcpdump: command not found\nFAIL\n",
            1,
            Verdict.SKIP,
            "tcpdump is not installed",
        ),
        (
            "Error: Unknown device type.\n",
            2,
            Verdict.SKIP,
            "the kernel lacks what this needs: Error: Unknown device type.",
        ),
        ("No such file or directory: 'ynl'\n", 1, Verdict.SKIP, "ynl is not installed"),
        (
            'exec of "nft" failed: No such file or directory\nFAIL\n',
            1,
            Verdict.SKIP,
            "nft is not installed",
        ),
        (
            "timeout: failed to run command ‘nc’: No such file or directory\nFAIL\n",
            1,
            Verdict.SKIP,
            "nc is not installed",
        ),
        (
            "Error: Multipath support not enabled in kernel.\nTEST: failover [FAIL]\n",
            1,
            Verdict.SKIP,
            "the kernel lacks what this needs: Error: Multipath support not enabled in kernel.",
        ),
        (
            "Error: Failed to load TC action module.\nWe have an error talking to the kernel\n",
            2,
            Verdict.SKIP,
            "the kernel lacks what this needs: Error: Failed to load TC action module.",
        ),
        (
            "bpf: Function not implemented\nbpf verifier:\n[FAIL]\n[PASS]\n",
            1,
            Verdict.SKIP,
            "the kernel lacks what this needs: bpf: Function not implemented",
        ),
    ],
)
def test_exit_statuses_are_kselftests(
    printed: str, status: int, verdict: Verdict, why: str
) -> None:
    assert judged(f"{printed}{STATUS} {status}\n", None) == (verdict, why)


def test_a_run_that_was_given_up_says_nothing_about_the_kernel() -> None:
    assert judged("ok 1\n", "the run spins") == (Verdict.STOPPED, "the run spins")
    assert judged("x" * 100, None)[0] is Verdict.STOPPED


def row(*verdicts: Verdict, lacks: str | None = None, planned: int = 3) -> Row:
    runs = (
        Ended(f"c000-r0{n}", n, each, f"why {n}", 1.0, f"--seed 1 --repeat {n + 1}")
        for n, each in enumerate(verdicts)
    )
    return Row(SelfTest("a", "a.sh", lacks), tuple(runs), planned)


def test_a_test_is_as_bad_as_its_worst_run_and_flips_where_they_differ() -> None:
    mixed = row(Verdict.PASS, Verdict.FAIL, Verdict.PASS)
    assert (mixed.verdict, mixed.flips, mixed.why) == (Verdict.FAIL, True, "why 1")
    steady = row(Verdict.PASS, Verdict.PASS, Verdict.PASS)
    assert (steady.verdict, steady.flips) == (Verdict.PASS, False)
    told = "a: fail with 1 of 3 seeds; one again: netwarp selftest a --seed 1 --repeat 2"
    assert flip_texts([steady, mixed]) == [told]
    absent = row(lacks="CONFIG_VXLAN is not in the kernel", planned=0)
    assert (absent.verdict, absent.why) == (Verdict.SKIP, "CONFIG_VXLAN is not in the kernel")
    text = summary([mixed, steady, absent])
    assert text == "3 tests: 1 pass, 1 fail, 1 skip; 6 runs, 1 of the tests flip"


def test_runs_with_one_seed_are_told_by_what_they_printed() -> None:
    runs = [
        Ended(f"c00{n}-r00", 7, each, "", 1.0, "--seed 1 --repeat 1", printed)
        for n, (each, printed) in enumerate([(Verdict.PASS, "aa"), (Verdict.FAIL, "bb")])
    ]
    test = SelfTest("a", "a.sh", None)
    equal, other = Row(test, (runs[0], runs[0]), 3), Row(test, tuple(runs), 2)
    assert same_seed_texts([equal, row(Verdict.PASS, Verdict.FAIL), other]) == [
        "a: 2 of 3 runs with seed 7: outputs equal to the byte",
        "a: 2 of 2 runs with seed 7: 2 DIFFERENT outputs",
    ]
    # Of one seed it is not said that another seed would end otherwise.
    assert flip_texts([other]) == []


def built(place: Path) -> None:
    """Lay tests down as guest/selftests.sh leaves them."""
    root = place / "tools" / "testing" / "selftests" / "net"
    (root / "mptcp").mkdir(parents=True)
    (root / "config").write_text("CONFIG_VXLAN=m\n")
    (root / "plain.sh").write_text("true\n")
    (root / "tunnel.sh").write_text("ip link add type vxlan\n")
    (root / "outer.sh").write_text("./tunnel.sh -a; . lib.sh\n")
    (root / "lib.sh").write_text("ip link add type vxlan\n")
    (root / "program").write_bytes(b"\x7fELF")
    (root / "program.c").write_text('system("true vxlan");\n')
    (root / "mptcp" / "plain.sh").write_text("./connect\n")
    (root / "mptcp" / "connect.c").write_text("\n")
    lines = (
        "net:plain.sh",
        "net:outer.sh",
        "net:tunnel.sh",
        "net:program",
        "net:absent",
        "net/mptcp:plain.sh",
    )
    (place / "tests").write_text("".join(f"{line}\n" for line in lines))
    (place / "selftests.json").write_text(json.dumps({"kernel": "7.3.4-aa"}))


def test_tests_are_read_with_what_they_lack(tmp_path: Path) -> None:
    built(tmp_path)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "config").write_text("CONFIG_VETH=y\n")
    kernel = GuestKernel(tmp_path / "kernel", {"version": "7.3.4"})
    assert {each.name: each.lacks for each in built_tests(tmp_path, kernel)} == {
        "absent": "it could not be built here",
        "outer": "CONFIG_VXLAN is not in the kernel",
        "plain": None,
        "program": "CONFIG_VXLAN is not in the kernel",
        "tunnel": "CONFIG_VXLAN is not in the kernel",
        "mptcp/plain": "its program connect could not be built here",
    }


def test_each_test_is_a_cell_and_each_time_a_replicate(tmp_path: Path) -> None:
    built(tmp_path)
    study = study_of(TESTS[:2], tmp_path, repeat=3, kernel="7.3.4-aa")
    assert [cell.levels[FACTOR] for cell in study.cells] == ["fib_tests.sh", "fib_rules.sh"]
    assert study.replicates == 3
    jobs = [cell.template for cell in study.cells]
    assert {job.kernel for job in jobs} == {"7.3.4-aa"}
    assert study_of(TESTS[:1], tmp_path, repeat=1).cells[0].levels == {FACTOR: "fib_tests.sh"}


def test_times_with_the_same_seed_are_cells_of_one_replicate(tmp_path: Path) -> None:
    built(tmp_path)
    study = study_of(TESTS[:2], tmp_path, repeat=3, same_seed=True)
    assert study.replicates == 1
    assert [(cell.levels[FACTOR], cell.levels[AGAIN]) for cell in study.cells] == [
        (file, again)
        for file in ("fib_tests.sh", "fib_rules.sh")
        for again in ("000000", "000001", "000002")
    ]


def test_a_page_has_the_worst_first_and_tests_of_one_reason_in_a_row() -> None:
    rows = [
        Row(SelfTest(name, f"{name}.sh", lacks), row(*verdicts).runs, 3)
        for name, lacks, verdicts in (
            ("steady", None, [Verdict.PASS] * 3),
            ("mixed", None, [Verdict.PASS, Verdict.FAIL, Verdict.PASS]),
            ("geneve", "CONFIG_X|Y is not in the kernel", []),
            ("vxlan", "CONFIG_X|Y is not in the kernel", []),
            ("hsr", "its program hsr could not be built here", []),
        )
    ]
    text = page(rows, "7.3.4 (7.3.4-aa)", ["netwarp", "selftest", "fib*"])
    assert text.startswith(f"{PAGE_START}7.3.4 (7.3.4-aa)\n")
    assert "Written by `netwarp selftest 'fib*'`." in text
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["## Failed: 1", "## Passed: 1", "## Skipped: 3"]
    assert "| `mixed` | 1.0 s | 2 pass, 1 fail | `why 1` |" in text
    assert "one again: netwarp selftest mixed --seed 1 --repeat 2" in text
    skipped = text.splitlines()[-2:]
    assert skipped[0] == "| `CONFIG_X\\|Y is not in the kernel` | `geneve`, `vxlan` |"
    assert skipped[1] == "| `its program hsr could not be built here` | `hsr` |"


def test_scripts_of_packetdrill_are_skipped_with_the_reason(tmp_path: Path) -> None:
    built(tmp_path)
    root = tmp_path / "tools" / "testing" / "selftests" / "net" / "packetdrill"
    root.mkdir()
    (root / "tcp_close.pkt").write_text("`./defaults.sh`\n")
    (tmp_path / "tests").write_text("net/packetdrill:tcp_close.pkt\n")
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "config").write_text("CONFIG_VETH=y\n")
    kernel = GuestKernel(tmp_path / "kernel", {"version": "7.3.4"})
    skipped = built_tests(tmp_path, kernel)
    assert [(each.name, each.lacks) for each in skipped] == [
        ("packetdrill/tcp_close", PACKETDRILL_STANDS)
    ]
    assert chosen(skipped, ["packetdrill/tcp_close.pkt"]) == skipped
