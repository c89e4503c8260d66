"""Commands by another host's word: refused whatever is sent, unless the owner allows them."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netwarp.backends.remote.admission import Limits, refusal
from netwarp.backends.remote.channel import ChannelError, RefusedError
from netwarp.backends.remote.commands import SHOWN_CHARACTERS, Containment, shown
from netwarp.backends.remote.messages import Begin, Ended, Run, Running
from netwarp.errors import RecordError
from netwarp.wire import job_from_json, job_to_json
from netwarp.workloads import workload_of
from remote.conftest import Starter
from remote.jobs import job
from remote.test_faults import PATIENCE_S, let_in, script

GOLDEN = Path(__file__).parents[1] / "golden"
COMMAND = job_to_json(
    job_from_json((GOLDEN / "job-command-line.json").read_text()).model_copy(
        update={"paths": job().paths}
    )
)
"""Over a path that asks for nothing: what programs send is not impaired between hosts."""
OTHERS = [json.loads(path.read_text()) for path in sorted(GOLDEN.glob("job-*.json"))]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Give every place in a JSON value: what has it, and its name there."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@st.composite
def jobs(draw: st.DrawFn) -> str:
    """Draw a job with a command, some of whose values are others', or of other jobs."""
    job = json.loads(COMMAND)
    for _ in range(draw(st.integers(0, 3))):
        holder, key = draw(st.sampled_from(places(job)))
        other, place = draw(st.sampled_from(places(draw(st.sampled_from(OTHERS)))))
        # A copy: the next of these changes may be in it, and others are drawn from the same jobs.
        holder[key] = draw(st.just(deepcopy(other[place])) | VALUES)
    return json.dumps(job)


@given(jobs())
def test_no_job_gets_a_command_past_a_server_that_allows_none(text: str) -> None:
    try:
        job = job_from_json(text, "the job")
    except RecordError:
        return
    if workload_of(job).server_command(job) is not None:
        assert refusal(job, Limits()) is not None
    elif workload_of(job).runs_programs(job):
        assert refusal(job, Limits(), command_ports_from=1) is not None


def test_no_role_is_started_for_a_command_that_is_not_allowed(
    start: Starter, tmp_path: Path
) -> None:
    server = start(script(tmp_path, "exit 0"))
    channel = let_in(server).channel
    for _ in range(2):
        channel.send(Run(job=COMMAND))
        with pytest.raises(RefusedError, match="--allow-exec`, which lets every paired host"):
            channel.receive(Running, PATIENCE_S)
    channel.send(Begin(epoch_ns=0))
    with pytest.raises(ChannelError):
        channel.receive(Running, PATIENCE_S)
    assert not (tmp_path / "pid").exists()
    assert not [line for line in server.told if "runs:" in line]
    channel.close()
    server.expect_it_goes_on()


def test_whoever_looks_after_the_server_is_told_who_runs_what(
    start: Starter, tmp_path: Path
) -> None:
    endpoint = script(tmp_path, f'echo "$@" > {tmp_path}/asked; exit 0')
    server = start(endpoint, containment=Containment((Path("/home/owner"),), 1024))
    connected = let_in(server)
    assert connected.welcome.command_ports_from == 1024
    connected.channel.send(Run(job=COMMAND))
    connected.channel.receive(Running, PATIENCE_S)
    connected.channel.receive(Ended, PATIENCE_S)
    connected.channel.close()
    server.server.join(PATIENCE_S)
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("serve-contained --hidden=/home/owner --job ")
    command = workload_of(job_from_json(COMMAND)).server_command(job_from_json(COMMAND))
    assert command is not None
    (runs,) = [line for line in server.told if "runs:" in line]
    assert runs.endswith(f" runs: {command.text}")
    assert "127.0.0.1:" in runs
    assert any(line.endswith("all that it started have ended") for line in server.told)


@given(st.text(max_size=2 * SHOWN_CHARACTERS))
def test_a_command_is_shown_in_one_line_whatever_is_in_it(text: str) -> None:
    line = shown(text)
    assert line.isprintable()
    assert len(line) <= SHOWN_CHARACTERS + 120


def test_nothing_is_hidden_behind_the_length_of_a_command() -> None:
    whole = "true " + 50 * "filling" + "; rm file"
    assert shown(whole) == whole
    a, b = (shown("x" * 2 * SHOWN_CHARACTERS + end) for end in "ab")
    assert a != b
    assert f"({2 * SHOWN_CHARACTERS + 1} characters, SHA-256 " in a


def test_a_terminal_obeys_no_command_that_is_shown() -> None:
    assert shown("echo \x1b[2J\n\u202e") == r"echo \x1b[2J\n\u202e"


def test_two_hosts_are_asked_to_share_no_files() -> None:
    asked = json.loads(COMMAND)
    assert refusal(job_from_json(json.dumps(asked)), Limits(), command_ports_from=1) is None
    asked["workloads"][0]["workload"]["shared"] = True
    refused = refusal(job_from_json(json.dumps(asked)), Limits(), command_ports_from=1)
    assert refused == "two hosts share no files: drop shared"
