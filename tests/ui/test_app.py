"""The web application without a server: what it refuses, and what it does when nobody listens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

import support
from netwarp.ui.asked import Asked, Event
from netwarp.ui.lanes import Lanes

pytest.importorskip("starlette")
import anyio
import anyio.lowlevel

from netwarp.ui.app import Events, application

PORT, TOKEN = 8080, "token"
HOST = (b"host", f"127.0.0.1:{PORT}".encode())
ELSEWHERE = (
    "../outside", "..", ".", "/etc", "%2e%2e/outside", "..%2foutside", "%2fetc%2fpasswd", "link",
    "outside\x00", "x" * 300, "inside/../../outside", "\\..\\outside", ".hidden",
)  # fmt: skip
"""Names that are no run directory of the folder, as a page or another program may send them."""


def get(lanes: Lanes, folder: Path, address: str) -> tuple[int, str]:
    """Ask for an address below the token; returns the status and the text of the answer, of the
    document to which it redirects if it does.

    Args:
        lanes: the questions of all pages.
        folder: the folder of run directories.
        address: path and query, quoted.
    """
    path, _, query = address.partition("?")
    app = application(lanes, folder, PORT, TOKEN)
    sent: list[dict[str, Any]] = []

    async def ask(path: str) -> None:
        async def receive() -> Any:
            await anyio.sleep_forever()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "GET", "path": unquote(path),
            "raw_path": path.encode(), "root_path": "", "headers": [HOST],
            "query_string": query.encode(), "asgi": {"version": "3.0", "spec_version": "2.3"},
        }  # fmt: skip
        await app(scope, receive, send)

    anyio.run(ask, f"/{TOKEN}/{path}")
    if sent and sent[0]["status"] == 303:
        place = dict(sent[0]["headers"])[b"location"].decode()
        assert TOKEN not in place, "who wrote the document learns its address"
        sent.clear()
        anyio.run(ask, place)
    body = b"".join(message.get("body", b"") for message in sent)
    return (sent[0]["status"] if sent else 0), body.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of run directories, with one inside, one hidden, and a link to another."""
    place = tmp_path_factory.mktemp("place")
    folder = place / "folder"
    support.write_run_directory(place / "outside")
    shutil.copytree(place / "outside", folder / "inside")
    shutil.copytree(place / "outside", folder / ".hidden")
    (folder / "link").symlink_to(place / "outside")
    return folder


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    lanes = Lanes(tmp_path / "lanes")
    quoted = name if "%" in name else quote(name, safe="/")
    for path in (f"kept/{quoted}", f"scorecard/{quoted}", f"scorecard/reproduce/{quoted}"):
        status, text = get(lanes, folder, path)
        assert status in (400, 404), (path, text)
        assert "<html" not in text
    status, text = get(lanes, folder, f"inside/{quoted}")
    assert status == 404 or "no run directory" in text, text
    asked = quote(unquote(name), safe="")
    for query in (f"before={asked}&after=inside", f"before=inside&after={asked}"):
        status, text = get(lanes, folder, f"diff?{query}")
        assert (status, "no run directory in" in text) == (200, True), text


def test_a_run_directory_of_the_folder_is_found(tmp_path: Path, folder: Path) -> None:
    status, text = get(Lanes(tmp_path / "lanes"), folder, "diff?before=inside&after=inside")
    assert (status, "no run directory" in text) == (200, False)


def test_a_scorecard_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    secret = tmp_path / "secret.html"
    secret.write_text("<html>secret")
    (folder / "reproduce" / "park-2008").mkdir(parents=True)
    (folder / "reproduce" / "scorecard.html").write_text("<html>own")
    (folder / "reproduce" / "park-2008" / "scorecard.html").symlink_to(secret)
    (folder / "reproduce" / "kim-2022").symlink_to(tmp_path)
    (tmp_path / "scorecard.html").write_text("<html>secret")
    lanes = Lanes(tmp_path / "lanes")
    assert get(lanes, folder, "scorecard/reproduce/scorecard.html") == (200, "<html>own")
    for name in ("park-2008", "kim-2022"):
        status, text = get(lanes, folder, f"scorecard/reproduce/{name}/scorecard.html")
        assert (status, "secret" in text) == (400, False)


@pytest.mark.parametrize("lane", ["..", "../folder", "A", "", "x" * 25])
def test_a_lane_is_no_path(tmp_path: Path, folder: Path, lane: str) -> None:
    lanes = Lanes(tmp_path / "lanes")
    asked = quote(lane, safe="")
    for path in (f"ask?transport=tcp&lane={asked}", f"run?study=l4s&lane={asked}",
                 f"report/{asked}/what-if-0123456789ab-10"):  # fmt: skip
        status, _ = get(lanes, folder, path)
        assert status in (400, 404)
    assert not (tmp_path / "lanes").exists()


class Silent(Asked):
    """Says nothing until it is cancelled."""

    is_cancelled = False

    def _answers(self) -> Iterator[Event]:
        return iter(())

    def cancel(self, last: Event | None = None) -> None:
        self.is_cancelled = True
        super().cancel(last)


def test_who_is_gone_before_the_first_event_cancels_what_was_asked() -> None:
    silent = Silent()

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}  # at once, as uvicorn does it

    async def send(_: Any) -> None:
        await anyio.lowlevel.checkpoint()

    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    anyio.run(Events(silent), scope, receive, send)
    assert silent.is_cancelled
