"""Runs case 9 of `mptcp/simult_flows` alone, with every packet written down before and behind both
queues, and tells of each run how long it took, how long each path stood still, and what it sent
beyond the receiver's window (docs/findings.md).

Case 9 alone is the script of the kernel's source without its other cases and without the way back;
it is made here from the tests that `netwarp selftest` has built, which stay as they are.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mptcp_packets import packets
from netwarp import library
from netwarp.backends.guest_files import find_kernel
from netwarp.backends.selftest_building import selftests_of
from netwarp.evaluation import RunData
from netwarp.selftests.catalogue import SELFTESTS, SelfTest
from netwarp.selftests.outcomes import NO_MORE_THAN_BYTES
from netwarp.selftests.study import study_of
from window_stands import Followed, Paths, followed, stood_ms

HERE = Path(__file__).parent
TEST = "case_nine.sh"
CASE = "run_test 10 3 25 1 50 30"
"""How the script begins case 9: rates in Mbit/s, delays in ms, queues in packets."""
TRACED = f"""\
ip netns exec "$ns2" ./packet_heads /tmp/packets &
written_by=$!
ip -net "$ns2" -o link
{CASE} "case nine"
kill $written_by; wait $written_by
cat /tmp/${{ns1}}.out /tmp/${{ns3}}.out
printf 'PACKETS '; gzip -c /tmp/packets | base64 -w0; echo
"""
COUNTERS = ("MPTcpExtNoDSSInWindow", "MPTcpExtMPTCPRetrans", "MPTcpExtDuplicateData")
NAMES = {"10.0.1.1": "fast", "10.0.2.1": "slow"}
RATES_BIT_S = {"fast": 10e6, "slow": 3e6}
SENDER = "10.0.3.3"


def case_nine(script: str) -> str:
    """Make of the kernel's script one that has case 9 alone, with a trace.

    Raises:
        SystemExit: the script is another than that of Linux 7.3.
    """
    back = re.search(
        r'\tmsg\+=" - reverse direction"\n.*?(?=^}$)', script, re.DOTALL | re.MULTILINE
    )
    cases = re.search(
        r"^run_test .*^run_test 10 3 25 1 50 30 [^\n]*\n", script, re.DOTALL | re.MULTILINE
    )
    if back is None or cases is None:
        raise SystemExit("simult_flows.sh of this kernel's source is not written as in Linux 7.3")
    return (
        script[: back.start()] + script[back.end() : cases.start()] + TRACED + script[cases.end() :]
    )


def laid_down(place: Path) -> Path:
    """Copy the kernel's tests below a directory, and add case 9 and the program that traces."""
    tests = place / "tests"
    if not tests.is_dir():
        shutil.copytree(selftests_of(find_kernel()), tests, symlinks=True)
    folder = tests / SELFTESTS / "net" / "mptcp"
    script = folder / TEST
    script.write_text(case_nine((folder / "simult_flows.sh").read_text()))
    script.chmod(0o755)
    program = folder / "packet_heads"
    compiler: list[str | Path] = ["gcc", "-O2", "-static", "-o", program]
    subprocess.run([*compiler, HERE / "packet_heads.c"], check=True)
    return tests


def told(run: str, output: str) -> str:
    """Write what is seen of one run, in a line."""
    took = re.search(r"(\d+) max (\d+)", output)
    found = traced(output)
    counts: Counter[str] = Counter()
    for name, count in re.findall(r"^(MPTcpExt\w+) +(\d+)", output, re.MULTILINE):
        counts[name] += int(count)
    stands = ", ".join(
        f"{name} {stood_ms(each):.0f} ms ({stood_ms(each, 2.0):.0f} in the first 2 s)"
        for name, each in found.stands.items()
    )
    stood_s, since_s = found.data_ack_stood
    return (
        f"{run}: {took[0] if took else 'no time'} ms; stands still: {stands}; data-ack"
        f" {stood_s * 1e3:.0f} ms from {since_s:.3f} s; {found.beyond} packets beyond the edge; "
        + ", ".join(f"{name.removeprefix('MPTcpExt')} {counts[name]}" for name in COUNTERS)
    )


def traced(output: str) -> Followed:
    """Follow the connection of a run through its packets."""
    written = re.search(r"^PACKETS (\S+)$", output, re.MULTILINE)
    middle = re.search(r"^(\d+): ns2eth3@", output, re.MULTILINE)
    if written is None or middle is None:
        raise SystemExit("a run has written no packets; its output is in client.stdout")
    seen = packets(gzip.decompress(base64.b64decode(written[1])))
    return followed(seen, Paths(NAMES, RATES_BIT_S, SENDER, int(middle[1])))


def outputs(data: RunData) -> dict[str, str]:
    """Return what each run printed."""
    return {
        each.run: data.kept.printed(each.run, "client.stdout", NO_MORE_THAN_BYTES)[0]
        for each in data.results.runs
    }


def main() -> int:
    """Run case 9, and print a line for each run; of the last one events, if they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("place", type=Path, metavar="DIR", help="for the tests and the runs")
    parser.add_argument("--seed", type=int, required=True, metavar="S")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="with other random numbers"
    )
    parser.add_argument(
        "--events", type=float, nargs=2, metavar=("FROM", "TO"),
        help="of the last run, those of the window's edge between these times in s",
    )  # fmt: skip
    asked = parser.parse_args()
    place = asked.place.resolve()
    tests = laid_down(place)
    test = SelfTest("mptcp/case_nine", f"mptcp/{TEST}", None)
    study = study_of([test], tests, repeat=asked.repeat, seed=asked.seed)
    data = library.run(study, out=place / f"runs-{asked.seed}").data
    printed = outputs(data)
    for run, output in printed.items():
        print(told(run, output))
    if asked.events and printed:
        since_s, until_s = asked.events
        for time_s, text in traced(list(printed.values())[-1]).lines:
            if since_s <= time_s <= until_s:
                print(f"{time_s:.4f} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
