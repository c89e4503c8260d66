"""Other tools on the jobs A to D: what they need, and how they are asked."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.lines import RATE_BIT_S, RTT_S, Transfer
from bench.measured import Cost
from netwarp.units import parse_ratio, parse_size_bytes

NS3_PACKAGE = "ns3==3.44.post0"
NS3_ENVIRONMENT = Path(".venv-ns3")
TRANSFERS = Path(__file__).with_name("ns3_transfers.py")
NO_SHADOW = (
    "Shadow is not measured: no package registry has it, so a lane for it would be untested;"
    " build it from github.com/shadow/shadow and give the same jobs to its own programs"
)


class Ns3:
    """A process that has ns-3 loaded and does one job after the other."""

    name = "ns-3"

    def __init__(self) -> None:
        python = _environment()
        print("ns-3: loading its bindings", file=sys.stderr)
        self._process = subprocess.Popen(
            [python, TRANSFERS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # two lines on symbols that it does without
            text=True,
        )
        self._answer()

    def __enter__(self) -> Ns3:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, line: Transfer, seed: int) -> Cost:
        """Simulate one job; CPU time is the simulation's alone, without loading and set-up."""
        question = {
            "size_bytes": parse_size_bytes(line.size),
            "rate_bit_s": RATE_BIT_S,
            "rtt_s": RTT_S,
            "loss": parse_ratio(line.path["loss"]),
            "seed": seed,
        }
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer = self._answer()
        if answer["virtual_s"] < 0:
            raise SystemExit(f"{line.name}: ns-3 did not deliver all of it")
        return Cost(answer["cpu_s"], answer["cpu_s"], None, answer["virtual_s"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise SystemExit(
                f"ns-3 ended with status {status}; try: .venv-ns3/bin/python {TRANSFERS}"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def _environment() -> Path:
    """Give the Python of ns-3's own virtual environment, made when it is missing."""
    python = NS3_ENVIRONMENT / "bin" / "python"
    ready = NS3_ENVIRONMENT / "ready"
    if not ready.exists():
        where = f"{NS3_PACKAGE} into {NS3_ENVIRONMENT}"
        print(f"ns-3: installing {where}; its bindings compile for minutes", file=sys.stderr)
        venv.create(NS3_ENVIRONMENT, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", NS3_PACKAGE]
        if subprocess.run(install, check=False).returncode:
            raise SystemExit(
                f"pip could not install {NS3_PACKAGE}: see above; it needs g++ as well"
            )
        ready.touch()
    return python
