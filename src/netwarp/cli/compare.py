"""The command that races transports over paths given right on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from netwarp.cli import options
from netwarp.cli.options import levels
from netwarp.cli.path_options import PathLevels, with_path_options
from netwarp.cli.running import run_and_print
from netwarp.cli.terminal import planning
from netwarp.transports import ON_ONE_PATH, TRANSPORTS, congestion_controls_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_PATH = (
    "no path is given: nothing delays or limits a packet, so times are those of no network"
    " (microseconds). Give --profile lte, or --rtt 50ms --rate 20mbit."
)
"""The warning of a race between hosts that are next to each other."""


@with_path_options
def compare(
    *,
    transport: Annotated[
        options.Listed,
        typer.Option(
            help=f"Who races: of {', '.join(TRANSPORTS)}. The first is the one compared against."
            f" Default: {','.join(ON_ONE_PATH)}.",
            metavar="LIST",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    file: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The file to send.", metavar="PATH", rich_help_panel=options.STUDY),
    ] = None,
    size: Annotated[
        options.Listed,
        typer.Option(
            help="Or so many bytes. Default: 10MB.", metavar="LIST", rich_help_panel=options.STUDY
        ),
    ] = None,
    congestion: Annotated[
        options.Listed,
        typer.Option(
            help="Congestion control."
            f" {congestion_controls_in_words().replace('`', '')}. Default: the first of them.",
            metavar="LIST",
            rich_help_panel=options.STUDY,
        ),
    ] = None,
    chunks: Annotated[
        options.Listed,
        options.study_option("Parts the content is cut into, sent at once. Default: 1."),
    ] = None,
    dial: Annotated[
        options.Listed,
        options.study_option("Connections opened sequential or parallel. Default: sequential."),
    ] = None,
    streams: Annotated[
        options.Listed, options.study_option("Streams of an SCTP association. Default: 1.")
    ] = None,
    resume: Annotated[
        options.Listed,
        options.study_option("Send twice; the second uses of the first: none, 1rtt, 0rtt."),
    ] = None,
    page: Annotated[
        options.Listed,
        options.study_option(
            "A web page in place of a file: nam-2021, web-30, web-80, web-150. Versions of HTTP"
            " race, each over its own transport."
        ),
    ] = None,
    http: Annotated[
        options.Listed, options.study_option("Versions of HTTP: 1.1, 2, 3. Default: 2,3.")
    ] = None,
    client: Annotated[
        options.Listed, options.study_option("Who loads the page: netwarp or chromium.")
    ] = None,
    server: Annotated[
        options.Listed, options.study_option("Who serves the page: netwarp, caddy or nginx.")
    ] = None,
    flow: Annotated[
        options.Listed,
        options.study_option(
            "A flow of messages in place of a file: so many payload bits a second. Delays, jitter"
            " and losses race."
        ),
    ] = None,
    interval: Annotated[
        options.Listed, options.study_option("Or a message of the flow so often, such as 20ms.")
    ] = None,
    payload: Annotated[
        options.Listed, options.study_option("Bytes of a flow's message. Default: 1200B.")
    ] = None,
    duration: Annotated[
        options.Listed, options.study_option("How long a flow's messages are sent. Default: 10s.")
    ] = None,
    arrivals: Annotated[
        options.Listed,
        options.study_option(
            "When a flow's messages are due: constant, poisson. Default: constant."
        ),
    ] = None,
    direction: Annotated[
        str,
        typer.Option(
            help="down: server to client; up: client to server.",
            metavar="down|up",
            rich_help_panel=options.STUDY,
        ),
    ] = "down",
    verify: Annotated[
        bool,
        typer.Option(help="Hash the content at both ends.", rich_help_panel=options.STUDY),
    ] = True,
    path: PathLevels,
    backend: options.Backend = None,
    out: options.Out = None,
    jobs: options.Jobs = None,
    executor: options.Executor = None,
    seed: options.Seed = None,
    replicates: options.Replicates = None,
    set_: options.Set = None,
    filter_: options.Filter = None,
    metric: options.Metric = None,
    against: options.Against = None,
    relevant: options.Relevant = None,
    precision: options.Precision = None,
    decide: options.Decide = False,
    max_time: options.MaxTime = None,
    as_json: options.Json = False,
) -> None:
    """Race transports over paths given right here; every list is a factor.

    netwarp compare --transport tcp,quic --size 10MB --rtt 100ms --loss 0%,1%,5% --rate 50mbit
    """
    from netwarp.study.compare import study_from_compare

    asked = {"page": page, "http": http, "client": client, "server": server}
    of_page = {key: levels(each) for key, each in asked.items()}
    paced = {"interval": interval, "payload": payload, "duration": duration, "arrivals": arrivals}
    of_flow = {key: levels(each) for key, each in paced.items()}
    has_page = any(of_page.values())
    has_flow = flow is not None or any(of_flow.values())
    with planning():
        study = study_from_compare(
            transports=levels(transport) or _usual(has_page=has_page, has_flow=has_flow),
            path=path,
            sizes=levels(size) or ([] if file is not None or has_page or has_flow else ["10MB"]),
            page=of_page,
            flow=levels(flow),
            of_flow=of_flow,
            file=file,
            congestion=levels(congestion),
            chunks=levels(chunks),
            dial=levels(dial),
            streams=levels(streams),
            resume=levels(resume),
            direction=direction,
            verify=verify,
            replicates=replicates,
            seed=seed,
            overrides=[
                *(set_ or []),
                *options.relevant_override(relevant),
                *options.question_overrides(metric, against),
            ],
        )
    staging = options.staging(precision, decide, max_time)
    run_and_print(
        study, backend, out, jobs, filter_ or [], as_json, staging, executor,
        NO_PATH if lacks_path(path, set_ or [], backend) else None,
    )  # fmt: skip


def lacks_path(
    path: Mapping[str, Sequence[str]], overrides: Sequence[str], backend: str | None
) -> bool:
    """Whether nothing says what the path is like; two real hosts have one of their own.

    Args:
        path: levels of its properties.
        overrides: ``KEY=VALUE`` each.
        backend: where it runs; None for the default.
    """
    is_elsewhere = backend is not None and backend.startswith(("remote", "replay"))
    keys = [each.removeprefix("factors.") for each in overrides]
    return not path and not is_elsewhere and not any(key.startswith("path.") for key in keys)


def _usual(*, has_page: bool, has_flow: bool) -> list[str]:
    """List who races where nobody says: of pages the versions of HTTP do."""
    if has_page:
        return []
    return ["udp", *ON_ONE_PATH] if has_flow else list(ON_ONE_PATH)
