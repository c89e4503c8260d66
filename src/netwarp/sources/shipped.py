"""The studies that come with netwarp, by name."""

import re
from collections.abc import Sequence
from pathlib import Path

from netwarp import plugins
from netwarp.backends.guest_files import REPOSITORY
from netwarp.errors import InputError
from netwarp.regular_files import is_folder, is_there
from netwarp.run_directory import question_in
from netwarp.suggestions import did_you_mean

SOURCE_FILE = "source.toml"
"""File name of the index of a source document, beside its studies."""
NAME = "[a-z][a-z0-9_-]*"
# A wheel carries the studies inside the package, a clone beside it.
PLACES = (Path(__file__).parents[1] / "studies", REPOSITORY / "studies")


def shipped_studies(places: Sequence[Path] = PLACES) -> dict[str, Path]:
    """Return the paths of the example studies by name, without those of source documents."""
    for place in places:
        found = {path.stem: path for path in sorted(place.glob("*.toml"))}
        if found:
            return found
    return {}


def question_of(study: Path) -> str:
    """Return a study's question, which is the comment in its first line."""
    return question_in(study.read_text(encoding="utf-8")) or ""


def study_named(name: Path, places: Sequence[Path] = PLACES) -> Path:
    """Return the path of the study that a command line names: a file, or else a shipped study.

    A study of a source document is named `SOURCE/STUDY`, such as `park-2008/fig-3`.

    Raises:
        InputError: it is neither a file nor a shipped study, and does not look like a file name.
    """
    if (is_there(name) and not is_folder(name)) or not re.fullmatch(f"{NAME}(/{NAME})?", str(name)):
        return name  # reading the file will report the problem
    shipped = {**shipped_studies(places), **_of_source(name.parent, places)}
    if str(name) not in shipped:
        raise InputError(
            f"{name}: no such file, and no study of this name:"
            f" {did_you_mean(str(name), list(shipped))} (`netwarp studies` lists them)"
        )
    return shipped[str(name)]


def _of_source(source: Path, places: Sequence[Path]) -> dict[str, Path]:
    """Return the paths of a source document's studies by `SOURCE/STUDY`. The source comes with
    netwarp or with an extension.
    """
    folders = [place / source for place in places if source.name]
    if str(source) in plugins.added("sources"):
        folders.append(plugins.folder("sources", str(source)))
    return {
        f"{source}/{path.stem}": path
        for folder in folders
        for path in sorted(folder.glob("*.toml"))
        if path.name != SOURCE_FILE
    }
