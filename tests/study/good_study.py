"""A study file that is in order, and how it is read or refused."""

from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.study import Study, study_from_mapping

GOOD = """\
# Does QUIC's lead over TCP grow with packet loss?
title = "Bulk transfer under loss"
replicates = 3
[path]
rtt = "100ms"
rate = "50mbit"
queue = "1bdp"
loss = "0%"
[workload]
size = "10MB"
[factors]
transport = ["tcp", "quic", { kind = "tcp", congestion = "bbr", label = "tcp-bbr" }]
"path.loss" = ["0%", "1%", "5%"]
[[figure]]
x = "path.loss"
y = "completion_time_s"
series = "transport"
[[claim]]
text = "QUIC finishes sooner than TCP at 5 % loss"
metric = "completion_time_s"
less = { transport = "quic" }
than = { transport = "tcp" }
where = { path.loss = "5 %" }
"""


def write(folder: Path, text: str) -> Path:
    """Write a study file."""
    path = folder / "study.toml"
    path.write_text(text)
    return path


def study_of(**changes: Any) -> Study:
    """Validate a small study with some keys replaced; None removes one."""
    tables: dict[str, Any] = {
        "title": "t",
        "path": {"rtt": "100ms", "rate": "50mbit"},
        "workload": {"size": "10MB"},
        "factors": {"transport": ["tcp", "quic"]},
    }
    merged = {key: value for key, value in (tables | changes).items() if value is not None}
    return study_from_mapping(merged, file="s.toml")


def refusal(**changes: Any) -> str:
    """Give the one line that refuses a study."""
    with pytest.raises(StudyError) as caught:
        study_of(**changes)
    assert caught.value.exit_status == 2
    message = str(caught.value)
    assert message.startswith("s.toml: ")
    assert "\n" not in message
    return message
