"""What the endpoint would refuse, or could not carry out, is refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.study import study_from_mapping
from support import job_of, tables


def refusal(transport: Any, **sections: Any) -> str:
    with pytest.raises(StudyError) as told:
        study_from_mapping(tables(transport, **sections), file="s.toml")
    return str(told.value)


def test_messages_fit_the_send_buffer() -> None:
    """`net/sctp/socket.c` takes a message whole or not at all."""
    sctp = {"kind": "sctp", "label": "sctp"}
    told = refusal(sctp | {"max_message": "32MB", "buffer": "16MB"})
    key = "factors.transport.max_message"
    assert told.startswith(f's.toml: {key} = "32MB": a send buffer of 16000000 bytes')
    assert "of 8" in refusal(sctp | {"max_message": "8B"})
    assert job_of(sctp | {"max_message": "9B"}).only.transport.sctp.max_message_bytes == 9
    fits = job_of(sctp | {"max_message": "16MB", "buffer": "16MB"})
    assert fits.only.transport.sctp.max_message_bytes == fits.only.transport.buffer_bytes


def test_streams_are_no_more_than_the_parts_that_are_sent_at_once() -> None:
    many = {"kind": "sctp", "streams": 200, "label": "sctp"}
    assert "at most 100" in refusal(many)
    assert job_of(many, workload={"size": "1MB", "chunks": 100}).only.transport.sctp.streams == 200
    assert job_of(many, workload={"kind": "stream"}).only.transport.sctp.streams == 200


def test_what_happens_later_than_any_run_does_not_happen() -> None:
    """The times of 10 000 outages a thousand years apart are beyond 64 bits."""
    outages = {"every": "2000000h", "length": "1s", "count": 10_000}
    assert job_of("tcp", path={"rtt": "1ms", "outages": outages}).timeline.events == ()


def test_draws_and_buffers_stay_within_64_bits() -> None:
    redraw = {"period": "1s", "deviation": "1000000h"}
    assert "netem" in refusal("tcp", path={"rtt": "1ms", "redraw": redraw})
    endless = {"kind": "stream", "segment": "1000000h", "watch": "1s"}
    assert "longer than any run" in refusal("tcp", workload=endless)
