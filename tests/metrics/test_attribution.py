"""Where the time of a run went: closed forms by hand, and what holds for every run on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.measure.run_records import RunRecords
from netwarp.metrics.attribution import CAUSE_TEXTS
from netwarp.metrics.causes import Attribution, attribution
from netwarp.metrics.registry import METRICS
from netwarp.wire import (
    Calibration,
    Connection,
    ConnectionSamples,
    GaveUp,
    Job,
    QueueSamples,
    Record,
    Transfer,
    job_from_json,
    read_records,
)
from netwarp.workloads import workload_of

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000
LENGTH_MS = 1000
"""Time from the first byte's arrival to the last one's in the runs below."""


def job(kind: str = "tcp", rate_bit_s: int = 8_000_000, nodelay: bool = True) -> Job:
    """50 ms each way, and 8 Mbit/s down: a byte each microsecond."""
    read = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    down = read.paths[0].down.model_copy(update={"rate_bit_s": rate_bit_s, "delay_ns": 50 * MS})
    up = read.paths[0].up.model_copy(update={"delay_ns": 50 * MS})
    path = read.paths[0].model_copy(update={"down": down, "up": up})
    transport = read.only.transport.model_copy(update={"kind": kind, "nodelay": nodelay})
    return read.with_only(transport=transport).model_copy(update={"paths": (path,)})


def transfer(
    sent_bytes: int = 0, connect_ms: int = 100, asked_ms: int = 50, **columns: tuple[object, ...]
) -> list[Record]:
    """Return the records of a transfer whose first byte arrives 50 ms after it was sent, and the
    last one a second later; the sender was sampled in its middle of it all and at its ends.

    Args:
        sent_bytes: what the bottleneck sent in this second, evenly.
        connect_ms: how long the client connected.
        asked_ms: how long after that the sender had its first byte to send.
        columns: of the sender's samples, at 0, 500 and 1000 ms after its first byte.
    """
    began_ms = connect_ms + asked_ms
    times = tuple((began_ms + each) * MS for each in (0, 500, 1000))
    arrived = tuple((began_ms + 50 + each) * MS for each in (0, 500, 1000))
    whole = {
        "at_ns": times, "cwnd_bytes": (14_000,) * 3, "ssthresh_bytes": (7000,) * 3,
        "unacked_bytes": (14_000,) * 3, "acked_bytes": (0, 500_000, 1_000_000),
        "busy_ns": tuple(t - times[0] for t in times),
        "rwnd_limited_ns": (0,) * 3, "sndbuf_limited_ns": (0,) * 3, "has_sent_all": (False,) * 3,
        "retrans_packets": (0,) * 3, "rtt_ns": (100 * MS,) * 3,
    }  # fmt: skip
    made: list[Record] = []
    for each in read_records(GOLDEN / "records-bulk-quic.jsonl"):
        if isinstance(each, ConnectionSamples):
            made.append(each.model_copy(update=whole | columns))
        elif isinstance(each, QueueSamples) and each.direction == "down":
            sent = (0, sent_bytes // 2, sent_bytes)
            made.append(each.model_copy(update={"at_ns": arrived, "sent_bytes": sent}))
        elif isinstance(each, Calibration):
            made.append(each.model_copy(update={"delivered_bytes": sent_bytes}))
        elif isinstance(each, Transfer):
            first_ns = times[0] if each.side == "server" else arrived[0]
            ends = {"first_byte_ns": first_ns, "last_byte_ns": arrived[-1]}
            made.append(each.model_copy(update=ends))
        elif isinstance(each, Connection):
            stats = each.stats.model_copy(update={"retransmitted_packets": 0})
            settings = each.settings.model_copy(update={"paced": False})
            ready = {"start_ns": 0, "connected_ns": connect_ms * MS}
            made.append(each.model_copy(update={**ready, "stats": stats, "settings": settings}))
    return made


def found(records: list[Record], of: Job | None = None) -> Attribution:
    asked = of or job()
    made = attribution(RunRecords(asked, records, workload_of(asked)))
    assert made is not None
    return made


def told_ms(made: Attribution) -> dict[str, float]:
    """Return the time of each cause that has any, in ms."""
    return {cause: ns / MS for cause, ns in made.spent_ns.items() if ns}


WAYS = {"connecting": 100, "propagation": 100}


@pytest.mark.parametrize(
    ("records", "sending"),
    [
        # A link of a byte each microsecond needs a second for a million bytes.
        (transfer(1_000_000), {"link": 1000}),
        (transfer(250_000), {"link": 250, "avoidance": 750}),
        (transfer(250_000, ssthresh_bytes=(0, 0, 0)), {"link": 250, "slow_start": 750}),
        (transfer(250_000, cwnd_bytes=(6000,) * 3), {"link": 250, "slow_start": 750}),
        (
            transfer(100_000, rwnd_limited_ns=(0, 500 * MS, 1000 * MS)),
            {"link": 100, "rwnd": 900},
        ),
        (
            transfer(100_000, sndbuf_limited_ns=(0, 500 * MS, 500 * MS)),
            {"link": 100, "sndbuf": 450, "avoidance": 450},
        ),
        (transfer(0, busy_ns=(0, 100 * MS, 600 * MS)), {"application": 400, "avoidance": 600}),
        (transfer(0, recovering=(False, True, False)), {"avoidance": 500, "recovery": 500}),
        # Two expiries 400 ms apart: 200 ms and the round-trip time until the first.
        (
            transfer(0, timeout_ns=(0, 0, 400 * MS), timeout_recoveries=(0, 1, 1)),
            {"timeout": 700, "avoidance": 300},
        ),
    ],
)
def test_each_cause_has_the_time_of_its_closed_form(
    records: list[Record], sending: dict[str, float]
) -> None:
    assert told_ms(found(records)) == pytest.approx(WAYS | sending)


def test_a_handshake_that_queues_waits_for_as_long_as_it_takes_longer() -> None:
    made = told_ms(found(transfer(1_000_000, connect_ms=137)))
    assert made == pytest.approx({"connecting": 100, "queue": 37, "propagation": 100, "link": 1000})


def test_a_syn_that_was_lost_costs_its_timer() -> None:
    made = told_ms(found(transfer(1_000_000, connect_ms=1100)))
    assert (made["connecting"], made["timeout"]) == pytest.approx((100, 1000))


def test_a_sender_that_begins_late_is_waited_for() -> None:
    assert told_ms(found(transfer(1_000_000, asked_ms=350)))["application"] == pytest.approx(300)


def test_the_wait_for_a_timer_that_no_sample_sees_fire_is_a_time_out() -> None:
    """All is sent by 500 ms, and nothing changes any more: a round trip later it waits."""
    records = waiting()
    alone = {"avoidance": 250, "recovery": 350, "timeout": 400}
    assert told_ms(found(records)) == pytest.approx(WAYS | alone)


def test_a_connection_that_is_gone_has_no_part_in_the_wait_of_another() -> None:
    """The other one was sampled at 0 ms only: at 500 ms it was gone."""
    records = waiting()
    (waits,) = (each for each in records if isinstance(each, ConnectionSamples))
    columns = {name: column[:1] for name, column in waits if isinstance(column, tuple)}
    made = told_ms(found([*records, waits.model_copy(update=columns)]))
    both = {"avoidance": 375, "recovery": 225, "timeout": 400}
    assert made == pytest.approx(WAYS | both)


def waiting() -> list[Record]:
    """Return a transfer whose last bytes are lost, and sent again after the last sample."""
    return transfer(
        0, acked_bytes=(100_000, 500_000, 500_000), has_sent_all=(False, True, True),
        recovering=(False, True, True),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["sctp", "quic"])
def test_what_a_stack_does_not_report_is_shared_out_among_no_others(kind: str) -> None:
    made = told_ms(found(transfer(0, retrans_packets=(0, 0, 7)), job(kind)))
    assert made["not_told"] == pytest.approx(500)
    assert "not_told" not in told_ms(found(transfer(0, retrans_packets=(0, 0, 7)), job("tcp")))


@pytest.mark.parametrize("kind", ["sctp", "quic"])
def test_a_recovery_that_is_not_reported_takes_a_round_trip_at_most(kind: str) -> None:
    made = told_ms(found(transfer(0, retrans_packets=(0, 0, 2)), job(kind)))
    assert made["not_told"] == pytest.approx(200)
    unknown = transfer(0, retrans_packets=(0, 0, 2), rtt_ns=(0, 0, 0))
    assert told_ms(found(unknown, job(kind)))["not_told"] == pytest.approx(500)


def test_room_in_the_window_is_pacing_where_it_paces_and_untold_where_nagle_waits() -> None:
    roomy = transfer(0, unacked_bytes=(0, 0, 0))
    paced: list[Record] = [
        each.model_copy(update={"settings": each.settings.model_copy(update={"paced": True})})
        if isinstance(each, Connection)
        else each
        for each in roomy
    ]
    assert told_ms(found(paced))["pacing"] == pytest.approx(1000)
    assert told_ms(found(roomy, job(nodelay=False)))["not_told"] == pytest.approx(1000)


def test_connections_dialled_one_by_one_are_the_cause_and_not_the_application() -> None:
    records = transfer(1_000_000, asked_ms=350)
    (first,) = (each for each in records if isinstance(each, Connection) and each.side == "client")
    later = [
        first.model_copy(
            update={"connection": n, "start_ns": n * 100 * MS, "connected_ns": (n + 1) * 100 * MS}
        )
        for n in (1, 2, 3)
    ]
    made = told_ms(found([*records, *later]))
    assert (made["connecting"], made.get("application", 0)) == pytest.approx((400, 0))
    of_tls = told_ms(found([*records, *later], job("quic")))
    assert (of_tls["handshake"], of_tls.get("application", 0)) == pytest.approx((400, 0))


def mirrored(records: list[Record]) -> list[Record]:
    """Return records of an upload in place of those of a download."""
    other = {"server": "client", "client": "server", "down": "up", "up": "down"}
    made = []
    for each in records:
        swapped = {
            name: other[getattr(each, name)]
            for name in ("side", "direction")
            if getattr(each, name, None) in other
        }
        made.append(each.model_copy(update=swapped))
    return made


def test_connections_that_an_uploader_dials_one_by_one_are_not_the_application() -> None:
    download = job()
    path = download.paths[0]
    swapped = path.model_copy(update={"down": path.up, "up": path.down})
    workload = download.only.workload.model_copy(update={"direction": "up"})
    upload = download.with_only(workload=workload).model_copy(update={"paths": (swapped,)})
    records = mirrored(transfer(1_000_000, asked_ms=300))
    (first,) = (each for each in records if isinstance(each, Connection) and each.side == "client")
    later = [
        first.model_copy(
            update={"connection": n, "start_ns": n * 100 * MS, "connected_ns": (n + 1) * 100 * MS}
        )
        for n in (1, 2, 3)
    ]
    made = told_ms(found([*records, *later], upload))
    assert (made["connecting"], made.get("application", 0)) == pytest.approx((400, 0))


def test_a_server_whose_first_end_has_no_record_does_not_lengthen_the_handshake() -> None:
    records = [
        each.model_copy(update={"start_ns": 900 * MS})
        if isinstance(each, Connection) and each.side == "server"
        else each
        for each in transfer(1_000_000, connect_ms=200)
    ]
    made = told_ms(found(records, job("tls")))
    assert (made["connecting"], made["handshake"]) == pytest.approx((100, 100))


def test_a_sender_that_nothing_counts_was_busy_until_its_last_byte() -> None:
    ended = transfer(
        0, unacked_bytes=(14_000, 14_000, 0), busy_ns=(0, 500 * MS, 500 * MS),
        has_sent_all=(False, False, True),
    )  # fmt: skip
    assert "application" not in told_ms(found(ended, job("sctp")))
    assert told_ms(found(ended, job("tcp")))["application"] == pytest.approx(500)


def test_a_sender_without_samples_is_not_told() -> None:
    unsampled: list[Record] = [
        each for each in transfer(250_000) if not isinstance(each, ConnectionSamples)
    ]
    assert told_ms(found(unsampled)) == pytest.approx(WAYS | {"link": 250, "not_told": 750})


def test_a_run_whose_bottleneck_was_not_sampled_has_no_attribution() -> None:
    unsampled: list[Record] = [each for each in transfer() if not isinstance(each, QueueSamples)]
    assert attribution(RunRecords(job(), unsampled, workload_of(job()))) is None


def pairs() -> list[str]:
    """Name the golden jobs of which there are records, with a single workload."""
    found = (path.stem.removeprefix("records-") for path in GOLDEN.glob("records-*.jsonl"))
    return sorted(name for name in found if (GOLDEN / f"job-{name}.json").exists())


@pytest.mark.parametrize("name", pairs())
def test_stretches_follow_one_another_and_add_up_to_the_nanosecond(name: str) -> None:
    asked = job_from_json((GOLDEN / f"job-{name}.json").read_text())
    if asked.names_workloads:
        pytest.skip("it has several workloads")
    run = RunRecords(asked, read_records(GOLDEN / f"records-{name}.jsonl"), workload_of(asked))
    made = attribution(run)
    if made is None:
        pytest.skip("its records do not tell")
    assert (made.parts[0].start_ns, made.parts[-1].end_ns) == run.span_ns
    for before, after in zip(made.parts, made.parts[1:], strict=False):
        assert before.end_ns == after.start_ns
    for part in made.parts:
        assert sum(part.spent_ns.values()) == part.end_ns - part.start_ns > 0
        assert min(part.spent_ns.values()) > 0
    assert sum(made.shares.values()) == pytest.approx(1)


def test_every_cause_has_a_text_a_colour_and_a_metric() -> None:
    assert len({text.colour for text in CAUSE_TEXTS.values()}) == len(CAUSE_TEXTS)
    assert {f"time_in_{cause}_ratio" for cause in CAUSE_TEXTS} < set(METRICS)


def test_a_transfer_that_was_not_completed_has_no_causes() -> None:
    records = transfer(sent_bytes=1_000_000)
    assert attribution(RunRecords(job(), records, workload_of(job()))) is not None
    gave_up = GaveUp(record="gave_up", side="client", at_ns=2000 * MS, cause="send: timed out")
    without_receiver = [
        each for each in records if not (isinstance(each, Transfer) and each.side == "client")
    ]
    for cut in ([*records, gave_up], without_receiver):
        assert attribution(RunRecords(job(), cut, workload_of(job()))) is None


def test_a_sender_that_was_aborted_begins_when_it_is_asked() -> None:
    whole = transfer(sent_bytes=1_000_000)
    bulk = job().only.workload.model_copy(update={"duration_ns": 5000 * MS})
    aborted = job().with_only(workload=bulk)
    records = [each for each in whole if not (isinstance(each, Transfer) and each.side == "server")]
    found = attribution(RunRecords(aborted, records, workload_of(aborted)))
    expected = attribution(RunRecords(job(), whole, workload_of(job())))
    assert found is not None
    assert expected is not None
    assert found.spent_ns["propagation"] == expected.spent_ns["propagation"] == 100 * MS
