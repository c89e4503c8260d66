"""Measures the goodput that each transport reaches with this machine's CPU; the results are kept in
the cache.

In virtual time CPU work takes no time. These speeds are the rates up to which that is realistic.
They are measured with bulk transfers on the host's own kernel over a path without impairments, with
the same endpoint and packet sizes.
"""

from __future__ import annotations

import datetime
import json
import os
import statistics
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from netwarp.backends.cpus import cpu_model
from netwarp.backends.guest_files import endpoint_version
from netwarp.cache import cache_directory
from netwarp.execution import run_job
from netwarp.file_trees import temporary_directory
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_files import write_json
from netwarp.study import study_from_mapping
from netwarp.transports import ON_ONE_PATH

if TYPE_CHECKING:
    from netwarp.backends.native import NativeBackend

TRIAL_BYTES = 16_000_000
AIM_S = 0.4
REPEATS = 3
LARGEST_BYTES = 4_000_000_000
BUFFER_BYTES = 4 << 20


class Speed(TypedDict):
    """The goodput of each transport on a machine's own kernel."""

    measured: str
    """Date of the measurement, ISO 8601."""
    cpu: str
    kernel: str
    """Version of the host's kernel."""
    goodput_bit_s: dict[str, float]
    """Median goodput by transport, in bit/s of content."""
    not_measured: dict[str, str]
    """Reasons why transports were not measured, by transport."""


def measure_speed(
    backend: NativeBackend,
    *,
    environ: Mapping[str, str] = os.environ,
    on_transport: Callable[[str], None] = lambda _: None,
) -> Speed:
    """Measure every transport, which takes about a second each, and keep the result in the cache.

    Raises:
        BackendError: no path can be built on this host.
    """
    backend.check(jobs=1)
    goodput_bit_s: dict[str, float] = {}
    not_measured: dict[str, str] = {}
    for transport in ON_ONE_PATH:
        on_transport(transport)
        trial = _planned(backend, transport, TRIAL_BYTES)
        reason = backend.refuse(trial.job, trial.job_sha256)
        if reason is None:
            try:
                goodput_bit_s[transport] = _goodput_bit_s(backend, transport)
            except RuntimeError as error:
                reason = str(error)
        if reason is not None:
            not_measured[transport] = reason
    speed = Speed(
        measured=datetime.datetime.now(datetime.UTC).date().isoformat(),
        cpu=cpu_model(),
        kernel=backend.capabilities.kernel,
        goodput_bit_s=goodput_bit_s,
        not_measured=not_measured,
    )
    path = speed_file(endpoint_version(backend.endpoint)["sha256"], speed["cpu"], environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, speed)
    return speed


def stored_speed(
    endpoint_sha256: str, cpu: str, environ: Mapping[str, str] = os.environ
) -> Speed | None:
    """Return the goodput of each transport that was measured with this endpoint and CPU; None if it
    was not measured.
    """
    try:
        speed: Speed = json.loads(speed_file(endpoint_sha256, cpu, environ).read_text())
    except (OSError, ValueError):
        return None
    return speed if {"measured", "goodput_bit_s"} <= speed.keys() else None


def speed_file(endpoint_sha256: str, cpu: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the cache file for this endpoint and CPU."""
    key = sha256(f"{endpoint_sha256} {cpu}".encode()).hexdigest()[:16]
    return cache_directory(environ) / "speed" / f"{key}.json"


def _goodput_bit_s(backend: NativeBackend, transport: str) -> float:
    """Return the median goodput in bit/s of several transfers, which are large enough for it to be
    measured.
    """
    trial_bit_s = _transfer(backend, _planned(backend, transport, TRIAL_BYTES))
    size_bytes = min(max(TRIAL_BYTES, int(trial_bit_s / 8 * AIM_S)), LARGEST_BYTES)
    planned = _planned(backend, transport, size_bytes)
    return statistics.median(_transfer(backend, planned) for _ in range(REPEATS))


def _transfer(backend: NativeBackend, planned: PlannedRun) -> float:
    with temporary_directory("netwarp-speed-") as directory:
        outcome = run_job(backend, planned.job, directory)
    if outcome.failed:
        raise RuntimeError(outcome.status.reason)
    return outcome.metrics["goodput_bit_s"]


def _planned(backend: NativeBackend, transport: str, size_bytes: int) -> PlannedRun:
    """Return the planned run of a transfer with which a transport's goodput is measured."""
    # Without privileges the kernel may grant a socket less than this.
    buffer_bytes = min(BUFFER_BYTES, backend.capabilities.socket_buffer_bytes)
    study: dict[str, Any] = {
        "title": "what this machine carries",
        "replicates": 1,
        "path": {"mtu": 1500},
        "transport": {"buffer": f"{buffer_bytes}B"},
        "workload": {"kind": "bulk", "size": f"{size_bytes}B", "verify": False},
        "factors": {"transport": [transport]},
    }
    return plan_study(study_from_mapping(study))[0]
