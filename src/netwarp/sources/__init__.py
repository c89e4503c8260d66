"""Source documents: folders of studies that reproduce a publication, and their scorecards."""

from netwarp.sources.shipped import SOURCE_FILE
from netwarp.sources.sources import SourceFile, find_sources, load_source, load_sources

__all__ = [
    "SOURCE_FILE",
    "SourceFile",
    "find_sources",
    "load_source",
    "load_sources",
]
