"""The command line: arguments → calls. No logic lives here."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, NoReturn, Optional

import typer
from rich.console import Console

from netwarp import options
from netwarp.backends import open_backend
from netwarp.backends.native import NativeBackend
from netwarp.backends.watch import Bounds
from netwarp.compare import study_from_compare
from netwarp.doctor import examine
from netwarp.errors import NetwarpError
from netwarp.export import EXPORTS, export_results
from netwarp.guest_files import REPOSITORY, find_kernel
from netwarp.options import levels, path_option
from netwarp.pipeline import Finished, Request, carry_out, collect, evaluate, jobs_for
from netwarp.reproduce import SCORECARD_HTML
from netwarp.reproduce import reproduce as reproduce_source
from netwarp.reproduce import to_json as reproductions_json
from netwarp.run import Interrupted
from netwarp.run_directory import RunDirectory
from netwarp.scorecard import print_scorecard
from netwarp.sources import load_sources
from netwarp.speed import measure_speed
from netwarp.study import Study, load_study
from netwarp.summary import summarise
from netwarp.table import print_results

app = typer.Typer(
    name="netwarp",
    help="Race transport protocols over a real Linux kernel in virtual time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `netwarp demo`; `netwarp COMMAND --help` explains a command.",
)
kernel_app = typer.Typer(
    help="The guest kernel: build it, or say what is built.", no_args_is_help=True
)
app.add_typer(kernel_app, name="kernel")


def main() -> NoReturn:
    """Run the program; the one place that prints errors."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app(standalone_mode=True)
        status = 0
    except NetwarpError as error:
        _console().print(f"[bold red]error:[/] {_escaped(str(error))}", soft_wrap=True)
        status = error.exit_status
    except Interrupted as interrupted:
        _console().print(
            f"interrupted: {interrupted.finished} of {interrupted.planned} runs are kept;"
            " the same command goes on from there",
            soft_wrap=True,
        )
        status = 130
    except KeyboardInterrupt:
        _console().print("interrupted")
        status = 130
    sys.exit(status)


@app.command()
def demo(
    out: options.Out = None,
    jobs: options.Jobs = None,
    replicates: options.Replicates = None,
    seed: options.Seed = None,
    file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="The file to send. Default: the guest kernel itself.", metavar="PATH"),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Send a real file over TCP, TLS, SCTP and QUIC; show table, chart and report."""
    content = file or find_kernel().linux
    with as_file(files("netwarp") / "demo.toml") as path:
        study = load_study(
            path,
            overrides=[f"workload.file={json.dumps(str(content.absolute()))}"],
            replicates=replicates,
            seed=seed,
        )
        _carry_out(study, "virtual", out, jobs, [], as_json)


@app.command()
def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study to run.")],
    backend: options.Backend = None,
    out: options.Out = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replicates: options.Replicates = None,
    set_: options.Set = None,
    filter_: options.Filter = None,
    as_json: options.Json = False,
) -> None:
    """Run a study: all its cells and replicates, then table, figures and report."""
    loaded = load_study(study, overrides=set_ or [], replicates=replicates, seed=seed)
    _carry_out(loaded, backend, out, jobs, filter_ or [], as_json)


@app.command()
def compare(
    transport: Annotated[
        str,
        typer.Option(
            help="Who races: of tcp, tls, sctp, quic. The first is the one compared against.",
            metavar="LIST",
            rich_help_panel=options.STUDY,
        ),
    ] = "tcp,tls,sctp,quic",
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
            help="Congestion control: cubic, reno, bbr. Default: cubic (SCTP: its own).",
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
        overrides=set_ or [],
    )
    _carry_out(study, backend, out, jobs, filter_ or [], as_json)


@app.command()
def reproduce(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE|all", help="Source documents: park-2008, or a folder such as ./mine."
        ),
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Smaller versions of the studies, in a few minutes."),
    ] = False,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="Where to; for several sources, a folder each. Default: netwarp-out/reproduce.",
            metavar="DIR",
            rich_help_panel=options.RUNNING,
        ),
    ] = None,
    backend: options.Backend = None,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
) -> None:
    """Do a source document's experiments again, and say of each conclusion whether it holds."""
    sources = load_sources(source)
    done = []
    for each in sources:
        place = out / each.name if out and len(sources) > 1 else out

        def carry(study: Study, directory: Path) -> Finished:
            # --jobs is for the studies whose runs can go side by side.
            at_a_time = None if study.backend == "native" else jobs
            return carry_out(study, _request(study, backend, directory, at_a_time, []), _console())

        done.append(reproduce_source(each, carry, out=place, quick=quick))
        if not as_json:
            print_scorecard(done[-1], Console())
            page = done[-1].directory / SCORECARD_HTML
            Console().print(f"scorecard: {page}", soft_wrap=True)
    if as_json:
        _print_json(reproductions_json(done))
    if not all(each.succeeded for each in done):
        raise typer.Exit(1)


