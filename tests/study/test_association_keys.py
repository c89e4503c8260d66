"""SCTP associations that migrate: overlaps that leave them no address are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.study import load_study, study_from_mapping
from netwarp.study.cells.association import exchange_ns
from support import job_of, tables

MS = 1_000_000
MIGRATES = {"kind": "sctp", "reconnect": "migrate", "label": "sctp-migrate"}
# A round trip of 100 ms; behind a BDP in 413 frames of 1514 bytes, and two more, 100.5 ms.
LEAST_MS = 201


def moving(**handovers: Any) -> dict[str, Any]:
    """Give a path on which a client moves."""
    return {"rtt": "100ms", "rate": "50mbit", "handovers": {"every": "2s", "count": 3, **handovers}}


def refusal(**path: Any) -> str:
    with pytest.raises(StudyError) as told:
        job_of(MIGRATES, path=path)
    return str(told.value)


def test_an_overlap_has_room_for_a_question_and_its_answer() -> None:
    job_of(MIGRATES, path=moving(overlap=f"{LEAST_MS}ms"))
    told = refusal(**moving(overlap=f"{LEAST_MS - 1}ms"))
    assert 'path.handovers.overlap = "200ms": an SCTP association keeps no address' in told
    assert f"overlap by {LEAST_MS}ms or more" in told


@pytest.mark.parametrize("how", [{}, {"gap": "300ms"}])
def test_without_an_overlap_nothing_is_known(how: dict[str, str]) -> None:
    told = refusal(**moving(**how))
    assert "path.handovers.overlap: an SCTP association keeps no address" in told


def test_a_single_handover_is_named() -> None:
    entries = [
        {"at": f"{time}s", "change": "handover", "overlap": overlap}
        for time, overlap in ((1, "1s"), (4, "100ms"))
    ]
    told = refusal(rtt="100ms", rate="50mbit", timeline=entries)
    assert 'path.timeline.1.overlap = "100ms": an SCTP association keeps no address' in told


def test_a_client_that_is_back_too_soon_is_refused() -> None:
    """A deletion may wait for what went before, and has its own question and answer."""
    overlap_ms = LEAST_MS
    job_of(MIGRATES, path=moving(overlap=f"{overlap_ms}ms", every=f"{3 * LEAST_MS}ms"))
    told = refusal(**moving(overlap=f"{overlap_ms}ms", every=f"{3 * LEAST_MS - 1}ms"))
    assert 'path.handovers.every = "602ms": the client is back on path 1 before' in told
    assert "leave 402ms or more" in told


@pytest.mark.parametrize(
    "transport",
    ["sctp", "tcp", {**MIGRATES, "kind": "mptcp"}, {**MIGRATES, "kind": "quic"}],
)
def test_only_associations_that_migrate_are_asked_for_it(transport: Any) -> None:
    job_of(transport, path=moving())


def test_a_client_that_stays_loses_nothing() -> None:
    job_of(MIGRATES, path=moving(count=0))


def test_delays_queues_and_rates_count() -> None:
    def least_ms(**path: Any) -> float:
        study = study_from_mapping(tables(MIGRATES, path={**moving(overlap="1s"), **path}))
        return exchange_ns(study.cells[0].sections, 0) / MS

    assert least_ms() == LEAST_MS
    assert least_ms(jitter="10ms") == LEAST_MS + 2 * 4 * 10
    assert least_ms(queue="1000p") == 343
    assert least_ms(rate="unlimited") == 100


def test_the_line_is_told(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'title = "x"\n'
        '[path]\nrtt = "100ms"\nrate = "50mbit"\n'
        '[path.handovers]\nevery = "2s"\ncount = 3\noverlap = "200ms"\n'
        '[workload]\nkind = "bulk"\nsize = "1MB"\n'
        '[factors]\ntransport = [{ kind = "sctp", reconnect = "migrate", label = "x" }]\n'
    )
    with pytest.raises(StudyError, match=r'study\.toml:8: path\.handovers\.overlap = "200ms": '):
        load_study(file)
