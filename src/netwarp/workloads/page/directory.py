"""Reads a page from a directory: `index.html`, and what it and its stylesheets refer to.

Resources that scripts would request are not known, and are not part of the page.
"""

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.regular_files import UnreadableFileError, read_regular_file, regular_file_size
from netwarp.workloads.page.resources import SiteResource

MOST_BYTES = 16 << 20
INDEX = "index.html"
ORIGIN = "http://page"
"""Origin of the page, against which its references are resolved."""
_TYPES: Mapping[str, wire.ResourceType] = {
    ".css": "stylesheet",
    ".js": "script",
    ".mjs": "script",
    ".html": "document",
    ".json": "fetch",
    **dict.fromkeys((".woff", ".woff2", ".ttf", ".otf"), "font"),
    **dict.fromkeys((".avif", ".gif", ".ico", ".jpeg", ".jpg", ".png", ".svg", ".webp"), "image"),
}
_OF_STYLESHEET = re.compile(
    r"""url\(\s*['"]?([^'")]+)['"]?\s*\)|@import\s+['"]([^'"]+)['"]""", re.IGNORECASE
)
_EMBEDDING = ("img", "source", "video", "audio", "iframe")
REMEDY = "name a directory with a page in it"


def read_directory(name: str) -> list[SiteResource]:
    """Read the resources of the page in a directory, the document first.

    Raises:
        UnreadableFileError: its `index.html` cannot be read.
        KeyValueError: it refers to a missing file, or to another origin; the error's key is None.
    """
    return _Reader(Path(name)).site()


class _Reader:
    """Follows the references of a page, beginning with its document; each is followed once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._site: list[SiteResource] = []
        self._seen = {"/"}

    def site(self) -> list[SiteResource]:
        index = self._folder / INDEX
        try:
            size = regular_file_size(index)
        except UnreadableFileError as error:
            what = (
                f"its {INDEX} {error.reason}"
                if error.reason != "no such file"
                else f"no {INDEX} in it"
            )
            raise UnreadableFileError(what) from None
        self._site.append(SiteResource("/", "document", size, file=str(index)))
        document = _References()
        document.feed(_text(index))
        document.close()
        for reference, in_head in document.found:
            self._add(reference, "/", in_head=in_head)
        return self._site

    def _add(self, reference: str, initiator: str, *, in_head: bool) -> None:
        """Add the file to which a resource refers, unless it has been added before."""
        url = urljoin(f"{ORIGIN}{initiator}", reference.strip()).partition("#")[0]
        parts = urlsplit(url)
        if parts.scheme == "data" or not reference.strip() or reference.startswith("#"):
            return
        if not url.startswith(f"{ORIGIN}/"):
            reason = f"{initiator} refers to {reference}, which is elsewhere: a run has one server"
            raise KeyValueError(None, str(self._folder), reason, "put it into the directory")
        path = url.removeprefix(ORIGIN)
        if path in self._seen:
            return
        self._seen.add(path)
        file = self._file(parts.path, initiator)
        kind = _TYPES.get(file.suffix.lower(), "other")
        size = regular_file_size(file)
        self._site.append(
            SiteResource(path, kind, size, initiator, in_head=in_head, file=str(file))
        )
        if kind == "stylesheet":
            for match in _OF_STYLESHEET.finditer(_text(file)):
                self._add(match[1] or match[2], path, in_head=False)

    def _file(self, path: str, initiator: str) -> Path:
        """Return the file to which the path of a URL refers; refuse one that is missing or outside
        the directory.
        """
        file = self._folder / unquote(path).lstrip("/")
        is_inside = file.resolve().is_relative_to(self._folder.resolve())
        try:
            if is_inside:
                regular_file_size(file)
                return file
            reason = "lies outside the directory"
        except UnreadableFileError as error:
            reason = error.reason
        told = f"{initiator} refers to {path}: {reason}"
        raise KeyValueError(None, str(self._folder), told, "add the file, or drop the reference")


class _References(HTMLParser):
    """Collects the references in an HTML document, in their order, each with whether it blocks
    rendering.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += _of_element(tag, given)


def _of_element(tag: str, given: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield the references of an HTML element, each with whether it blocks rendering. A script that
    is not a module always does.
    """
    relations = given.get("rel", "").lower().split()
    if tag == "link" and "href" in given and "stylesheet" in relations:
        yield given["href"], given.get("media", "all") in ("all", "screen", "")
    elif tag == "link" and "href" in given and {"icon", "preload"} & set(relations):
        yield given["href"], False
    elif tag == "script" and "src" in given:
        waits = {"async", "defer"} & given.keys() or given.get("type") == "module"
        yield given["src"], not waits
    elif tag in _EMBEDDING and "src" in given and given.get("loading") != "lazy":
        yield given["src"], False


def _text(file: Path) -> str:
    return read_regular_file(file, MOST_BYTES).decode("utf-8", errors="replace")
