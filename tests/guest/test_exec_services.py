"""Services over a path, twice: what they print, when, and whether the second run is the first one.

A path of 100 ms and 20 Mbit/s; the times that are expected follow from it.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from guest.over_a_path import run_over_a_path, skip_without

RTT_S = 0.1
RATE_BIT_S = 20e6
CONTENT_BYTES = 300_000
MEMORY = ("--memory", "4GiB")
EXACT = ("--set", "workload.coarse_clocks=exact")

TURN = (
    "turnutils_peer -L 10.0.2.1 -p 3480 & exec turnserver -n --no-auth --listening-ip=10.0.2.1"
    " --relay-ip=10.0.2.1 --log-file=stdout --no-cli --no-tls --no-dtls --pidfile=/tmp/pid"
    " --db=/tmp/db"
)
# `-n` messages, one each `-z` milliseconds, through the relay to a peer that returns them.
TURN_CLIENT = "turnutils_uclient -e 10.0.2.1 -r 3480 -n 20 -m 1 -l 100 -z 50 -c server"

ETCD = (
    "exec etcd --data-dir /tmp/etcd --listen-client-urls http://0.0.0.0:2379"
    " --advertise-client-urls http://server:2379"
)
OPERATIONS = 20
ETCD_CLIENT = f"""
import base64, http.client, json, time
def coded(text):
    return base64.b64encode(text.encode()).decode()
connection = http.client.HTTPConnection("server", 2379)
def ask(what, **keys):
    connection.request("POST", "/v3/kv/" + what, json.dumps(keys))
    return json.load(connection.getresponse())
ask("put", key=coded("first"), value=coded("waits until the server has elected itself"))
started = time.monotonic()
for number in range({OPERATIONS}):
    ask("put", key=coded(f"key{{number}}"), value=coded(str(number * number)))
found = [ask("range", key=coded(f"key{{number}}")) for number in range({OPERATIONS})]
values = [int(base64.b64decode(each["kvs"][0]["value"])) for each in found]
assert values == [number * number for number in range({OPERATIONS})], values
print("took", time.monotonic() - started)
"""

WIREGUARD = next(
    filter(None, map(shutil.which, ("wireguard-go", str(Path.home() / "go/bin/wireguard")))),
    "wireguard-go",
)
GO_HEADER = rb"\xff Go buildinf:.{18,50}?go1\.(\d+)"
GO_DRAWS_FROM_THE_KERNEL = 22
"""Go takes random numbers from the CPU's clock before 1.22."""


def draws_from_the_cpu(program: str) -> bool:
    """Whether a program was built with such a Go (debug/buildinfo: the version in its data)."""
    found = shutil.which(program)
    content = Path(found).read_bytes() if found else b""
    header = re.search(GO_HEADER, content, re.DOTALL)
    return header is not None and int(header[1]) < GO_DRAWS_FROM_THE_KERNEL


KEYS = [base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2)]


def tunnel(address: str, own: str, other: str, endpoint: str = "") -> str:
    """Make the shell's commands for one end of a tunnel."""
    return f"""
mkdir /tmp/wg; echo {own} > /tmp/wg/own; other=$(echo {other} | wg pubkey)
LOG_LEVEL=error {WIREGUARD} -f wg0 > /tmp/wg/log 2>&1 &
until [ -S /run/wireguard/wg0.sock ]; do sleep 0.01; done
wg set wg0 listen-port 51820 private-key /tmp/wg/own peer $other allowed-ips 10.9.0.0/24 {endpoint}
ip address add {address}/24 dev wg0; ip link set wg0 mtu 1420 up
"""


# No page of Firefox's own is loaded, and nothing is asked of hosts that are not there.
PREFERENCES = {
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "",
    "toolkit.telemetry.enabled": False,
}
FIREFOX = "mkdir $HOME/profile; cat > $HOME/profile/user.js <<'END'\n" + "".join(
    f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in PREFERENCES.items()
)
FIREFOX += """END
timeout 60 sh -c "until grep -qs 'Seccomp:.2' /proc/[0-9]*/status; do sleep 0.01; done
    echo a process with a filter of system calls" &
timeout 60 firefox-esr --headless --no-remote --profile $HOME/profile \
    --screenshot $HOME/page.png http://server/ >/dev/null 2>&1
head -c 4 $HOME/page.png | tail -c 3; wait
"""


