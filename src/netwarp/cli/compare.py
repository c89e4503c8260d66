"""The command that races transports over paths given right on the command line."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from netwarp.cli import options
from netwarp.cli.options import levels, path_option
from netwarp.cli.running import run_and_print
from netwarp.study.compare import study_from_compare
from netwarp.transports import ON_ONE_PATH, TRANSPORTS, congestion_controls_in_words


def compare(
    transport: Annotated[
        str,
        typer.Option(
            help=f"Who races: of {', '.join(TRANSPORTS)}. The first is the one compared against.",
            metavar="LIST",
            rich_help_panel=options.STUDY,
        ),
    ] = ",".join(ON_ONE_PATH),
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
    rtt: Annotated[options.Listed, path_option("Round-trip time, split evenly.", "LIST")] = None,
    delay: Annotated[options.Listed, path_option("One-way delay, both directions.", "LIST")] = None,
    delay_down: Annotated[options.Listed, path_option("… server to client only.", "LIST")] = None,
    delay_up: Annotated[options.Listed, path_option("… client to server only.", "LIST")] = None,
    jitter: Annotated[options.Listed, path_option("Spread of the delay.", "LIST")] = None,
    jitter_down: Annotated[options.Listed, path_option("… server to client only.", "LIST")] = None,
    jitter_up: Annotated[options.Listed, path_option("… client to server only.", "LIST")] = None,
    distribution: Annotated[
        options.Listed,
        path_option("Of the delay: uniform, normal, pareto, paretonormal.", "LIST"),
    ] = None,
    loss: Annotated[
        options.Listed,
        path_option("Packet loss, server to client: 1%, or 'gemodel p r 1-h 1-k'.", "LIST"),
    ] = None,
    loss_down: Annotated[options.Listed, path_option("The same, said explicitly.", "LIST")] = None,
    loss_up: Annotated[options.Listed, path_option("… client to server.", "LIST")] = None,
    rate: Annotated[
        options.Listed, path_option("Bottleneck, both directions: 50mbit.", "LIST")
    ] = None,
    rate_down: Annotated[options.Listed, path_option("… server to client only.", "LIST")] = None,
    rate_up: Annotated[options.Listed, path_option("… client to server only.", "LIST")] = None,
    queue: Annotated[
        options.Listed, path_option("Beyond the delay line: 1bdp, 64kB, 1000p.", "LIST")
    ] = None,
    queue_down: Annotated[options.Listed, path_option("… server to client only.", "LIST")] = None,
    queue_up: Annotated[options.Listed, path_option("… client to server only.", "LIST")] = None,
    mtu: Annotated[options.Listed, path_option("Largest IP packet in bytes.", "LIST")] = None,
    reorder: Annotated[
        options.Listed, path_option("Share of packets that overtake.", "LIST")
    ] = None,
    duplicate: Annotated[
        options.Listed, path_option("Share of packets sent twice.", "LIST")
    ] = None,
    corrupt: Annotated[options.Listed, path_option("Share with a bit flipped.", "LIST")] = None,
    backend: options.Backend = None,
    out: options.Out = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replicates: options.Replicates = None,
    set_: options.Set = None,
    filter_: options.Filter = None,
    relevant: options.Relevant = None,
    precision: options.Precision = None,
    decide: options.Decide = False,
    as_json: options.Json = False,
) -> None:
    """Race transports over paths given right here; every list is a factor.

    netwarp compare --transport tcp,quic --size 10MB --rtt 100ms --loss 0%,1%,5% --rate 50mbit
    """
    given = {
        key: levels(text)
        for key, text in {
            "rtt": rtt, "delay": delay, "delay_down": delay_down, "delay_up": delay_up,
            "jitter": jitter, "jitter_down": jitter_down, "jitter_up": jitter_up,
            "distribution": distribution, "loss": loss, "loss_down": loss_down,
            "loss_up": loss_up, "rate": rate, "rate_down": rate_down, "rate_up": rate_up,
            "queue": queue, "queue_down": queue_down, "queue_up": queue_up, "mtu": mtu,
            "reorder": reorder, "duplicate": duplicate, "corrupt": corrupt,
        }.items()
        if text
    }  # fmt: skip
    study = study_from_compare(
        transports=levels(transport),
        path=given,
        sizes=levels(size) or ([] if file else ["10MB"]),
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
        overrides=[*(set_ or []), *options.relevant_override(relevant)],
    )
    staging = options.staging(precision, decide)
    run_and_print(study, backend, out, jobs, filter_ or [], as_json, staging)
