"""What the documents tell to type exists, their studies are studies, and their links lead on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

from guides import DOCS, GUIDES, REPOSITORY, blocks, commands
from netwarp import library
from netwarp.backends.virtual import VirtualBackend
from netwarp.cli import machine
from netwarp.cli.commands import COMMANDS, load_command
from netwarp.library import calls
from netwarp.output import baseline_file
from netwarp.plan import plan_study
from netwarp.sources import find_sources
from netwarp.sources.shipped import shipped_studies
from netwarp.study import Study, study_from_mapping

BY_NAME = {guide.name: guide for guide in GUIDES}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_command_and_option_exists(name: str) -> None:
    for _, command, *arguments in commands(BY_NAME[name]):
        named = load_command(command)
        if isinstance(named, click.Group) and arguments:
            named = named.commands[arguments[0]]
        known = {opt for each in named.params for opt in each.opts}
        own = arguments[: arguments.index("--")] if "--" in arguments else arguments
        options = {each.partition("=")[0] for each in own if re.match(r"--?[a-z]", each)}
        assert options <= known, command


RUN_BY = {
    "demo": ("cli/test_interruption.py", '("demo", '),
    "doctor": ("cli/test_main_job.py", 'netwarp("doctor", '),
    "interop": ("guest/test_interop_grid.py", '"interop", '),
    "kernel": ("cli/test_main_job.py", 'netwarp("kernel", '),
    "ns3": ("backends/test_ns3.py", '["ns3", "install"]'),
    "pair": ("native/two_hosts.py", 'NETWARP, "pair", '),
    "reproduce": ("guest/test_reproduce.py", '"reproduce", '),
    "selftest": ("guest/test_selftests.py", '"selftest", '),
    "bisect": ("cli/test_bisect.py", '"bisect", '),
    "serve": ("native/two_hosts.py", 'NETWARP, "serve", '),
    "studies": ("sources/test_shipped.py", 'invoke(app, ["studies"])'),
    "ui": ("cli/test_ui.py", '[NETWARP, "ui"]'),
}
"""What runs a command that wants more than a guide can give (another host, a compiler, an hour)."""


def test_every_command_is_run_by_a_guide_or_by_a_test_of_its_own() -> None:
    typed = {
        arguments[1]
        for guide in GUIDES
        for block in blocks(guide)
        for arguments in block.typed
        if arguments[0] == "netwarp"
    }
    assert set(COMMANDS) - typed == set(RUN_BY)
    for file, call in RUN_BY.values():
        assert call in (Path(__file__).parent / file).read_text(encoding="utf-8"), file


def test_every_command_is_in_some_document() -> None:
    told = {command for guide in GUIDES for _, command, *_ in commands(guide)}
    assert set(COMMANDS) - told <= {"demo", "kernel"}  # `make` calls them


def test_every_study_named_is_shipped() -> None:
    known = {*shipped_studies(), *find_sources(), "all"}
    for guide in GUIDES:
        for _, command, *arguments in commands(guide):
            if command in ("run", "reproduce") and re.fullmatch("[a-z0-9-]+", arguments[0]):
                assert arguments[0] in known, guide.name


@pytest.mark.parametrize("name", BY_NAME)
def test_every_study_can_be_planned(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(BY_NAME[name]):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text)
        if block.language == "toml" and block.text.startswith(("#", "title")):
            study = study_from_mapping(tomllib.loads(block.text), folder=tmp_path)
            assert plan_study(study)


class _Planned(Exception):  # noqa: N818 - no error
    """What was asked for is about to run."""


RUNS_SOMETHING = {"run", "compare", "exec", "reproduce"}


@pytest.mark.parametrize("name", BY_NAME)
def test_what_a_document_has_one_run_can_be_planned(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(study: Study, *_: object, **__: object) -> None:
        assert plan_study(study)
        raise _Planned

    monkeypatch.chdir(tmp_path)
    for module in (library, calls):
        monkeypatch.setattr(module, "run", plan)
        monkeypatch.setattr(module, "backend_for", lambda *_: VirtualBackend)
    monkeypatch.setattr(machine, "install_ns3", lambda: None)
    monkeypatch.setattr(baseline_file, "read_baseline", lambda _: None)
    (readme_study,) = (b.text for b in blocks(BY_NAME["README.md"]) if b.language == "toml")
    (tmp_path / "study.toml").write_text(readme_study)
    for block in blocks(BY_NAME[name]):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text)
    for _, command, *arguments in commands(BY_NAME[name]):
        if command in RUNS_SOMETHING:
            with pytest.raises(_Planned):
                load_command(command).main(arguments, standalone_mode=False)


@pytest.mark.parametrize("name", BY_NAME)
def test_every_link_leads_somewhere(name: str) -> None:
    guide = BY_NAME[name]
    for target, anchor in re.findall(
        r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", guide.read_text(encoding="utf-8")
    ):
        file = (guide.parent / target).resolve() if target else guide
        assert file.exists(), target
        assert file.is_relative_to(REPOSITORY)
        if anchor:
            heads = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in heads}


def test_the_site_and_the_first_page_lead_to_every_document() -> None:
    menu = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    first_page = (DOCS / "index.md").read_text(encoding="utf-8")
    for guide in DOCS.glob("*.md"):
        assert f" {guide.name}" in menu, guide.name
        assert f"]({guide.name}" in first_page or guide.name == "index.md", guide.name