@dataclass(frozen=True)
class Service:
    """Programs of the machine, what the client prints, and how long that may take."""

    needs: tuple[str, ...]
    server: str
    client: str
    printed: str
    """With a group `s` for each time in seconds, in the order of `times_s`."""
    ready: str
    times_s: tuple[tuple[float, float], ...]
    """The least and the most of each time; of the client's whole run, if it prints none."""
    unit_s: float = 1.0
    """The unit of the times that are printed."""
    options: tuple[str, ...] = ()
    repeats: bool = True
    files: dict[str, bytes] = field(default_factory=dict)


SERVICES = {
    "coturn": Service(
        ("turnserver", "turnutils_uclient", "turnutils_peer"),
        TURN,
        TURN_CLIENT,
        r"(?s).*tot_recv_msgs=20\n.*Total lost packets 0 .*"
        r"Average round trip delay ([\d.]+) ms; min = \d+ ms, max = \d+ ms.*",
        "port:3478",
        # It counts whole milliseconds.
        ((RTT_S - 0.001, RTT_S + 0.001),),
        0.001,
        EXACT,
    ),
    "etcd": Service(
        ("etcd", "python3"),
        ETCD,
        f"cat > /tmp/client.py <<'END'\n{ETCD_CLIENT}END\npython3 /tmp/client.py",
        r"took ([\d.]+)",
        "port:2379",
        # A round trip for each: the server's disk is memory.
        ((2 * OPERATIONS * RTT_S, 2 * OPERATIONS * RTT_S * 1.02),),
        repeats=not draws_from_the_cpu("etcd"),
    ),
    "wireguard-go": Service(
        (WIREGUARD, "wg", "ip", "python3", "curl"),
        tunnel("10.9.0.2", KEYS[1], KEYS[0]) + "exec python3 -m http.server 80",
        tunnel("10.9.0.1", KEYS[0], KEYS[1], "endpoint server:51820")
        + "curl -sSo /dev/null -w '%{size_download} %{time_connect} %{time_total}'"
        " http://10.9.0.2/content",
        rf"{CONTENT_BYTES} ([\d.]+) ([\d.]+)",
        "port:80",
        (
            # WireGuard's handshake, and that of TCP in it.
            (2 * RTT_S, 2.05 * RTT_S),
            # The request, and at least what the rate allows; at most six flights of slow start.
            (
                3 * RTT_S + 8 * CONTENT_BYTES / RATE_BIT_S,
                3 * RTT_S + 6 * RTT_S + 8 * CONTENT_BYTES / RATE_BIT_S,
            ),
        ),
        repeats=not draws_from_the_cpu(WIREGUARD),
        files={"content": bytes(CONTENT_BYTES)},
    ),
    "Firefox": Service(
        ("firefox-esr", "python3"),
        "exec python3 -m http.server 80",
        FIREFOX,
        "a process with a filter of system calls\nPNG",
        "port:80",
        # A handshake and a request, and little for what a machine without a screen lacks.
        ((2 * RTT_S, 30 * RTT_S),),
        options=("--env", "MOZ_DISABLE_CONTENT_SANDBOX=1"),
        repeats=False,
        files={"index.html": b"<!doctype html><title>Hello</title><p>hello"},
    ),
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_works_in_its_time_and_again(tmp_path: Path, name: str) -> None:
    service = SERVICES[name]
    skip_without(service.needs)
    for file, content in service.files.items():
        (tmp_path / file).write_bytes(content)
    options = (*MEMORY, "--ready", service.ready, *service.options, "--server", service.server)
    records = []
    for out in ("first", "again"):
        told = run_over_a_path(tmp_path, service.client, "--out", out, *options)
        found = re.fullmatch(service.printed, told["client"]["stdout"].strip())
        assert found, told["client"]["stdout"] + told["client"]["stderr"]
        printed_s = [service.unit_s * float(each) for each in found.groups()]
        times_s = printed_s or [told["metrics"]["run_time_s"]]
        for time_s, (least_s, most_s) in zip(times_s, service.times_s, strict=True):
            assert least_s <= time_s <= most_s, told["client"]["stdout"]
        (recorded,) = (tmp_path / out).glob("runs/*/records.jsonl")
        records.append(recorded.read_bytes())
    assert records[0] == records[1] or not service.repeats
