"""Renders the templates of pages, and prepares figures for them."""

import base64
import json
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from netwarp.figures.chart import Chart
from netwarp.figures.dark import dark_rules
from netwarp.figures.style import page_overlay
from netwarp.report.chart_script import chart_script
from netwarp.version import __version__
from netwarp.wording import transport_text


def render_page(name: str, *, has_charts: bool, **values: Any) -> str:
    """Return a page as one HTML file that needs no other.

    Args:
        name: the name of its template.
        has_charts: whether it needs the script that draws charts.
        values: the template's values.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["transport"] = transport_text
    environment.filters["with_code"] = with_code
    return environment.get_template(name).render(
        version=__version__,
        style=_package_file("style.css") + Markup(dark_rules()),  # noqa: S704 - colours of ours
        script=_package_file("script.js"),
        bundle=Markup(chart_script()) if has_charts else "",  # noqa: S704 - a library's
        overlay=_json(page_overlay()),
        **values,
    )


def figure_values(chart: Chart) -> dict[str, Any]:
    """Return a figure as values for a page, with the title by itself, so that it can wrap."""
    title = chart.spec["title"]
    subtitle = title["subtitle"]
    return {
        "name": chart.name,
        "title": chart.title,
        "subtitle": subtitle if isinstance(subtitle, str) else " ".join(subtitle),
        "alt": chart.alt,
        "spec": _json({key: value for key, value in chart.spec.items() if key != "title"}),
    }


def csv_link(text: str) -> str:
    """Return a table as a data link, so that the page needs no other file."""
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def with_code(text: str) -> Markup:
    """Return a text as HTML, in which parts between backquotes are code, and the rest is
    escaped.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unpaired backquote
        return escape(text)
    code = Markup("<code>{}</code>")
    shown = (code.format(part) if index % 2 else part for index, part in enumerate(parts))
    return Markup("").join(shown)


def _package_file(name: str) -> Markup:
    """Return a file of this package, unescaped."""
    return Markup(_resource(name))  # noqa: S704 - ours, no user's text in it


def _json(value: Any) -> Markup:
    r"""Return JSON for a script element of HTML, with `<` as `\u003c`."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - nothing in it can end the script


def _resource(name: str) -> str:
    return (files("netwarp.report") / name).read_text(encoding="utf-8")
