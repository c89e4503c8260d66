"""Finds and loads source documents: folders of studies that reproduce a publication."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from netwarp import plugins
from netwarp.errors import InputError
from netwarp.fields import KeyValueError, Section
from netwarp.regular_files import is_file
from netwarp.sources.shipped import PLACES, SOURCE_FILE
from netwarp.study.load import read_toml
from netwarp.study.refusal import Refusals
from netwarp.study.sections.diagnose import validated
from netwarp.study.tables import Table
from netwarp.suggestions import did_you_mean


class SourceFile(Section):
    """A source's index: the publication, and the studies that reproduce it."""

    title: str
    """Title of the publication."""
    authors: str
    """Authors of the publication."""
    published: str
    """Where and when it was published."""
    method: str
    """The method of the authors, with their parameters."""
    differs: str
    """Differences from the authors' method, and the reasons."""
    studies: list[str] = Field(min_length=1)
    """Names of the study files, without extension, in the order of the document."""
    not_quick: list[str] = Field(default_factory=list)
    """Names of the studies that are not part of `--quick`: they have too many packets, and with
    fewer they would answer a different question."""


@dataclass(frozen=True)
class Source:
    """A publication whose experiments can be reproduced."""

    name: str
    """Name on the command line, such as ``park-2008``."""
    index: SourceFile
    studies: tuple[Path, ...]
    """Study files, in the order of the document."""

    @property
    def is_shipped(self) -> bool:
        """Whether the source comes with netwarp, so that its name suffices to find it."""
        return self.folder.parent in PLACES

    @property
    def folder(self) -> Path:
        """Folder of its index and studies."""
        return self.studies[0].parent


def find_sources(places: tuple[Path, ...] = PLACES) -> dict[str, Path]:
    """Return the folders of all sources, by name.

    Raises:
        InputError: there are no sources.
    """
    for place in places:
        found = {path.parent.name: path.parent for path in place.glob(f"*/{SOURCE_FILE}")}
        if found:
            return dict(sorted(found.items()))
    looked = " and ".join(map(str, places))
    raise InputError(f"no source documents in {looked}: install netwarp anew, or run from a clone")


def load_sources(names: list[str], places: tuple[Path, ...] = PLACES) -> list[Source]:
    """Load sources by name, or by folder; ``all`` means all shipped ones.

    Raises:
        InputError: there is no such source.
        StudyError: an index cannot be read.
    """
    found = find_sources(places)
    found |= {
        name: Path(name) for name in names if "/" in name and is_file(Path(name) / SOURCE_FILE)
    }
    found |= {
        name: plugins.folder("sources", name)
        for name in names
        if name not in found and name in plugins.added("sources")
    }
    unknown = [name for name in names if name not in (*found, "all")]
    if unknown:
        remedy = did_you_mean(unknown[0], ["all", *found, *plugins.added("sources")])
        if "/" in unknown[0]:
            remedy = f"a folder of studies has a {SOURCE_FILE}"
        raise InputError(f"{unknown[0]}: no such source document; {remedy}")
    wanted = list(find_sources(places)) if "all" in names else names
    return [load_source(found[name]) for name in dict.fromkeys(wanted)]


def load_source(folder: Path) -> Source:
    """Load one source.

    Raises:
        StudyError: its index cannot be read, or names a study that does not exist.
    """
    path = folder / SOURCE_FILE
    _, raw = read_toml(path)
    with Refusals(str(path)).as_study_errors():
        index = validated(SourceFile, Table.of(raw))
        studies = tuple(folder / f"{name}.toml" for name in index.studies)
        for study in studies:
            if not study.is_file():
                reason = "there is no such study beside it"
                remedy = f"add {study.name}, or drop the name"
                raise KeyValueError("studies", study.stem, reason, remedy)
        for name in index.not_quick:
            if name not in index.studies:
                reason = "it is none of the studies"
                remedy = did_you_mean(name, index.studies)
                raise KeyValueError("not_quick", name, reason, remedy)
    return Source(folder.resolve().name, index, studies)
