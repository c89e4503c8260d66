"""The kinds of figures by name: each file in `netwarp/figures/kinds/` defines one.

A kind is imported only when it is needed, because it imports plotting code, and most commands draw
nothing.
"""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import Any

from netwarp import plugins

PACKAGE = "netwarp.figures.kinds"
NOT_KINDS = ("base",)
FIGURE_KINDS: Mapping[str, str] = {
    module.name.replace("_", "-"): f"{PACKAGE}.{module.name}:KIND"
    for module in iter_modules([str(Path(__file__).parents[1] / "figures" / "kinds")])
    if module.name not in NOT_KINDS
}
"""Module of each kind of figure, by its name in studies: the file's name, with hyphens."""


def figure_kind(name: str) -> Any:
    """Import and return a kind of figure, a `netwarp.figures.kinds.base.FigureKind`.

    Args:
        name: one of `FIGURE_KINDS`, or of the kinds that packages add.

    Raises:
        KeyError: there is no such kind.
        InputError: an extension cannot be imported, or is not a kind of figure.
    """
    if name in FIGURE_KINDS:
        return resolve_name(FIGURE_KINDS[name])
    return plugins.load("figures", name, lambda added: hasattr(added, "checked"))
