"""The bundle of the chart scripts: made once, kept whole, and never needed to be kept."""

from pathlib import Path

import pytest

from netwarp import vega
from netwarp.report.chart_script import chart_script


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Calls of the slow bundling, which is replaced by a quick one."""
    calls: list[str] = []

    def bundle() -> str:
        calls.append("")
        return "const vega = '</script>';"

    monkeypatch.setattr(vega, "script_bundle", bundle)
    return calls


def test_the_script_is_bundled_once(tmp_path: Path, bundled: list[str]) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    first, second = chart_script(environ), chart_script(environ)
    assert first == second
    assert "</script" not in first
    assert len(bundled) == 1
    (kept,) = (tmp_path / "netwarp" / "charts").iterdir()
    assert first in kept.read_text()


@pytest.mark.parametrize("damage", [b"", b"// sha256 0\nalert(1)", b"\xff\xfe"])
def test_a_damaged_copy_is_made_anew(tmp_path: Path, bundled: list[str], damage: bytes) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    good = chart_script(environ)
    (kept,) = (tmp_path / "netwarp" / "charts").iterdir()
    kept.write_bytes(damage)
    assert chart_script(environ) == good
    assert chart_script(environ) == good
    assert len(bundled) == 2


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, bundled: list[str]) -> None:
    (tmp_path / "netwarp").write_text("a file where the folder would be")
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    assert chart_script(environ) == chart_script(environ)
    assert len(bundled) == 2
