"""Options about how a study is run, and what is done with its results."""

from dataclasses import replace

from netwarp.backend_table import BACKENDS
from netwarp.options.row import Option, Panel, Takes


def _backends() -> str:
    *others, last = (
        f"{name if each.argument is None else f'{name}:{each.argument}'} ({each.meaning})"
        for name, each in BACKENDS.items()
    )
    return f"{', '.join(others)}, or {last}"


BACKEND = Option(
    name="backend",
    help=f"Where to run: {_backends()}. Default: the study's, usually virtual.",
    metavar="NAME", panel=Panel.RUNNING,
)  # fmt: skip
SERVER = Option(
    name="server",
    help="With --backend remote, instead of remote:HOST:PORT: where `netwarp serve` listens.",
    metavar="HOST:PORT", panel=Panel.RUNNING, is_common=False,
)  # fmt: skip
KERNEL = Option(
    name="kernel",
    help="The guest kernel: a version such as 6.12, or a name of `netwarp kernel list`; a list is a"
    " factor. Default: the study's, usually the default of this machine.",
    metavar="LIST", takes=Takes.LEVELS, panel=Panel.RUNNING, key="kernel",
)  # fmt: skip
OUT = Option(
    name="out",
    help="Run directory; the same one resumes. Default: netwarp-out/NAME-HASH.",
    metavar="DIR", takes=Takes.PATH, panel=Panel.RUNNING,
)  # fmt: skip
JOBS = Option(
    name="jobs",
    help="Runs at a time. Default: one per CPU; native: always 1.",
    metavar="N", takes=Takes.WHOLE, least=1, panel=Panel.RUNNING,
)  # fmt: skip
EXECUTOR = Option(
    name="executor",
    help="Whose CPUs: local, dask-local:N (N processes on this machine), or dask://HOST:PORT (the"
    " workers of a cluster; see docs/scale.md). Default: local.",
    metavar="NAME", panel=Panel.RUNNING, is_common=False,
)  # fmt: skip
SEED = Option(
    name="seed",
    help="Seed of all random numbers. Default: the study's.",
    metavar="N", takes=Takes.WHOLE, panel=Panel.RUNNING, key="seed",
)  # fmt: skip
REPLICATES = Option(
    name="replicates",
    help="Runs of each cell. Default: the study's, or 10 if it sets none.",
    metavar="N", takes=Takes.WHOLE, panel=Panel.RUNNING, key="replicates",
)  # fmt: skip
SET = Option(
    name="set",
    help="Change a key of the study: path.rtt=50ms. A list makes it a factor: path.rtt=50ms,1s."
    " Repeatable.",
    metavar="KEY=VALUE", takes=Takes.TEXTS, panel=Panel.RUNNING,
)  # fmt: skip
FILTER = Option(
    name="filter",
    help="Run only these cells: transport=quic or path.loss=0%,1%. Repeatable.",
    metavar="FACTOR=LEVEL", takes=Takes.TEXTS, panel=Panel.RUNNING,
)  # fmt: skip
QUICK = Option(
    name="quick",
    help="Run the smaller version that the study's table [quick] defines.",
    takes=Takes.FLAG,
)  # fmt: skip
METRIC = Option(
    name="metric",
    help="The metrics that are compared, such as completion_time_s,rtt_under_load_s_p95. Default:"
    " the study's.",
    metavar="NAME[,NAME]", takes=Takes.LEVELS, panel=Panel.RUNNING, key="metrics",
)  # fmt: skip
AGAINST = Option(
    name="against",
    help="The level that others are compared with: transport.congestion=cubic compares congestion"
    " controls. Default: the study's, usually the first transport.",
    metavar="FACTOR=LEVEL", panel=Panel.RUNNING, key="against",
)  # fmt: skip
RELEVANT = Option(
    name="relevant",
    help="The smallest relevant difference; smaller ones do not count. Default: the study's,"
    " usually 1%.",
    metavar="SHARE", panel=Panel.RUNNING, key="relevant",
)  # fmt: skip
EXPECT = Option(
    name="expect",
    help="A bound that the results must keep, in addition to the study's: 'tcp.completion_time_s"
    " < 2.5 s', or 'quic / tcp: completion_time_s <= 1.1 where path.loss=1%'. The exit status is 1"
    " if it does not hold, 3 if it is undecided. Repeatable.",
    metavar="BOUND", takes=Takes.TEXTS, panel=Panel.RUNNING,
)  # fmt: skip
BASELINE = Option(
    name="baseline",
    help="Compare every cell with the file that `netwarp baseline save FILE` wrote: unchanged byte"
    " for byte, changed by less than --relevant, better or worse. The exit status is 1 if a cell is"
    " worse or missing, 3 if one is undecided.",
    metavar="FILE", takes=Takes.PATH, panel=Panel.RUNNING,
)  # fmt: skip
JUNIT = Option(
    name="junit",
    help="Write expectations, claims and cells compared with a baseline as test cases, in the XML"
    " that CI servers read.",
    metavar="FILE", takes=Takes.PATH, panel=Panel.RUNNING,
)  # fmt: skip
MARKDOWN = Option(
    name="markdown",
    help="Write the test cases and the results as Markdown, for the summary of a CI job.",
    metavar="FILE", takes=Takes.PATH, panel=Panel.RUNNING,
)  # fmt: skip
PRECISION = Option(
    name="precision",
    help="Add replicates, up to eight times as many, until every mean is known to ± this share,"
    " such as 5%.",
    metavar="SHARE", panel=Panel.RUNNING,
)  # fmt: skip
DECIDE = Option(
    name="decide",
    help="Add replicates, up to eight times as many, until every claim and expectation is decided;"
    " in a study without either, every comparison.",
    takes=Takes.FLAG, panel=Panel.RUNNING,
)  # fmt: skip
MAX_TIME = Option(
    name="max_time",
    help="Add no more replicates after this time, such as 10min. The initial replicates of every"
    " cell are run in any case.",
    metavar="TIME", panel=Panel.RUNNING,
)  # fmt: skip
REPRODUCED = (
    replace(QUICK, help="Smaller versions of the studies, in a few minutes."),
    replace(
        OUT, help="Directory of the results, with a folder for each of several sources. Default:"
        " netwarp-out/reproduce.",
    ),
    replace(SEED, help="Seed of all studies. Default: this release's own.", least=0, key=""),
    Option(
        name="seeds",
        help="Number of other seeds with which everything is run too, to show how stable verdicts"
        " are. Default: 0.",
        metavar="K", takes=Takes.WHOLE, least=0, most=100, panel=Panel.RUNNING,
    ),
)  # fmt: skip
"""Options of `reproduce` that other commands have in another form."""
DRY_RUN = Option(
    name="dry_run",
    help="Only print what would be run, into which directory and about how long it takes; run and"
    " write nothing.",
    takes=Takes.FLAG, panel=Panel.RUNNING,
)  # fmt: skip
JSON = Option(
    name="as_json",
    help="Print one JSON object instead of tables.",
    takes=Takes.FLAG, flags=("--json",),
)  # fmt: skip
