"""The web application: the pages, and the requests that their scripts send."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from anyio import to_thread
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from netwarp.errors import InputError, NetwarpError
from netwarp.ui.access import HEADERS, OWN, SHOWN, why_refused
from netwarp.ui.asked import Asked, import_what_runs
from netwarp.ui.lanes import Lanes
from netwarp.ui.memory import return_memory
from netwarp.ui.shown import ShownDocuments
from netwarp.version import __version__

if TYPE_CHECKING:
    from netwarp.library import Run

PAGES = ("./", "lessons", "studies")
"""The pages by their addresses."""
TYPES = {".js": "text/javascript", ".css": "text/css"}


class Guarded:
    """Passes requests of the pages on to the application, and refuses all other requests.

    Args:
        app: the application, which sees paths without the token.
        port: see :func:`netwarp.ui.access.why_refused`.
        token: see there.
    """

    def __init__(self, app: Any, port: int, token: str) -> None:
        self._app, self._port, self._token = app, port, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1")
                   for name, value in scope["headers"]}  # fmt: skip
        reason = why_refused(scope["method"], scope["path"], headers, self._port, self._token)
        if reason is not None:
            refused = Response(f"{reason}\n", 403, HEADERS, "text/plain")
            await refused(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = dict(message["headers"])
                for name, value in {"content-security-policy": OWN, **HEADERS}.items():
                    given.setdefault(name.encode(), value.encode())
                message["headers"] = list(given.items())
            await send(message)

        await self._app(scope, receive, with_headers)


def application(lanes: Lanes, folder: Path, port: int, token: str) -> Guarded:
    """Return the web application of the pages, which refuses requests without the token.

    Args:
        lanes: the comparisons and other requests of all pages.
        folder: the folder of run directories.
        port: the port at which the pages are served.
        token: the token with which all paths of the pages begin.
    """
    pages = Pages(lanes, folder, token)
    routes = [
        Route("/", pages.what_if),
        Route("/lessons", pages.lessons),
        Route("/studies", pages.studies),
        Route("/run", pages.run),
        Route("/reproduce", pages.reproduce),
        Route("/kept/{name}", pages.kept_report),
        Route("/inside/{name}", pages.inside),
        Route("/why", pages.why),
        Route("/scorecard/{path:path}", pages.scorecard),
        Route("/diff", pages.diff),
        Route("/static/{name}", static),
        Route("/report.css", report_style),
        Route("/report.js", report_script),
        Route("/vega.js", vega_script),
        Route("/ask", pages.ask),
        Route("/as", pages.written),
        Route("/report/{lane}/{name}", pages.report),
        Route("/over-time/{lane}/{name}", pages.over_time),
        Route("/play/{lane}/{name}", pages.play),
    ]
    inner = Starlette(
        routes=[Mount(f"/{token}", routes=routes), Route(f"/{SHOWN}/{{key}}", pages.shown.show)],
        exception_handlers={NetwarpError: _refused},
    )
    return Guarded(inner, port, token)


class Pages:
    """The pages, and the handlers of the requests that their scripts send."""

    def __init__(self, lanes: Lanes, folder: Path, token: str) -> None:
        self._lanes, self._folder = lanes, folder
        self.shown = ShownDocuments(token)

    def what_if(self, request: Request) -> Response:
        """Return the page on which a user changes options of a comparison (knobs)."""
        from netwarp.ui import knobs
        from netwarp.ui.lessons import BY_NAME

        shown = page(
            "what_if.html", title="What if", knobs=knobs, start=json.dumps(dict(knobs.START)),
            lesson=BY_NAME.get(request.query_params.get("lesson", "")),
        )  # fmt: skip
        shown.background = BackgroundTask(prepare)
        return shown

    def lessons(self, _: Request) -> Response:
        """Return the page with the list of lessons."""
        from netwarp.ui.lessons import LESSONS

        return page("lessons.html", title="Lessons", lessons=LESSONS)

    def ask(self, request: Request) -> Response:
        """Run the comparison in the page's address, and send events until it has ended or the
        browser disconnects.
        """
        asked = request.query_params
        pairs = [pair for pair in asked.multi_items() if pair[0] not in ("lane", "turn")]
        return Events(self._lanes.ask(asked.get("lane", ""), pairs, turn_of(asked)))

    def studies(self, _: Request) -> Response:
        """Return the page with the studies, and with the run directories that exist."""
        import_what_runs()
        from netwarp.ui.reproducing import shipped_sources
        from netwarp.ui.studies import kept, scorecards, shipped

        return page(
            "studies.html", title="Studies", studies=shipped(), kept=kept(self._folder),
            sources=shipped_sources(), scorecards=scorecards(self._folder), folder=self._folder,
        )  # fmt: skip

    def run(self, request: Request) -> Response:
        """Run a study, and send events until it has ended or the browser disconnects."""
        from netwarp.ui.studies import StudyRun

        asked = request.query_params
        name, quick = asked.get("study", ""), "quick" in asked
        return Events(
            self._lanes.begin(
                asked.get("lane", ""),
                lambda _, before: StudyRun(name, quick, self._folder, before),
                turn_of(asked),
            )
        )

    def reproduce(self, request: Request) -> Response:
        """Reproduce a source, and send events until that has ended or the browser disconnects."""
        from netwarp.ui.reproducing import SourceRun

        asked = request.query_params
        name = asked.get("source", "")
        return Events(
            self._lanes.begin(
                asked.get("lane", ""),
                lambda _, before: SourceRun(name, self._folder, before),
                turn_of(asked),
            )
        )

    def kept_report(self, request: Request) -> Response:
        """Return the report of a run directory."""
        import_what_runs()
        from netwarp.library import open_run
        from netwarp.ui.studies import kept_at

        path = kept_at(self._folder, request.path_params["name"])
        return self.shown.redirect(open_run(path).report())

    def inside(self, request: Request) -> Response:
        """Return the first replicates of a run directory over time, and the names of its cells."""
        import_what_runs()
        from netwarp.library import open_run
        from netwarp.ui.inside import inside
        from netwarp.ui.studies import kept_at

        name = request.path_params["name"]
        return answered(lambda: inside(open_run(kept_at(self._folder, name)).data))

    def why(self, request: Request) -> Response:
        """Explain a cell of a run directory, and send events until that has ended or the browser
        disconnects.
        """
        from netwarp.ui.inside import WhyRun

        asked = request.query_params
        name, cell = asked.get("name", ""), asked.get("cell", "")
        return Events(
            self._lanes.begin(
                asked.get("lane", ""),
                lambda _, before: WhyRun(self._folder, name, cell, before),
                turn_of(asked),
            )
        )

    def scorecard(self, request: Request) -> Response:
        """Return the scorecard of a source that was reproduced."""
        from netwarp.ui.studies import scorecards

        name = request.path_params["path"]
        if name not in scorecards(self._folder):
            raise InputError(f"{name}: no scorecard in {self._folder}")
        return self.shown.redirect(self._folder / name)

    def diff(self, request: Request) -> Response:
        """Return the differences between two run directories."""
        import_what_runs()
        from netwarp.ui.studies import differences_text

        asked = request.query_params
        names = asked.get("before", ""), asked.get("after", "")
        return answered(lambda: {"text": differences_text(self._folder, *names)})

    def written(self, request: Request) -> Response:
        """Return the comparison in the page's address as a command and as a study file."""
        import_what_runs()
        from netwarp.ui.address import command_of, options_of
        from netwarp.ui.study_file import study_file
        from netwarp.ui.what_if import study_of

        def both() -> dict[str, Any]:
            given = options_of(request.query_params.multi_items())
            text = study_file(study_of(given).raw, "What if?")
            return {"command": command_of(given), "study": text}

        return answered(both)

    def report(self, request: Request) -> Response:
        """Return the report of a comparison that a page has run; it is drawn at the first
        request.
        """
        return self.shown.redirect(self._run(request).report())

    def over_time(self, request: Request) -> Response:
        """Return the first replicates of a comparison that a page has run, drawn over time."""
        from netwarp.ui.over_time import over_time

        return answered(lambda: over_time(self._run(request).data))

    def play(self, request: Request) -> Response:
        """Return the first replicates of a comparison that a page has run, for an animation over
        their own time.
        """
        from netwarp.ui.play import play

        return answered(lambda: play(self._run(request).data))

    def _run(self, request: Request) -> Run:
        import_what_runs()
        from netwarp.library import open_run

        path = self._lanes.directory(request.path_params["lane"], request.path_params["name"])
        if path is None:
            raise InputError("these runs are not kept any more: ask again")
        return open_run(path)


