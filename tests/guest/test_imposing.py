"""What hosts impose on packets that come in, by real kernels: as asked, and gone afterwards.

Hosts are those of a guest, whose kernel has netem, ifb, flower and mirred, and netwarp runs on both
as it would on any two machines.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from guest.hosts_in_a_guest import BIN, PORT, run_client
from netwarp import wire
from netwarp.backends.guest_files import find_endpoint
from netwarp.estimate.stats import binomial_interval

GOLDEN = Path(__file__).parents[1] / "golden" / "job-bulk-quic.json"
NETWORK_NS = 20_000_000
MS = 1_000_000
HEAD = """
title = "Between two hosts"
replicates = 2
[transport]
buffer = "200KiB"
"""
IMPAIRED = f"""{HEAD}
[path]
delay_down = "30ms"
delay_up = "10ms"
rate_down = "8mbit"
loss_down = "3%"
loss_up = "1%"
duplicate_up = "2%"
[workload]
kind = "bulk"
size = "2MB"
[factors]
transport = ["tcp", "quic", "sctp"]
"""
LONG = f"""{HEAD}
[path]
rtt = "400ms"
rate = "1mbit"
[workload]
kind = "bulk"
size = "20MB"
[factors]
transport = ["tcp"]
"""
SHOW = "say left; left > after; diff before after && echo nothing"
IN_FORCE = "until tc qdisc show dev path0 | grep -q ingress; do sleep 0.1; done"
GONE = "for each in $(seq 100); do left > after; cmp -s before after && break; sleep 0.1; done"
SWITCH = """{python} - {command} <<'END'
import array, fcntl, socket, struct, sys
value = array.array("I", [int(sys.argv[1], 0), 1])
request = struct.pack("@16sL16x", b"path0", value.buffer_info()[0])
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)  # SIOCETHTOOL
END
"""
"""Switches an offload on."""
GRO = "0x2c"
"""`ETHTOOL_SGRO` of linux/ethtool.h."""


def switch_on(command: str) -> str:
    return SWITCH.format(python=BIN / "python", command=command)


def by_run(records: list[dict[str, Any]]) -> list[dict[tuple[str, str], dict[str, Any]]]:
    """Sort records of runs one after the other by what they are and of when, or of which way."""
    runs: list[dict[tuple[str, str], dict[str, Any]]] = []
    for kind, group in groupby(records, key=lambda each: each["record"]):
        if kind == "start":
            runs.append({})
        for each in group:
            runs[-1][kind, each.get("direction") or each.get("moment", "")] = each
    return runs


def test_what_is_imposed_is_what_was_asked_for_on_top_of_the_network(tmp_path: Path) -> None:
    told = run_client(
        tmp_path,
        f"left > before; run --json > told; say status; echo $?; {SHOW}\n"
        "say records; cat out/runs/c*/records.jsonl",
        study=IMPAIRED,
    )
    assert told["status"] == "0\n"
    assert told["left"] == "nothing\n"
    runs = by_run(told.records("records"))
    assert len(runs) == 6
    lost, offered = {"down": 0, "up": 0}, {"down": 0, "up": 0}
    for run in runs:
        assert run["end", ""]["failure"] is None
        down, up = run["imposed", "down"], run["imposed", "up"]
        assert (down["delay_ns"], up["delay_ns"]) == (30 * MS, 10 * MS)
        assert (down["rate_bit_s"], up["rate_bit_s"]) == (8_000_000, None)
        assert down["loss"] == {"kind": "random", "ratio": 0.03, "correlation": 0.0}
        assert up["duplicate_ratio"] == 0.02
        assert down["device"] == up["device"] == "path0"
        rtts = {
            at: run["path_measurement", at]["min_rtt_ns"] for at in ("before", "imposed", "after")
        }
        # A small datagram takes its time at 8 Mbit/s, and netem's clock has ticks.
        assert rtts["imposed"] - rtts["before"] == pytest.approx(40 * MS, abs=MS / 4)
        assert rtts["before"] == rtts["after"] == pytest.approx(NETWORK_NS, abs=MS / 4)
        for direction in ("down", "up"):
            counted = run["calibration", direction]
            offered[direction] += counted["offered_packets"]
            lost[direction] += counted["lost_packets"] or 0
        down = run["calibration", "down"]
        assert down["offered_packets"] == sum(
            down[key] for key in ("delivered_packets", "dropped_packets", "left_packets")
        )
        assert 8 * down["delivered_bytes"] < 8_000_000 * down["interval_ns"] / 1e9
        duplicated = run["calibration", "up"]
        accounted = sum(duplicated[key] for key in ("delivered_packets", "dropped_packets"))
        assert accounted > duplicated["offered_packets"]
    low, high = binomial_interval(lost["down"], offered["down"], 0.999)
    assert low <= 0.03 <= high
    assert offered["down"] > 8000


def test_a_rate_is_kept_and_the_train_that_measures_it_meets_it(tmp_path: Path) -> None:
    study = IMPAIRED.replace('loss_down = "3%"\nloss_up = "1%"\nduplicate_up = "2%"\n', "")
    told = run_client(
        tmp_path, "run; say records; cat out/runs/c*/records.jsonl", study=study, network="2ms"
    )
    for run in by_run(told.records("records")):
        assert run["end", ""]["failure"] is None
        counted = run["calibration", "down"]
        (sent,) = {each["dropped_packets"] for each in [run["calibration", "up"]]}
        assert sent == 0
        took_s = 8 * counted["delivered_bytes"] / 8_000_000
        # Slow start overflows the queue, and SCTP waits for a time-out of a second.
        assert took_s < counted["interval_ns"] / 1e9 < took_s + 2.0
        train_bit_s = run["path_measurement", "imposed"]["rate_down_bit_s"]
        assert train_bit_s == pytest.approx(8_000_000, rel=0.04)


def test_other_packets_of_the_same_hosts_are_left_alone(tmp_path: Path) -> None:
    time_connecting = f"""{BIN}/python - <<'END'
