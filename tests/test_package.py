"""The package: a small public API. Which part may import which is in pyproject.toml."""

from importlib.metadata import version

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
