"""The options of a path, one for each key of `[path]`."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.options.row import Option, Panel, Takes
from netwarp.path_properties import PATH_PROPERTIES, PathProperty


def _options_of(row: PathProperty) -> Iterator[Option]:
    """Make the options of a property: of one that each direction has, three."""
    helps = [row.option_help]
    if row.directions == "down":
        helps += ["The same, said explicitly.", "… client to server."]
    elif row.directions == "both":
        helps += ["… server to client only.", "… client to server only."]
    for key, text in zip(row.keys, helps, strict=True):
        yield Option(
            name=key, help=text, metavar="LIST", takes=Takes.LEVELS, panel=Panel.PATH,
            key=f"path.{key}", type=row.type, is_common=row.is_common and key == row.key,
        )  # fmt: skip


PATH: tuple[Option, ...] = tuple(option for row in PATH_PROPERTIES for option in _options_of(row))