import socket, time
for _ in range(20):
    begun = time.monotonic()
    socket.create_connection(("server", {PORT})).close()
    print(time.monotonic() - begun)
END
"""
    told = run_client(
        tmp_path,
        f"left > before; begin; {IN_FORCE}\nsleep 2; say times; {time_connecting}"
        "say impaired; tc qdisc show | grep -c netem; kill -INT $!; wait; say told; cat told\n"
        f"{GONE}\n{SHOW}",
        study=LONG,
    )
    assert told["impaired"] == "2\n", "a delay line, and the queue behind it"
    assert [float(line) for line in told["times"].split()] == pytest.approx([0.02] * 20, abs=0.001)
    assert "the same command goes on" in told["told"]
    assert told["left"] == "nothing\n"


@pytest.mark.parametrize(
    ("host", "signal"), [("client", "KILL"), ("server", "KILL"), ("server", "TERM")]
)
def test_nothing_is_left_on_either_host_by_who_is_killed(
    tmp_path: Path, host: str, signal: str
) -> None:
    kill = {"client": ":", "server": ":", host: f"kill -{signal} $!"}
    serving = (
        "left() { ip -br link; tc qdisc show; tc filter show dev path0 ingress; }\n"
        "left > /tmp/server-before\n"
        f"NETWARP_IDENTITY=/tmp/identities/server {BIN}/netwarp serve --allow-netem &\n"
        "until [ -e /tmp/kill ]; do sleep 0.1; done; left > /tmp/server-during\n"
        f"{kill['server']}; touch /tmp/looked\n"
        "until [ -e /tmp/gone ]; do sleep 0.1; done\n"
        "for each in $(seq 100); do left > /tmp/server-after\n"
        "cmp -s /tmp/server-before /tmp/server-after && break; sleep 0.1; done\n"
        "touch /tmp/done; sleep 1000000\n"
    )
    told = run_client(
        tmp_path,
        f"left > before; begin; {IN_FORCE}\nsleep 2; touch /tmp/kill\n"
        f"until [ -e /tmp/looked ]; do sleep 0.1; done; {kill['client']}\n"
        f"{GONE}\ntouch /tmp/gone; {SHOW}\n"
        "until [ -e /tmp/done ]; do sleep 0.1; done\n"
        "say server; diff /tmp/server-before /tmp/server-after && echo nothing\n"
        "say during; cat /tmp/server-during",
        study=LONG, prepare_server=serving,
    )  # fmt: skip
    assert told["left"] == "nothing\n"
    assert told["server"] == "nothing\n"
    assert "netem" in told["during"]
    assert "mirred (Egress Redirect to device netwarp-" in told["during"]


def test_ipv6_is_told_apart_by_address_and_port_as_ipv4_is(tmp_path: Path) -> None:
    """The process by itself, between two namespaces of the client's host."""
    delays = {"delay_ns": 50 * MS, "jitter_ns": 0, "duplicate_ratio": 0.0, "seed": 1}
    sound = wire.job_from_json(GOLDEN.read_text())
    up = sound.paths[0].up.model_copy(update=delays)
    path = sound.paths[0].model_copy(update={"up": up, "mtu_bytes": 1500})
    job = wire.job_to_json(sound.model_copy(update={"paths": (path,)}))
    (tmp_path / "job.json").write_text(job)
    (tmp_path / "namespaces.sh").write_text(
        f"""
ip link set lo up; ip link add path0 type veth peer name far
unshare --net sleep 1000 & other=$!
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
far() {{ nsenter --net=/proc/$other/ns/net "$@"; }}
ip link set far netns $other
ip addr add 2001:db8::1/64 dev path0 nodad; ip link set path0 up
for last in 2 3; do far ip addr add 2001:db8::$last/64 dev far nodad; done
far ip link set far up; sleep 2
mkfifo orders; {find_endpoint()} impose --direction up --address 2001:db8::1 --peer 2001:db8::2 \
  --data-port 4433 < orders & exec 9> orders; cat {tmp_path}/job.json >&9; {IN_FORCE}
{BIN}/python - <<'END' &
import select, socket, time
ports = {{}}
for port in (4433, 4440):
    ports[port] = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    ports[port].bind(("2001:db8::1", port))
open("bound", "w").close()
lines = []
while len(lines) < 3:
    for each in select.select(list(ports.values()), [], [])[0]:
        data, sender = each.recvfrom(100)
        took_ms = round(1e3 * (time.monotonic() - float(data)))
        lines.append(f"{{sender[0][-1]}} {{each.getsockname()[1]}} {{took_ms}}")
print("\\n".join(sorted(lines)))
END
python=$!; until [ -e bound ]; do sleep 0.1; done
far {BIN}/python - <<'END'
import socket, time
for last, port in ((2, 4433), (2, 4440), (3, 4433)):
    mine = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    mine.bind((f"2001:db8::{{last}}", 0))
    mine.sendto(str(time.monotonic()).encode(), ("2001:db8::1", port))
END
wait $python; echo count >&9; sleep 1; exec 9>&-; kill $other; wait
"""
    )
    told = run_client(tmp_path, f"say told; unshare --net sh {tmp_path}/namespaces.sh", study=LONG)
    imposed, *arrived, counted = told["told"].splitlines()
    assert json.loads(imposed)["delay_ns"] == 50 * MS
    assert arrived == ["2 4433 50", "2 4440 0", "3 4433 0"]
    assert json.loads(counted)["offered_packets"] == 1


