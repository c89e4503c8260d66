"""docs/results.md: its Python runs, its table has every file and its text every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import support
from netwarp.evaluation import load
from netwarp.output.summary import summary
from netwarp.pipeline import write_outputs

GUIDE = (Path(__file__).parents[1] / "docs" / "results.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = support.write_run_directory(tmp_path_factory.mktemp("guide") / "out")
    write_outputs(load(path))
    return path


def test_every_file_of_a_run_directory_is_in_the_table(directory: Path) -> None:
    names = {path.name for path in directory.iterdir() if not path.name.startswith(".")}
    in_runs = {path.name for path in (directory / "runs").glob("*/*")}
    assert {name for name in names - {"runs"} | in_runs if f"`{name}`" not in GUIDE} == set()


def test_every_python_block_runs(directory: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(block.replace("DIR", str(directory)), {})  # noqa: S102 - our own documentation


def test_the_keys_of_the_summary_are_named(directory: Path) -> None:
    said = summary(load(directory))
    cell = next(cell for cell in said["cells"] if "comparison" in cell)
    keys = {*said, *cell, *cell["estimates"]["completion_time_s"], *said["claims"][0]}
    assert {"metric", "against", "verdict", "adjusted_p"} <= set(cell["comparison"])
    guide = GUIDE[GUIDE.index("### `summary.json`") : GUIDE.index("## Taking")]
    assert {"study", "cells", "claims", "factors", "samples", "text"} <= keys
    for key in ("study", "cells", "claims", "factors", "failed", "samples", "comparison", "text"):
        assert f"`{key}`" in guide
