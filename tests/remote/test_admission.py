"""What a server takes of a client's job: named here, and all else refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp import wire
from netwarp.backends.remote.admission import Limits, refusal
from netwarp.wire import Job, job_from_json
from netwarp.workloads import workload_of
from netwarp.workloads.base import Workload
from remote.jobs import changed, job

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name: str) -> Job:
    return job_from_json((GOLDEN / f"job-{name}.json").read_text())


def test_what_asks_for_nothing_special_is_taken() -> None:
    for transport in ("tcp", "tls", "quic", "sctp"):
        assert refusal(job(transport), Limits()) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("command-line", "`netwarp serve --allow-exec`, which lets every paired host run any"),
        ("command-file", "`netwarp serve --allow-exec`, which lets every paired host run any"),
        ("page-programs", "runs none by another host's word"),
        ("page-nginx", "runs none by another host's word"),
        ("flow-ns3", "a simulator's"),
        ("bulk-quic-stack", "runs none by another host's word"),
        ("stream-handovers", "not netwarp's to change"),
    ],
)
def test_what_is_not_a_servers_to_do_is_refused(name: str, why: str) -> None:
    reason = refusal(golden(name), Limits())
    assert reason is not None
    assert why in reason


def test_no_kernel_and_no_network_is_anothers_to_name() -> None:
    several = golden("dumbbell")
    assert several.network is not None
    ends = several.workloads[0].ends
    for asked, why in (
        (job().model_copy(update={"kernel": "6.12"}), "a guest kernel by its name"),
        (job().model_copy(update={"network": several.network}), "a network of several hosts"),
        (job().with_only(ends=ends), "hosts of a network"),
    ):
        assert why in str(refusal(asked, Limits()))


def test_a_command_is_taken_where_the_owner_allows_it() -> None:
    command = golden("command-line")
    assert refusal(command, Limits(), command_ports_from=1024) is None
    sound = command.only.workload
    assert isinstance(sound, wire.Command)
    for asked, why in (
        ({"ready": wire.Listening(kind="listening", port=80)}, "ip_unprivileged_port_start=80"),
        ({"memory_bytes": 5 << 30}, "bytes of memory"),
    ):
        changed = command.with_only(workload=sound.model_copy(update=asked))
        reason = refusal(changed, Limits(), command_ports_from=1024)
        assert reason is not None
        assert why in reason


@pytest.mark.parametrize("name", ["page-programs", "page-nginx", "bulk-quic-stack"])
def test_other_programs_are_refused_even_where_commands_are_allowed(name: str) -> None:
    reason = refusal(golden(name), Limits(), command_ports_from=1)
    assert reason is not None
    assert "runs none by another host's word" in reason


def test_a_netem_that_could_hold_all_memory_is_refused_where_it_would_be_the_servers() -> None:
    impaired = golden("bulk-tcp-impaired").paths[0]
    for direction, refused in (("down", False), ("up", True)):
        (path,) = job().paths
        endless = impaired.down.model_copy(update={"limit_packets": 2**32 - 1})
        path = path.model_copy(update={direction: endless})
        reason = refusal(job().model_copy(update={"paths": (path,)}), Limits())
        assert (reason is not None) is refused
        assert reason is None or "holds 4294967295 packets" in reason


def test_a_new_workload_is_refused_until_somebody_has_looked_at_it() -> None:
    asked = golden("rr")
    reason = Workload.server_refusal(workload_of(asked), asked)
    assert reason == "a server takes no workload of kind 'rr' from another host"


def test_workloads_beside_the_first_are_refused_whatever_they_are() -> None:
    sound, harmful = job(), golden("command-line")
    beside = sound.model_copy(update={"workloads": (sound.only, harmful.only)})
    for asked in (beside, sound.with_only(port=22)):
        reason = refusal(asked, Limits())
        assert reason is not None
        assert "several workloads" in reason


def test_whatever_a_job_can_ask_for_has_been_looked_at() -> None:
    """A new field of a job is not taken from other hosts before admission knows it."""
    harmless = {"format", "run", "name", "group", "seed", "sampling", "limits"}
    judged = {
        "paths",
        "workloads",
        "transport",
        "workload",
        "start_ns",
        "port",
        "timeline",
        "capture",
        "kernel",
        "network",
        "ends",
    }
    asked = {*Job.model_fields, *wire.Exchange.model_fields}
    assert asked == harmless | judged


def test_no_file_is_read() -> None:
    content = wire.FileContent(kind="file", path="/etc/shadow", size_bytes=10)
    sound = job()
    assert isinstance(sound.only.workload, wire.Bulk)
    for direction in ("down", "up"):
        workload = sound.only.workload.model_copy(
            update={"content": content, "direction": direction}
        )
        reason = refusal(sound.with_only(workload=workload), Limits())
        assert reason is not None
        assert "reads none" in reason


def test_no_file_of_a_page_is_read() -> None:
    page = golden("page-tls")
    assert isinstance(page.only.workload, wire.Page)
    bare = [each.model_copy(update={"file": None}) for each in page.only.workload.resources]
    for file in (None, "/etc/shadow"):
        resources = (*bare[:-1], bare[-1].model_copy(update={"file": file}))
        workload = page.only.workload.model_copy(update={"resources": resources})
        asked = page.with_only(workload=workload).model_copy(update={"capture": False})
        reason = refusal(asked, Limits(buffer_bytes=1 << 31))
        assert (reason is None) if file is None else (reason is not None and "reads none" in reason)


@pytest.mark.parametrize(
    ("asked", "limits", "why"),
    [
        (job(size="2MB", transfers=6), Limits(content_bytes=11_999_999), "12000000 bytes travel"),
        (job(), Limits(buffer_bytes=100_000), "its buffers are"),
        (changed(job(), chunks=101), Limits(), "101 chunks"),
        (changed(job(), transfers=101), Limits(), "101 transfers"),
        (job().with_only(start_ns=10**12), Limits(), "begins after 1000 s"),
        (job().model_copy(update={"capture": True}), Limits(), "capture"),
    ],
)
def test_what_is_too_large_is_refused(asked: Job, limits: Limits, why: str) -> None:
    reason = refusal(asked, limits)
    assert reason is not None
    assert why in reason


def test_a_senders_buffer_has_the_same_bound() -> None:
    sound = job("quic")
    transport = sound.only.transport.model_copy(update={"send_buffer_bytes": 1 << 40})
    reason = refusal(sound.with_only(transport=transport), Limits())
    assert reason is not None
    assert "its buffers are" in reason


def test_content_is_counted_at_its_largest() -> None:
    transfers = job(size="3MB", transfers=2)
    assert workload_of(transfers).most_content_bytes(transfers) == 6_000_000
    session = golden("stream-tcp-bola")
    stream = session.only.workload
    assert isinstance(stream, wire.Stream)
    most_bytes = workload_of(session).most_content_bytes(session)
    assert most_bytes >= max(each.segment_bytes for each in stream.qualities)


def flow(**changed: object) -> Job:
    sound = golden("flow-poisson")
    assert isinstance(sound.only.workload, wire.Flow)
    workload = sound.only.workload.model_copy(update=changed)
    warm = sound.paths[0].model_copy(update={"neighbours": "warm"})
    return sound.with_only(workload=workload).model_copy(
        update={"capture": False, "paths": (warm,)}
    )


def test_a_flow_is_taken_but_for_a_table_that_nobody_would_fetch() -> None:
    assert refusal(flow(packet_table=False), Limits()) is None
    assert refusal(flow(packet_table=True, direction="down"), Limits()) is None
    reason = refusal(flow(packet_table=True, direction="up"), Limits())
    assert reason is not None
    assert "packet_table" in reason


def rr(**changed: object) -> Job:
    sound = golden("rr")
    assert isinstance(sound.only.workload, wire.RequestResponse)
    workload = sound.only.workload.model_copy(update=changed)
    return sound.with_only(workload=workload).model_copy(update={"capture": False})


def test_requests_are_taken_and_counted_with_their_responses() -> None:
    asked = rr(request_bytes=100, response_bytes=900, messages=10_000, duration_ns=None)
    assert refusal(asked, Limits()) is None
    assert workload_of(asked).most_content_bytes(asked) == 10_000_000
    reason = refusal(asked, Limits(content_bytes=9_999_999))
    assert reason is not None
    assert "10000000 bytes travel" in reason


def test_a_flow_is_as_large_as_its_arrivals_allow() -> None:
    poisson = flow(
        messages=None, duration_ns=10**12, message_bytes=1000,
        arrivals=wire.PoissonArrivals(kind="poisson", interval_ns=10**6),
    )  # fmt: skip
    assert 2_000_000_000 < workload_of(poisson).most_content_bytes(poisson) < 2_100_000_000
    counted = flow(messages=7, duration_ns=None, message_bytes=1000)
    assert workload_of(counted).most_content_bytes(counted) == 7_000
