"""The pages are served until Ctrl-C, which ends their guests."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from cli.processes import NETWARP, guests_in, has_ended, removers_of
from netwarp.backends.process_tree import children

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@dataclass
class Served:
    process: subprocess.Popen[str]
    address: str
    opened: ExitStack

    def get(self, path: str, **headers: str) -> http.client.HTTPResponse:
        parts = urlsplit(self.address)
        connection = self.opened.enter_context(
            closing(http.client.HTTPConnection(parts.netloc, timeout=60))
        )
        connection.request(
            "GET",
            path if path.startswith("/") else parts.path + path,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )
        return self.opened.enter_context(connection.getresponse())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    process = subprocess.Popen(
        [NETWARP, "ui"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("netwarp ui: http://127.0.0.1:"), process.communicate()
    with ExitStack() as opened:
        yield Served(process, line.split()[-1], opened)
    process.kill()
    process.communicate()


def test_strangers_are_refused(served: Served) -> None:
    page = served.get("")
    assert page.status == 200
    assert b"<form" in page.read()
    assert page.getheader("Referrer-Policy") == "no-referrer"
    assert "default-src 'none'" in str(page.getheader("Content-Security-Policy"))
    for path, headers in [
        ("/", {}),
        ("/wrong/", {}),
        ("", {"Host": "evil.example"}),
        ("", {"Origin": "http://evil.example"}),
        ("", {"Sec_Fetch_Site": "cross-site"}),
        ("as?rtt=50ms", {"Origin": "http://evil.example"}),
    ]:
        assert served.get(path, **headers).status == 403
    assert served.get("nothing").status == 404
    assert served.get("static/..%2f..%2fserver.py").status == 404
    refused = served.get("as?los=1")
    assert json.loads(refused.read())["message"].startswith("--los: unknown")


def test_a_port_in_use_is_refused(served: Served) -> None:
    port = str(urlsplit(served.address).port)
    done = subprocess.run(
        [NETWARP, "ui", "--port", port], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert f"--port {port}: Address already in use" in done.stderr


@pytest.mark.guest
def test_it_answers_and_ctrl_c_leaves_nothing(served: Served) -> None:
    pairs = {"lane": "a", "transport": "tcp", "size": "1MB", "rtt": "50ms", "loss": "1%"}
    text = served.get(f"ask?{urlencode(pairs | {'replicates': '2'})}").read().decode()
    events = [line for line in text.splitlines() if line.startswith("event")]
    # A busy machine has messages between them, of how far the runs are.
    assert [event for event in events if event != "event: progress"] == [
        "event: started", "event: answer", "event: answer", "event: done",
    ]  # fmt: skip
    answers = [json.loads(line[6:]) for line in text.splitlines() if '"metrics"' in line]
    directory = Path(answers[-1]["directory"])
    assert directory.is_dir()
    place = served.get(f"report/a/{directory.name}").getheader("Location")
    assert place is not None
    assert urlsplit(served.address).path.strip("/") not in place
    report = served.get(place)
    assert str(report.getheader("Content-Security-Policy")).startswith("sandbox allow-scripts")
    assert b"tcp" in report.read()
    folder = directory.parents[1]
    long = pairs | {"size": "1GB", "loss": "5%", "replicates": "100"}
    response = served.get(f"ask?{urlencode(long)}")
    assert response.readline() == b"event: started\n"
    while not (guests := guests_in(folder)):
        assert served.process.poll() is None
    served.process.send_signal(signal.SIGINT)
    _, said = served.process.communicate(timeout=30)
    assert served.process.returncode == 130
    assert said == "interrupted: the pages are closed\n"
    for guest in guests:
        assert has_ended(guest), "a guest outlived netwarp"
    assert all(map(has_ended, removers_of(folder)))
    assert not folder.exists()


@pytest.mark.guest
def test_who_goes_away_ends_their_guests(served: Served) -> None:
    pairs = {"lane": "a", "transport": "tcp", "size": "1GB", "rtt": "50ms", "loss": "5%"}
    response = served.get(f"ask?{urlencode(pairs)}")
    assert response.readline() == b"event: started\n"
    answered = served.get(f"ask?{urlencode({'lane': 'b', 'transport': 'tcp', 'size': '10kB'})}")
    answers = [line for line in answered.read().decode().splitlines() if '"metrics"' in line]
    folder = Path(json.loads(answers[-1][6:])["directory"]).parents[1]
    while not (guests := guests_in(folder)):
        assert served.process.poll() is None
    served.opened.close()
    while any(not has_ended(guest) for guest in guests) or guests_in(folder):
        assert served.process.poll() is None


SIGNALS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP,
           "SIGKILL": signal.SIGKILL}  # fmt: skip


@pytest.mark.guest
@pytest.mark.parametrize("how", [*SIGNALS, "the terminal is closed", "the shell is killed"])
def test_however_it_ends_its_guests_do_too(tmp_path: Path, how: str) -> None:
    terminal, slave = os.openpty()
    with os.fdopen(slave) as opened:
        shell = subprocess.Popen(
            # Tests that run under nohup(1) ignore SIGHUP, and so would what they start.
            ["env", "--default-signal=HUP", "setsid", "--ctty", "sh", "-c", '"$0" ui; exit',
             NETWARP],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdin=opened, stdout=opened, stderr=opened,
        )  # fmt: skip
    with os.fdopen(os.dup(terminal), encoding="utf-8") as printed:
        parts = urlsplit(printed.readline().split()[-1])
    (netwarp,) = children(shell.pid)
    (folder,) = tmp_path.glob("netwarp-ui-*")
    # Many lessons' runs: they are not removed in the time that Ctrl-C has.
    for number in range(2000 if how == "Ctrl-C" else 1):
        run = folder / "other" / str(number)
        run.mkdir(parents=True)
        for name in ("job.json", "records.jsonl", "status.json"):
            (run / name).write_text("a record\n" * 1000)
    asked = {"lane": "a", "transport": "tcp", "size": "1GB", "rtt": "50ms", "loss": "5%"}
    with closing(http.client.HTTPConnection(parts.netloc, timeout=60)) as connection:
        connection.request("GET", f"{parts.path}ask?{urlencode(asked | {'replicates': '50'})}")
        connection.getresponse()
        while not (guests := guests_in(folder)):
            assert shell.poll() is None
        if how == "the terminal is closed":
            os.close(terminal)
        elif how == "the shell is killed":
            shell.kill()
        else:
            os.kill(netwarp, SIGNALS[how])
        assert all(map(has_ended, [netwarp, *guests])), "a guest outlived the pages"
    assert all(map(has_ended, guests_in(folder))), "one that was begun meanwhile outlived them"
    assert all(map(has_ended, removers_of(folder)))
    # Nothing can be removed by a process that is killed; the next one to start does it.
    assert folder.exists() == (how == "SIGKILL")
    if how != "the terminal is closed":
        os.close(terminal)
    shell.wait(30)