def turn_of(asked: QueryParams) -> int:
    """Return the number by which a page orders its requests; 0 if the request has none."""
    turn = asked.get("turn", "")
    return int(turn) if turn.isdecimal() and len(turn) < 10 else 0


@cache
def prepare() -> None:
    """Import what the first comparison needs, after a page has been sent."""
    from netwarp.ui.what_if import prepare

    threading.Thread(target=prepare, name="netwarp-prepare", daemon=True).start()


def answered(make: Callable[[], dict[str, Any]]) -> Response:
    """Return the answer to a request of a page's script as JSON; for an input error, its
    message.
    """
    try:
        return JSONResponse(make(), background=BackgroundTask(return_memory))
    except NetwarpError as error:
        return JSONResponse({"message": str(error)})


class Events:
    """An HTTP response that streams the events of a running request, such as a comparison. If
    the browser disconnects, the request is cancelled.

    Args:
        asked: the request that runs.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._sent = StreamingResponse(_lines(asked), media_type="text/event-stream")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the events. If the browser disconnects before the first one, that is noticed here,
        because `_lines` has not begun then.
        """
        try:
            await self._sent(scope, receive, send)
        finally:
            self._asked.cancel()


async def _lines(asked: Asked) -> AsyncIterator[str]:
    while (event := await to_thread.run_sync(asked.next_event, abandon_on_cancel=True)) is not None:
        yield f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n"
    yield "event: done\ndata: {}\n\n"


