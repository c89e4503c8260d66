"""The generated key reference is what the models say today."""

import re
import runpy
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
GENERATOR = runpy.run_path(str(REPOSITORY / "scripts" / "generate_docs.py"))


@pytest.mark.parametrize("name", ["study-format.md", "run-format.md", "role-protocol.md"])
def test_the_documents_are_fresh(name: str) -> None:
    written = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
    assert written == GENERATOR["documents"]()[name]


def test_every_key_has_a_meaning() -> None:
    for name, text in GENERATOR["documents"]().items():
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        assert len(rows) > (3 if name == "role-protocol.md" else 40), name
        assert not [row for row in rows if row.rstrip(" |").endswith("|")], name


def test_check_notices_a_stale_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main = GENERATOR["main"]
    monkeypatch.setitem(main.__globals__, "DOCS", tmp_path)
    page = REPOSITORY / "docs" / "role-protocol.md"  # only tables of it are generated
    (tmp_path / page.name).write_bytes(page.read_bytes())
    assert main(["--check"]) == 1
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / "run-format.md").write_text("stale")
    assert main(["--check"]) == 1
    assert "docs/run-format.md is out of date" in capsys.readouterr().out


def test_every_decision_has_a_number_of_its_own() -> None:
    records = sorted((REPOSITORY / "docs" / "decisions").glob("*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        assert record.read_text(encoding="utf-8").startswith(f"# {int(record.name[:4])}. ")


def test_the_site_keeps_keys_whole_and_cuts_no_command() -> None:
    (named,) = re.findall(r"^extra_css: \[(.+)\]$", (REPOSITORY / "mkdocs.yml").read_text(), re.M)
    style = (REPOSITORY / "docs" / named).read_text()
    assert re.search(r"td:first-child code \{ white-space: nowrap; \}", style)
    assert re.search(r"pre > code \{ white-space: pre-wrap; \}", style)
    assert "pip install" in (REPOSITORY / "docs" / "index.md").read_text()
