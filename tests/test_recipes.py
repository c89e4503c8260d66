"""The recipes of CONTRIBUTING.md are followed step by step in a copy, where what they add works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from support import write_run_directory

REPOSITORY = Path(__file__).parents[1]
STEP = re.compile(
    r"^ *(?:In `(?P<file>[^`]+)`, below `(?P<line>[^`]+)`(?P<replaces>, in place of the next line)?"
    r"|Anew, `(?P<anew>[^`]+)`):\n\n(?P<indent> *)```\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
PLANNED = """
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
tables = {"title": "t", "path": {"rtt": "10ms"}, "transport": {"kind": "tcp"},
          "workload": {"size": "1kB"}}
def job(**changed):
    raw = {key: {**value, **changed.get(key, {})} if isinstance(value, dict) else value
           for key, value in tables.items()}
    return plan_study(study_from_mapping(raw))[0].job
"""
HELP = """
from netwarp.cli.commands import load_command
load_command("compare").main(["--help-all"], standalone_mode=False)
"""
USES = {
    "a transport": (
        PLANNED + "print(job(transport={'kind': 'dccp'}).only.transport.congestion)\n" + HELP,
        ["tfrc", "Transports to compare: dccp, tcp"],
    ),
    "a metric": (
        "import sys, netwarp\n"
        "run = netwarp.open(sys.argv[1])\n"
        "print(run.frame()['offered_frames'].mean() == run.frame()['wire_packets_total'].mean())\n",
        ["True"],
    ),
    "a path property": (
        PLANNED + "print(job(path={'twice': '3%'}).paths[0].down.duplicate_ratio)\n" + HELP,
        ["0.03", "--twice-up"],
    ),
    "a path profile": (
        PLANNED
        + "tables['path'] = {'profile': 'pigeon', 'queue': '1MB'}\n"
        + "print(job().paths[0].down.delay_ns)\n"
        + HELP,
        ["1000000000", "pigeon"],
    ),
    "an option of a command": (
        "import netwarp\n"
        "print(netwarp.study_from_compare(transport='tcp', ecn='true').raw['transport'])\n"
        "print('ecn: Whether' in netwarp.compare.__doc__)\n" + HELP,
        ["{'ecn': 'true'}", "True", "--ecn LIST"],
    ),
    "a backend": (
        "import sys, netwarp\n"
        "study = netwarp.open(sys.argv[1]).study\n"
        "print(len(netwarp.run(study, f'again:{sys.argv[1]}', out='out').failed))\n",
        ["1"],
    ),
    "a key of a job, or a record": (
        PLANNED
        + "from netwarp.wire import Path, job_to_json\n"
        + "print(Path.model_fields['colour'].default, 'colour' in job_to_json(job()))\n",
        ["False False"],
    ),
}
"""What uses that which a recipe adds, and what it prints."""


def recipes() -> dict[str, str]:
    """Give the text of each recipe by what it adds."""
    page = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {
        part.partition("\n")[0]: part for part in re.split(r"^## Adding ", page, flags=re.M)[1:]
    }


def test_every_recipe_with_steps_is_followed() -> None:
    assert {name for name, text in recipes().items() if STEP.search(text)} == set(USES)
    for name, text in recipes().items():
        assert text.count("```") == 2 * len(STEP.findall(text)), name


@pytest.mark.parametrize("name", USES)
def test_what_a_recipe_adds_works(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    left_out = ignore_patterns("__pycache__", "target")
    for part in ("src", "scripts", "endpoint"):
        copytree(REPOSITORY / part, copy / part, ignore=left_out)
    program, printed = USES[name]
    recorded = write_run_directory(tmp_path / "recorded")
    assert _missing(copy, program, recorded, printed), "it is there before the recipe"
    for step in STEP.finditer(recipes()[name]):
        _follow(step, copy)
    missing = _missing(copy, program, recorded, printed)
    assert not missing, missing
    # Of what a job has, the endpoint's types are generated.
    made = _run(copy, [str(copy / "scripts/generate_wire.py")])
    assert made.returncode == 0, made.stderr
    types = "".join(each.read_text() for each in sorted((copy / "endpoint").rglob("*.rs")))
    assert ("Dccp" in types) is (name == "a transport")
    assert ("colour" in types) is (name == "a key of a job, or a record")


def _follow(step: re.Match[str], copy: Path) -> None:
    """Write what a step shows: a file anew, or lines below one that is there once."""
    text = textwrap.dedent(step["text"]) if step["anew"] else step["text"]
    lines = [line.removeprefix(step["indent"]) for line in text.splitlines(keepends=True)]
    if step["anew"]:
        (copy / step["anew"]).write_text("".join(lines))
        return
    file = copy / step["file"]
    before = file.read_text().splitlines(keepends=True)
    (place,) = [number for number, line in enumerate(before, 1) if line.strip() == step["line"]]
    after = before[place + 1 :] if step["replaces"] else before[place:]
    file.write_text("".join((*before[:place], *lines, *after)))


def _missing(copy: Path, program: str, recorded: Path, printed: list[str]) -> str:
    done = _run(copy, ["-c", program, str(recorded)])
    absent = [each for each in printed if each not in done.stdout]
    return f"{absent}: {done.stdout[-2000:]}{done.stderr[-2000:]}" if absent else ""


def _run(copy: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy, env={**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "100"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
