"""What is refused before the models are imported is what they refuse, with the same words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BeforeValidator

import netwarp.fields
from netwarp.errors import StudyError
from netwarp.options.typed import READERS
from netwarp.path_properties import PATH_PROPERTIES
from netwarp.study.compare import study_from_compare
from netwarp.study.exec import study_from_exec
from netwarp.study.sections.properties import value_type
from netwarp.units import UnitError
from support import write_run_directory

UNIT = st.sampled_from(["", "ms", "s", "%", "mbit", "bdp", "kB", "p", "gemodel 1% ", "x", " %"])
NUMBER = st.sampled_from(["", "0", "1", "-1", "1.5", "120", "٣", "1e3", "9" * 30, "9" * 200, "nan"])
TYPES = sorted({row.type for row in PATH_PROPERTIES} & READERS.keys())


def _refusal(text: str, type_: str) -> str | None:
    try:
        READERS[type_](text)
    except UnitError as error:
        return f"{error.reason}; {error.remedy}"
    return None


def test_every_quantity_of_a_path_is_read_at_once() -> None:
    words = {
        "IpVersion",
        "ProfileName",
        "Distribution",
        "Mtu",
        "Neighbours",
        "Duplex",
        "DisciplineName",
        "AckFilter",
        "JitterOrder",
        "L4sQueue",
    }
    assert {row.type for row in PATH_PROPERTIES} == READERS.keys() - {"Ready"} | words


@settings(max_examples=300)
@given(st.builds(str.__add__, NUMBER, UNIT), st.sampled_from(TYPES))
@example("gemodel 5x", "LossField")
@example("", "DurationNs")
def test_the_models_refuse_what_is_refused_early(text: str, type_: str) -> None:
    (validator,) = (
        each
        for each in value_type(_row_of(type_)).__metadata__
        if isinstance(each, BeforeValidator)
    )
    early = _refusal(text, type_)
    try:
        validator.func(text)  # type: ignore[call-arg]
    except UnitError as error:
        late = f"{error.reason}; {error.remedy}"
        assert early == late or (early is None and text.startswith("gemodel"))
    else:
        assert early is None


def _row_of(type_: str) -> netwarp.path_properties.PathProperty:
    return next(row for row in PATH_PROPERTIES if row.type == type_)


@pytest.mark.parametrize(
    ("key", "level"), [("loss_up", "120%"), ("rtt", "5x"), ("rate", "0mbit"), ("queue", "0p")]
)
def test_an_option_refused_early_is_told_in_the_same_words(key: str, level: str) -> None:
    option = f"--{key.replace('_', '-')}"
    told = _run("compare", f"{option}=1%,{level}" if level.endswith("%") else f"{option}={level}")
    given: Any = {key: [level]}
    with pytest.raises(StudyError) as late:
        study_from_compare(transport=["tcp"], size=["1MB"], **given)
    assert told.stderr.splitlines()[0] == f"error: {late.value}"
    assert "pydantic" not in told.stderr.split()


@pytest.mark.parametrize("ready", ["prt:7000", "port:0", "line:(", "file:here", ""])
def test_how_a_server_is_ready_is_refused_early_in_the_same_words(ready: str) -> None:
    told = _run("exec", "--ready", ready, "--server", "true", "--", "true")
    with pytest.raises(StudyError) as late:
        study_from_exec(["true"], server="true", ready=ready)
    assert told.stderr.splitlines()[0] == f"error: {late.value}"
    assert "pydantic" not in told.stderr.split()


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "--seed", "٣"),
        ("compare", "--replicates", "３"),
        ("compare", "--replicates", "1_0"),
        ("run", "loss-sweep", "--seed", "0x3"),
        ("run", "loss-sweep", "--jobs", "²"),
        ("figure", "out", "٣"),
        ("figure", "out", "9" * 5000),
    ],
)
def test_a_whole_number_is_ascii_digits(arguments: tuple[str, ...]) -> None:
    told = _run(*arguments)
    line = told.stderr.splitlines()[0]
    assert line.startswith(f"error: netwarp {arguments[0]}: invalid value for ")
    assert "is not a whole number" in line
    assert "pydantic" not in told.stderr.split()


def test_help_comes_before_what_is_wrong() -> None:
    assert "Usage" in _run("compare", "--loss", "120%", "--help").stdout


def test_an_option_that_is_given_empty_is_refused() -> None:
    """Such as one whose shell variable is not set."""
    for option in ("--loss=", "--rtt=", "--size=", "--streams=", "--transport="):
        assert f"error: compare: {option[:-1]} = " in _run("compare", option).stderr


def test_a_file_that_is_given_empty_is_refused_as_a_file() -> None:
    told = _run("compare", "--file=").stderr
    assert told.startswith(
        "error: netwarp compare: invalid value for '--file': \"\" is no path; see"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("run", "loss-sweep", "--jobs", "0"), "'--jobs': 0 is not a whole number of at least 1"),
        (("verify", "out", "--runs", "-3"), "'--runs': -3 is not a whole number of at least 1"),
    ],
)
def test_a_number_out_of_bounds_is_refused_in_plain_words(
    arguments: tuple[str, ...], reason: str
) -> None:
    told = _run(*arguments).stderr.splitlines()[0]
    assert told.startswith(f"error: netwarp {arguments[0]}: invalid value for {reason}; see")


def test_an_option_without_its_argument_is_refused_by_its_command() -> None:
    told = _run("compare", "--loss").stderr.splitlines()[0]
    assert told.startswith("error: netwarp compare: option '--loss' requires an argument; see")


def test_nothing_is_imported_to_draw_what_is_drawn(tmp_path: Path) -> None:
    """The same command again, with nothing to run, prints its table and ends."""
    directory = write_run_directory(tmp_path / "out")
    program = (
        "import sys\n"
        "from netwarp.evaluation import load\n"
        "from netwarp.pipeline import write_outputs\n"
        "from pathlib import Path\n"
        "write_outputs(load(Path(sys.argv[1])))\n"
        "print(*sys.modules)"
    )
    for expected in (True, False):  # the first draws, the second finds it drawn
        done = subprocess.run(
            [sys.executable, "-c", program, directory], capture_output=True, text=True, check=True
        )
        assert ("polars" in done.stdout.split()) is expected
        assert ("jinja2" in done.stdout.split()) is expected


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program; after its own words it says on standard error what it has imported."""
    program = (
        "import sys\n"
        f"sys.argv = ['netwarp', *{arguments!r}]\n"
        "from netwarp.cli.program import run_program\n"
        "status = run_program()\n"
        "print(*sys.modules, file=sys.stderr)\n"
        "sys.exit(status)"
    )
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
