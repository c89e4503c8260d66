"""The package: a small public API. Which part may import which is in pyproject.toml."""

from importlib import import_module
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any

import netwarp
from netwarp import errors


def test_everything_public_exists_and_is_sorted() -> None:
    assert all(hasattr(netwarp, name) for name in netwarp.__all__)
    assert netwarp.__all__ == sorted(netwarp.__all__, key=lambda name: (not name.isupper(), name))


def test_the_version_is_the_packages() -> None:
    assert netwarp.__version__ == version("netwarp")


def test_it_is_cited_by_its_own_version() -> None:
    """CITATION.cff has the keys that version 1.2.0 of the format requires."""
    yaml: Any = import_module("yaml")
    cited = yaml.safe_load((Path(__file__).parents[1] / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert (cited["cff-version"], cited["title"]) == ("1.2.0", "netwarp")
    assert cited["authors"] == [{"name": "netwarp maintainers"}]
    assert cited["version"] == version("netwarp")
    assert cited["license"] == metadata("netwarp")["License-Expression"]


def test_every_exception_is_in_the_tree_and_documented_there() -> None:
    tree = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if isinstance(value, type) and value.__module__ == errors.__name__:
            assert issubclass(value, errors.NetwarpError)
            assert name in tree
