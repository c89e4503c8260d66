"""Runs `netwarp run --backend remote` inside a guest, whose kernel has what imposing takes.

The guest's client and server are the two hosts: `netwarp exec` starts a shell script on each, whose
time is virtual. Both see one root file system, where what they write is thrown away.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
PORT = 4434
PAIR = f"""{BIN}/python - <<'END'
from pathlib import Path
from netwarp.backends.remote.identity import open_identity
client, server = (open_identity(Path("/tmp/identities") / name) for name in ("client", "server"))
client.add_peer(server.certificate)
server.add_peer(client.certificate)
END
"""
"""The guest has a date of its own, which certificates made outside would not be of."""


@dataclass(frozen=True)
class Told:
    """What the client's script printed, a part for each `say NAME`."""

    parts: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.parts[name]

    def records(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.parts[name].splitlines()]


def run_client(
    place: Path, script: str, *, study: str, serve: str = "--allow-netem", network: str = "20ms",
    prepare_server: str = "",
) -> Told:  # fmt: skip
    """Run a script on the client's host while `netwarp serve` is up on the server's.

    Args:
        place: a directory of the test's.
        script: for the client; `run` runs the study, with options, to the directory out, `begin`
            does it in the background, as $!, and prints to the file told.
        study: what `run` runs.
        serve: options of `netwarp serve`.
        network: round-trip time of the network between the hosts.
        prepare_server: for the server's shell, before it serves.
    """
    (place / "study.toml").write_text(study)
    (place / "server.sh").write_text(
        f"{PAIR}{prepare_server}\nNETWARP_IDENTITY=/tmp/identities/server exec {BIN}/netwarp serve"
        f" --listen 0.0.0.0:{PORT} {serve}\n"
    )
    (place / "client.sh").write_text(
        'say() { echo "@@@ $1"; }\n'
        f"command='{BIN}/netwarp run study.toml --backend remote --server server:{PORT}"
        " --out out'\n"
        'run() { $command "$@"; }\n'
        "begin() { env --default-signal=INT $command > told 2>&1 & }\n"
        "left() { ip -br link; tc qdisc show; tc filter show dev path0 ingress; }\n"
        "mkdir -p /root/work; cd /root/work\n"
        f"cp {place}/study.toml .\n{script}\nexit 0\n"
    )
    environ = {
        "HOME": "/root", "NETWARP_IDENTITY": "/tmp/identities/client",
        "PATH": f"{BIN}:/usr/sbin:/usr/bin:/sbin:/bin",
    }  # fmt: skip
    options = [f"--env={name}={value}" for name, value in environ.items()]
    done = subprocess.run(
        [
            BIN / "netwarp", "exec", "--rtt", network, "--memory", "3GiB", "--json", *options,
            "--shared",  # the two hosts were paired by files of the server's
            "--ready", f"port:{PORT}", "--server", f"sh {place}/server.sh",
            "--", "sh", str(place / "client.sh"),
        ],
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    printed: str = json.loads(done.stdout)["client"]["stdout"]
    _, *parts = printed.split("@@@ ")
    return Told({name: rest for name, _, rest in (part.partition("\n") for part in parts)})
