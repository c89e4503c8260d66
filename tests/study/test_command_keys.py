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