@app.command()
def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    as_json: options.Json = False,
) -> None:
    """Print the table of a run directory again."""
    paths = RunDirectory(directory)
    results = collect(paths)
    if as_json:
        _print_json(summarise(directory))
    else:
        print_results(results, Console(), paths.clock)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    as_json: options.Json = False,
) -> None:
    """Make results, figures and report of a run directory anew, finished or not."""
    finished = evaluate(RunDirectory(directory))
    _tell(finished, as_json)


@app.command()
def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    format_: Annotated[
        str, typer.Option("--format", metavar="|".join(EXPORTS), help="What to write.")
    ] = "csv",
) -> None:
    """Write a run directory's results to standard output in another format."""
    sys.stdout.write(export_results(directory, format_))


@app.command()
def doctor(
    speed: Annotated[
        bool,
        typer.Option(
            "--speed",
            help="Measure instead what this machine's CPU carries of each transport: native"
            " transfers, some seconds. Reports of later runs quote it.",
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Say what is missing to run here, and the exact command that mends it."""
    if speed:
        _measure_speed(as_json)
        return
    findings = examine()
    if as_json:
        _print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        console = Console()
        for finding in findings:
            missing = "[yellow]without[/]" if finding.optional else "[bold red]missing[/]"
            mark = "[green]ok[/]     " if finding.ok else missing
            console.print(f"{mark} {finding.name:13} {_escaped(finding.detail)}", soft_wrap=True)
    if not all(finding.ok or finding.optional for finding in findings):
        raise typer.Exit(1)


@kernel_app.command("info")
def kernel_info(as_json: options.Json = False) -> None:
    """Say which guest kernel is built, from what, and where it is."""
    kernel = find_kernel()
    description = {"directory": str(kernel.directory), **kernel.info}
    if as_json:
        _print_json(description)
    else:
        for key, value in description.items():
            Console().print(f"{key:20} {_escaped(str(value))}", soft_wrap=True, highlight=False)


@kernel_app.command(
    "build", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def kernel_build(
    context: typer.Context,
    source: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A kernel source tarball instead of the distribution's.", metavar="PATH"),
    ] = None,
) -> None:
    """Build the guest kernel from the distribution's source; nothing to do when it is built."""
    script = REPOSITORY / "guest" / "build.sh"
    arguments = ["--source", str(source)] if source else []
    raise typer.Exit(subprocess.run([script, *arguments, *context.args], check=False).returncode)


def _carry_out(
    study: Study,
    backend: str | None,
    out: Path | None,
    jobs: int | None,
    filters: list[str],
    as_json: bool,
) -> None:
    request = _request(study, backend, out, jobs, filters)
    _tell(carry_out(study, request, _console()), as_json)


def _request(
    study: Study, backend: str | None, out: Path | None, jobs: int | None, filters: list[str]
) -> Request:
    place = open_backend(backend or study.backend, _bounds(study))
    return Request(
        backend=place,
        out=out,
        jobs=jobs_for(place, jobs),
        filters=filters,
        command_line=["netwarp", *sys.argv[1:]],
    )


def _tell(finished: Finished, as_json: bool) -> None:
    if as_json:
        _print_json(finished.summary)
    else:
        console = Console()
        print_results(finished.results, console, finished.directory.clock)
        console.print(f"report: {finished.directory.path / 'report.html'}", soft_wrap=True)
    if finished.results.failed:
        raise typer.Exit(1)


def _bounds(study: Study) -> Bounds:
    return Bounds(
        stall_cpu_s=max(cell.conditions.limits.stall_cpu_s for cell in study.cells),
    )


def _measure_speed(as_json: bool) -> None:
    with _console().status("measuring") as status:
        speed = measure_speed(
            NativeBackend(), on_transport=lambda name: status.update(f"measuring {name}")
        )
    if as_json:
        _print_json(speed)
        return
    for name, goodput_bit_s in speed["goodput_bit_s"].items():
        Console().print(f"{name:5} {goodput_bit_s / 1e6:,.0f} Mbit/s", highlight=False)
    for name, reason in speed["not_measured"].items():
        Console().print(f"{name:5} not measured: {_escaped(reason)}", soft_wrap=True)


def _print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def _console() -> Console:
    """Everything that is not the answer goes to standard error."""
    return Console(stderr=True)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def _interrupt(signum: int, frame: object) -> NoReturn:
    """Treat a polite kill like Ctrl-C: clean up, keep what was measured."""
    del signum, frame
    raise KeyboardInterrupt