def page(name: str, **values: Any) -> Response:
    """Return a page from its template."""
    rendered = _environment().get_template(name).render(version=__version__, pages=PAGES, **values)
    return HTMLResponse(rendered)


def static(request: Request) -> Response:
    """Return a script or style of the pages."""
    name = request.path_params["name"]
    found = next((each for each in files("netwarp.ui").joinpath("static").iterdir()
                  if each.name == name), None)  # fmt: skip
    if found is None or name[name.rfind(".") :] not in TYPES:
        return Response(f"no {name}\n", 404, media_type="text/plain")
    return _read(found)


def _read(file: Traversable) -> Response:
    kind = TYPES[file.name[file.name.rfind(".") :]]
    return Response(file.read_text(encoding="utf-8"), media_type=kind)


def report_style(_: Request) -> Response:
    """Return the style of reports, which the pages use, too."""
    from netwarp.figures.dark import dark_rules

    own = files("netwarp").joinpath("report", "style.css").read_text(encoding="utf-8")
    return Response(own + dark_rules(), media_type=TYPES[".css"])


def report_script(_: Request) -> Response:
    """Return the script of reports, which draws charts on the pages, too."""
    return _read(files("netwarp").joinpath("report", "script.js"))


def vega_script(_: Request) -> Response:
    """Return the script that draws charts."""
    from netwarp.report.chart_script import chart_script

    return Response(chart_script(), media_type="text/javascript",
                    headers={"cache-control": "private, max-age=86400"})  # fmt: skip


def _refused(_: Request, error: Exception) -> Response:
    return JSONResponse({"message": str(error)}, 400)


@cache
def _environment() -> jinja2.Environment:
    loader: Callable[[str], str] = _template
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(loader), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _template(name: str) -> str:
    return files("netwarp.ui").joinpath("pages", name).read_text(encoding="utf-8")
