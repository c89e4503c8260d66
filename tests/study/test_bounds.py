"""What is beyond the bounds of a study is refused by the name of the key that is."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.errors import StudyError
from netwarp.study import load_study
from netwarp.study.overrides import apply_overrides

HEAD = 'title = "t"\n[workload]\nsize = "1kB"\n'


def refusal(place: Path, text: str) -> StudyError:
    file = place / "study.toml"
    file.write_text(HEAD + text)
    with pytest.raises(StudyError) as refused:
        load_study(file)
    return refused.value


def test_a_number_beyond_64_bits_is_named_by_its_key(tmp_path: Path) -> None:
    error = refusal(tmp_path, f"[path.reorder]\ngap = {2**70}\n")
    assert (error.key, error.line) == ("path.reorder.gap", 5)


def test_a_number_that_python_does_not_read_is_named_by_its_key(tmp_path: Path) -> None:
    error = refusal(tmp_path, f"[path.reorder]\nratio = '1%'\ngap = {'9' * 5000}\n")
    assert (error.key, error.line) == ("path.reorder.gap", 6)


def test_what_is_nested_too_deeply_is_named_by_its_key(tmp_path: Path) -> None:
    error = refusal(tmp_path, f"[path.reorder]\ngap = {'[' * 40}1{']' * 40}\n")
    assert (error.key, error.line) == ("path.reorder.gap", 5)
    tables = refusal(tmp_path, f"[path.timeline.x{'.a' * 40}]\n")
    assert (tables.key, tables.line) == ("path.timeline.x", 4)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("rtt = 50ms", 'quote it: rtt = "50ms"'),
        ("loss = 1.5%  # per cent", 'quote it: loss = "1.5%"'),
        ("kind = tcp", 'quote it: kind = "tcp"'),
        ("rtt = [1,", "mend the syntax there"),
    ],
)
def test_what_lacks_quotes_is_told_so(tmp_path: Path, line: str, remedy: str) -> None:
    assert refusal(tmp_path, f"[path]\n{line}\n").remedy == remedy


LIMITED = """
import sys
from netwarp.errors import StudyError
from netwarp.study import load_study
try:
    load_study(sys.argv[1])
except StudyError as error:
    print(error)
"""


def test_a_dotted_key_of_any_length_takes_little_memory(tmp_path: Path) -> None:
    """The memory of `tomllib` grows with the square of the parts: 20 000 take more than 1.6 GB."""
    file = tmp_path / "study.toml"
    file.write_text(HEAD + "a" + ".a" * 20_000 + " = 1\n")
    most_bytes = 1 << 30
    answer = subprocess.run(
        [sys.executable, "-c", LIMITED, file],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes)),
        env={"OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "nested more than 32 deep" in answer.stdout, answer.stderr[-500:]


def test_a_long_key_of_the_command_line_is_refused() -> None:
    with pytest.raises(StudyError, match="nested more than 32 deep"):
        apply_overrides({}, ["path" + ".a" * 5000 + "=1"])
    with pytest.raises(StudyError, match="nested more than 32 deep"):
        apply_overrides({}, ["path={a" + ".a" * 5000 + " = 1}"])


def test_many_short_keys_and_long_texts_are_no_long_key(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    note = "a. b. " * 2000
    levels = ", ".join(f'"{number}.{number}%"' for number in range(2000))
    file.write_text(f'title = "t {note}"\n# {levels}\n[workload]\nsize = "1kB"\n')
    with pytest.raises(StudyError) as refused:
        load_study(file)
    assert "deep" not in refused.value.reason
