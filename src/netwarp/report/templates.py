"""The pages' templates: how they are found, and what they are given of every figure."""

from __future__ import annotations

import base64
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from netwarp.figures.style import page_overlay
from netwarp.report.chart_script import chart_script
from netwarp.version import __version__
from netwarp.wording import transport_text

if TYPE_CHECKING:
    from netwarp.figures.chart import Chart
    from netwarp.figures.style import Spec


def render_page(name: str, *, has_charts: bool, **values: Any) -> str:
    """Render a page as HTML without a single reference to anything outside of it.

    Args:
        name: of its template.
        has_charts: whether it needs the script that draws charts.
        values: what it shows.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["transport"] = transport_text
    environment.filters["with_code"] = with_code
    return environment.get_template(name).render(
        version=__version__,
        style=_own("style.css"),
        script=_own("script.js"),
        bundle=Markup(chart_script()) if has_charts else "",  # noqa: S704 - a library's
        overlay=_json(page_overlay()),
        **values,
    )


def figure_values(chart: Chart) -> dict[str, Any]:
    """Give what a page shows of a figure; the title is the page's, which can break its lines."""
    title = chart.spec["title"]
    subtitle = title["subtitle"]
    return {
        "name": chart.name,
        "title": chart.title,
        "subtitle": subtitle if isinstance(subtitle, str) else " ".join(subtitle),
        "alt": chart.alt,
        "spec": _json(_without_title(chart.spec)),
    }


def csv_link(text: str) -> str:
    """Write a table as a link that has it, so that the page is whole without a file."""
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def with_code(text: str) -> Markup:
    """Show what stands between two backquotes as code; the text is otherwise taken as it is."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one has no partner
        return escape(text)
    code = Markup("<code>{}</code>")
    shown = (code.format(part) if index % 2 else part for index, part in enumerate(parts))
    return Markup("").join(shown)


def _without_title(spec: Spec) -> Spec:
    return {key: value for key, value in spec.items() if key != "title"}


def _own(name: str) -> Markup:
    """Give a file of this package as it is."""
    return Markup(_resource(name))  # noqa: S704 - ours, no user's text in it


def _json(value: Any) -> Markup:
    r"""Write JSON that HTML reads as one script: `<` is written as `\u003c`."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - nothing in it can end the script


def _resource(name: str) -> str:
    return (files("netwarp.report") / name).read_text(encoding="utf-8")
