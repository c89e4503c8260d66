"""The package: a small public API, and parts that build on one another without a circle."""

import ast
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path

import netwarp
from netwarp import errors


def test_everything_public_exists_and_is_sorted() -> None:
    assert all(hasattr(netwarp, name) for name in netwarp.__all__)
    assert netwarp.__all__ == sorted(netwarp.__all__, key=lambda name: (not name.isupper(), name))


def test_the_version_is_the_packages() -> None:
    assert netwarp.__version__ == version("netwarp")


def test_every_exception_is_in_the_tree_and_documented_there() -> None:
    tree = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if isinstance(value, type) and value.__module__ == errors.__name__:
            assert issubclass(value, errors.NetwarpError)
            assert name in tree


def test_no_part_builds_on_one_that_builds_on_it() -> None:
    """Imports for the type checker count too; a circle is refused by name."""
    parts = TopologicalSorter(_imported_parts(Path(netwarp.__file__).parent))
    order = list(parts.static_order())
    assert order.index("wire") < order.index("study") < order.index("plan") < order.index("results")


def _imported_parts(package: Path) -> dict[str, set[str]]:
    """For each part, the parts that its modules import."""
    imported: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        importer = _part(path.relative_to(package).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("netwarp"):
                _, *within = str(node.module).split(".")
                names = [within] if within else [[alias.name] for alias in node.names]
                imported.setdefault(importer, set()).update(_part(tuple(name)) for name in names)
    return {part: others - {part} for part, others in imported.items()}


def _part(module: tuple[str, ...]) -> str:
    """Give the part of the code map that a module, by its path, belongs to."""
    return ".".join(module[:2] if module[1:2] in {("sections",), ("cells",)} else module[:1])
