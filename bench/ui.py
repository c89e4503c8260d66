"""Measures the local pages: from the start to a page, and from a knob to the first answer.

A question is one replicate of TCP and of QUIC, 10 MB, with knobs drawn from a seed; those without
an answer are named, with the page's own sentence. CPU time is that of the server and its guests;
the load of the machine is printed, since others may use it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from netwarp.measure.ranks import nearest_rank
from netwarp.ui.knobs import GROUPS

NETWARP = Path(sys.prefix) / "bin" / "netwarp"
TURNED = ("rtt", "rate", "loss", "queue", "discipline")
TICKS_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the times as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    begun_s = time.monotonic()
    process = subprocess.Popen([NETWARP, "ui"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = urlsplit(process.stdout.readline().split()[-1])
    try:
        _get(address.netloc, address.path)
        page_s, page_cpu_s = time.monotonic() - begun_s, cpu_s(process.pid)
        drawn = random.Random(asked.seed)  # noqa: S311 - knobs
        knobs = [each for group in GROUPS.values() for each in group if each.option in TURNED]
        times, cpu, unanswered = [], [], []
        for _ in range(asked.questions):
            given = {"transport": "tcp,quic", "size": "10MB", "replicates": "1", "lane": "a"}
            given |= {each.option: drawn.choice(list(each.offers)) for each in knobs}
            before_s, at_s = cpu_s(process.pid), time.monotonic()
            answer = _get(address.netloc, f"{address.path}ask?{urlencode(given)}")
            if (instead := instead_of_an_answer(answer)) is None:
                times.append(time.monotonic() - at_s)
                cpu.append(cpu_s(process.pid) - before_s)
            else:
                turned = {each.option: given[each.option] for each in knobs}
                unanswered.append({"knobs": turned, **instead})
    finally:
        process.terminate()
        process.communicate()
    print(json.dumps({
        "load": [load, os.getloadavg()[0]], "page_s": page_s, "page_cpu_s": page_cpu_s,
        "answers": len(times), "first_answer_s_p50": nearest_rank(0.5, times),
        "first_answer_s_p90": nearest_rank(0.9, times), "cpu_s_p50": nearest_rank(0.5, cpu),
        "cpu_s_p90": nearest_rank(0.9, cpu), "unanswered": unanswered,
    }, indent=2))  # fmt: skip


def instead_of_an_answer(text: str) -> dict[str, str] | None:
    """Return what became of a question that has no answer, from the events that it sent: the name
    of the last event, and what that said; None if it was answered.
    """
    events = [event.split("\ndata: ", 1) for event in text.strip().split("\n\n") if event]
    names = [name.removeprefix("event: ") for name, _ in events]
    if "failed" not in names and "answer" in names:
        return None
    place = next((at for at, name in enumerate(names) if name in ("refused", "failed")), None)
    if place is None:
        return {"event": names[-1] if names else "none", "message": "no reason was sent"}
    return {"event": names[place], "message": json.loads(events[place][1])["message"]}


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_S


def _get(host: str, path: str) -> str:
    connection = HTTPConnection(host)
    connection.request("GET", path)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


if __name__ == "__main__":
    main()
