"""The section ``[workload]`` with ``kind = "rr"``: requests, each answered by a response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import KeyValueError, SizeBytes
from netwarp.wire import Direction
from netwarp.wire.flow import LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES
from netwarp.workloads.arrivals import ArrivalsSection


class RequestResponseSection(ArrivalsSection):
    """Requests at a given rate, each answered by a response: RPCs, name look-ups, a ping. A request
    is sent when it is due, whether or not earlier ones have been answered. Its latency counts from
    when it was due, so that the time for which it waits behind late ones is included (there is no
    coordinated omission). Over `udp` requests and responses are datagrams, which may be lost; other
    transports carry them in their order on one stream.
    """

    compared_by: ClassVar[str] = "rr_latency_s_p95"
    compared: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "interval": ("20ms",), "duration": ("10s",),
    }  # fmt: skip
    takes_losses: ClassVar[bool] = True
    follows_client: ClassVar[bool] = False
    uses_stream_both_ways: ClassVar[bool] = True

    kind: Literal["rr"]
    """Requests, each sent when it is due, and their responses."""
    request_bytes: SizeBytes = Field(default=64, alias="request")
    """Size of a request, 24 to 65507 bytes."""
    response_bytes: SizeBytes = Field(default=64, alias="response")
    """Size of a response, 24 to 65507 bytes."""

    @property
    def content_direction(self) -> Direction:
        """Direction of the larger of request and response."""
        return "up" if self.request_bytes > self.response_bytes else "down"

    @property
    def datagrams_bytes(self) -> Mapping[str, int]:
        """Sizes in bytes of a request and of a response."""
        return {"request": self.request_bytes, "response": self.response_bytes}

    def job(self, parts: int) -> wire.RequestResponse:
        """Return the workload part of the job."""
        return wire.RequestResponse(
            kind="rr",
            seed=0,
            request_bytes=self.request_bytes,
            response_bytes=self.response_bytes,
            arrivals=self.wire_arrivals(),
            messages=self.count,
            duration_ns=self.duration_ns,
        )

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        for key, size in (("request", self.request_bytes), ("response", self.response_bytes)):
            if not LEAST_MESSAGE_BYTES <= size <= MOST_MESSAGE_BYTES:
                reason = f"a {key} has {LEAST_MESSAGE_BYTES} to {MOST_MESSAGE_BYTES} bytes"
                raise KeyValueError(key, size, reason, 'such as "64B"')
        return self
