"""What of a command no kernel would start is refused where it stands."""

from __future__ import annotations

import pytest

from netwarp.errors import StudyError
from netwarp.study import study_from_mapping

PROGRAMS = {"kind": "command", "server": "true", "client": "true"}


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ([], "neither a text for the shell nor a list of a program and its arguments"),
        ([""], "neither a text for the shell nor a list of a program and its arguments"),
        (" ", "neither a text for the shell nor a list of a program and its arguments"),
        (["curl", 5], "neither a text for the shell nor a list of a program and its arguments"),
        (["curl", "a\0b"], "no program is given a NUL; drop it"),
        ("curl \0", "no program is given a NUL; drop it"),
    ],
)
def test_a_command_that_nobody_could_start_is_refused(command: object, part: str) -> None:
    tables = {"title": "t", "path": {"rtt": "20ms"}, "workload": PROGRAMS | {"client": command}}
    with pytest.raises(StudyError) as refused:
        study_from_mapping(tables)
    assert part in str(refused.value)
    assert refused.value.key == "workload.client"


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("(", "'(' is not a regular expression: missing )"),
        ("up(?=:)", "'(?=' in 'up(?=:)': look-around and back-references cannot be had"),
        ("up(?<!not up)", "look-around and back-references cannot be had"),
        (r"(a+)\1", "look-around and back-references cannot be had"),
        (r"\\\1", "not a regular expression: invalid group reference"),
    ],
)
def test_a_line_that_the_endpoint_could_not_look_for_is_refused(pattern: str, part: str) -> None:
    tables = {"title": "t", "path": {"rtt": "20ms"}, "workload": PROGRAMS}
    with pytest.raises(StudyError) as refused:
        study_from_mapping(tables | {"workload": PROGRAMS | {"ready": f"line:{pattern}"}})
    assert part in str(refused.value)
    assert refused.value.key == "workload.ready"


@pytest.mark.parametrize("pattern", [r"port (\d+)", r"\\1", r"\(?=", "(?P<port>[0-9]+)", "(?i:UP)"])
def test_a_line_that_can_be_looked_for_is_accepted(pattern: str) -> None:
    tables = {"title": "t", "path": {"rtt": "20ms"}}
    study_from_mapping(tables | {"workload": PROGRAMS | {"ready": f"line:{pattern}"}})