def test_what_cannot_be_imposed_is_refused_with_the_reason_and_nothing_is_touched(
    tmp_path: Path,
) -> None:
    endpoint = find_endpoint()
    told = run_client(
        tmp_path,
        "tc qdisc add dev path0 clsact; left > before\n"
        f"say clsact; run 2>&1; echo $?\n{SHOW}; tc qdisc del dev path0 clsact\n"
        "say nobody; setpriv --reuid 65534 --regid 65534 --clear-groups"
        f" {endpoint} impose --check --address 10.0.1.1 --peer 10.0.2.1 --data-port 4433"
        " --direction down 2>&1\n"
        "say up; run --set path.delay_down=0ms --set path.delay_up=5ms 2>&1; echo $?\n"
        f"say gro; {switch_on(GRO)} run 2>&1; echo $?\n",
        study=LONG.replace('rtt = "400ms"\nrate = "1mbit"', 'delay_down = "5ms"'),
        serve="",
    )
    assert "has an ingress or clsact qdisc already" in told["clsact"]
    assert told["clsact"].endswith("\n2\n")
    assert told["left"] == "nothing\n"
    assert "path0 joins packets that come in (rx-gro)" in told["gro"]
    assert "`ethtool -K path0 gro off`" in told["gro"]
    assert "(client to server), which is for the receiving host to impose" in told["up"]
    assert "the server does not: `netwarp serve` there was started without" in told["up"]
    assert "takes CAP_NET_ADMIN: run netwarp as root there" in told["nobody"]


def test_bundles_that_nobody_saw_coming_fail_the_run(tmp_path: Path) -> None:
    """GRO is switched on once all is in force; a virtual link may have TSO at its far end."""
    told = run_client(
        tmp_path,
        f"left > before; begin; {IN_FORCE}; {switch_on(GRO)}\nwait; say run; cat told\n"
        f"{SHOW}",
        study=LONG.replace('rtt = "400ms"\nrate = "1mbit"', 'delay_down = "5ms"'),
    )  # fmt: skip
    assert "2 of 2 failed" in told["run"]
    assert "netem met bundles of segments" in " ".join(told["run"].split())
    assert told["left"] == "nothing\n"
