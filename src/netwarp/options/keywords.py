"""The options of the library's calls as types, written by scripts/generate_options.py.

`backend` and `executor` are not here: calls take opened ones as well as names.
"""

from collections.abc import Sequence
from os import PathLike
from typing import TypedDict

Levels = str | int | float | Sequence[str | int | float]
"""One level, or several, which make a factor."""


class PathOptions(TypedDict, total=False):
    """Options that define the path, by name; see the table of options."""

    profile: Levels
    rtt: Levels
    delay: Levels
    delay_down: Levels
    delay_up: Levels
    jitter: Levels
    jitter_down: Levels
    jitter_up: Levels
    jitter_order: Levels
    distribution: Levels
    jitter_correlation: Levels
    aggregate: Levels
    aggregate_down: Levels
    aggregate_up: Levels
    link_loss: Levels
    link_loss_down: Levels
    link_loss_up: Levels
    link_repair: Levels
    link_repair_down: Levels
    link_repair_up: Levels
    loss: Levels
    loss_down: Levels
    loss_up: Levels
    loss_correlation: Levels
    rate: Levels
    rate_down: Levels
    rate_up: Levels
    queue: Levels
    queue_down: Levels
    queue_up: Levels
    policer: Levels
    policer_down: Levels
    policer_up: Levels
    discipline: Levels
    discipline_down: Levels
    discipline_up: Levels
    l4s_queue: Levels
    ack_filter: Levels
    ip: Levels
    mtu: Levels
    neighbours: Levels
    duplex: Levels
    reorder: Levels
    reorder_down: Levels
    reorder_up: Levels
    duplicate: Levels
    duplicate_down: Levels
    duplicate_up: Levels
    corrupt: Levels
    corrupt_down: Levels
    corrupt_up: Levels


class CompareStudyOptions(PathOptions, total=False):
    """Options of `compare` that define the study, by name; see the table of options."""

    transport: Levels
    congestion: Levels
    file: str | PathLike[str] | None
    size: Levels
    chunks: Levels
    dial: Levels
    streams: Levels
    resume: Levels
    page: Levels
    http: Levels
    client: Levels
    server: Levels
    stream: Levels
    watch: Levels
    requests: Levels
    flow: Levels
    interval: Levels
    payload: Levels
    duration: Levels
    arrivals: Levels
    rtts: Levels
    shape: Levels
    stop: str | None
    direction: str | None
    verify: bool
    kernel: Levels
    seed: int | None
    replicates: int | None
    set: str | Sequence[str]
    metric: Levels
    against: str | None
    relevant: str | None


class CompareOptions(CompareStudyOptions, total=False):
    """Options of `compare`, by name; see the table of options."""

    out: str | PathLike[str] | None
    jobs: int | None
    filter: str | Sequence[str]
    expect: str | Sequence[str]
    precision: str | None
    decide: bool
    max_time: str | None


class ExecStudyOptions(PathOptions, total=False):
    """Options of `exec` that define the study, by name; see the table of options."""

    server: str | None
    ready: str | None
    env: str | Sequence[str]
    memory: str | None
    start_date: str | None
    timeout: int | None
    shared: bool
    keep: bool
    congestion: str | None
    kernel: str | None
    seed: int | None
    replicates: int | None
    set: str | Sequence[str]


class ExecOptions(ExecStudyOptions, total=False):
    """Options of `exec`, by name; see the table of options."""

    out: str | PathLike[str] | None
    expect: str | Sequence[str]


class RunOptions(TypedDict, total=False):
    """Options of `run`, by name; see the table of options."""

    server: str | None
    kernel: Levels
    out: str | PathLike[str] | None
    jobs: int | None
    seed: int | None
    replicates: int | None
    set: str | Sequence[str]
    filter: str | Sequence[str]
    quick: bool
    metric: Levels
    against: str | None
    relevant: str | None
    expect: str | Sequence[str]
    precision: str | None
    decide: bool
    max_time: str | None
