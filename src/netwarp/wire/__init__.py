"""The wire format, defined once: jobs for the endpoint, and the records that it returns.

A job (``job.py``) consists of paths, workloads with a transport each, and a timeline. A record
(``record.py``) is about the run, its transfers, its player, or what its paths delivered. The
endpoint's types are generated from these models (``scripts/generate_wire.py``), and both read and
write the golden files in ``tests/golden``.
"""

from netwarp.wire.base import JOB_FORMAT, RECORD_FORMAT, Direction
from netwarp.wire.command import (
    Command,
    Download,
    Extraction,
    HostProgram,
    JsonValue,
    Line,
    Listening,
    Pattern,
    PrintedMetric,
    Program,
    Ready,
    ReadyFile,
    Variable,
)
from netwarp.wire.delivered import Calibration, DisciplineInForce, Imposed, PathMeasurement, Probe
from netwarp.wire.flow import (
    Arrivals,
    ConstantArrivals,
    Flow,
    FlowSent,
    FlowStats,
    OnOffArrivals,
    PoissonArrivals,
    RequestResponse,
    TraceArrivals,
)
from netwarp.wire.job import Exchange, Job, Limits, Sampling, job_from_json, job_sha256, job_to_json
from netwarp.wire.network import Ends, Link, Nat, Network
from netwarp.wire.page import (
    Http,
    Page,
    PageLoad,
    PageResource,
    Resource,
    ResourceType,
    WebProgram,
    WebProgramKind,
)
from netwarp.wire.path import (
    Discipline,
    DisciplineKind,
    Distribution,
    GemodelLoss,
    Impairments,
    ListedLoss,
    Loss,
    Neighbours,
    NoLoss,
    Path,
    PeriodicLoss,
    RandomLoss,
    Reorder,
)
from netwarp.wire.playing import (
    Action,
    CutCause,
    CutSegment,
    Play,
    PlayEnd,
    Player,
    Seek,
    Segment,
    Stall,
    Switch,
)
from netwarp.wire.record import (
    End,
    Failure,
    GaveUp,
    OfWorkload,
    Record,
    Start,
    TimelineEvent,
    Usage,
    read_records,
    record_to_json,
)
from netwarp.wire.samples import ConnectionSamples, QueueSamples
from netwarp.wire.timeline import (
    Attach,
    Change,
    Delay,
    Detach,
    Event,
    Outage,
    Rate,
    Redraw,
    Restore,
    Timeline,
    Trace,
)
from netwarp.wire.traffic import FlowTable, SizePoint, Traffic
from netwarp.wire.transfers import (
    Connection,
    Goodput,
    Handover,
    Merged,
    Settings,
    Side,
    Stats,
    Transfer,
)
from netwarp.wire.transport import (
    ClientEnd,
    Contract,
    Model,
    QuicOptions,
    Reconnect,
    Recovery,
    Resume,
    SctpOptions,
    Stack,
    TcpOptions,
    Transport,
    TransportKind,
)
from netwarp.wire.workload import (
    BolaRule,
    Bulk,
    Content,
    DelayRule,
    Dial,
    Done,
    FileContent,
    InteropCase,
    LinkDelayRule,
    Quality,
    Rule,
    Seeded,
    Stream,
    ThroughputRule,
    ViewerClock,
    Workload,
)
