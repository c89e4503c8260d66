//! The records, which the endpoint writes as one JSON object per line.
//!
//! Times are integer nanoseconds since the run's epoch, at which the path has been built and nothing has been sent.
//! Both sides use the same clock.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

mod command;
mod delivered;
mod flow;
mod page;
mod playing;
mod samples;
mod traffic;
mod transfers;

use serde::{Deserialize, Serialize};

pub use self::command::*;
pub use self::delivered::*;
pub use self::flow::*;
pub use self::page::*;
pub use self::playing::*;
pub use self::samples::*;
pub use self::traffic::*;
pub use self::transfers::*;

use crate::job::Event;

/// One line of `records.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "lowercase")]
pub enum Record {
    /// First record: the run, and the endpoint and kernel that carried it out.
    Start(StartRecord),
    /// One side of one connection, written when it has ended.
    Connection(ConnectionRecord),
    /// The transfer of a content, or of a chunk of one, over one stream; each end writes a record of it.
    Transfer(TransferRecord),
    /// The file into which the receiver merged the chunks of a transfer.
    Merged(MergedRecord),
    /// A segment of a video, as the player received it.
    Segment(SegmentRecord),
    /// A segment that the player wanted but did not receive, because the viewer sought or the session ended before it
    /// had arrived. Its loading delay would have been longer than from `requested_ns` to `cut_ns`.
    #[serde(rename = "cut_segment")]
    CutSegment(CutSegmentRecord),
    /// An action of the player. The records are in order of time.
    Player(PlayerRecord),
    /// The client was notified of its address on another path.
    Handover(HandoverRecord),
    /// The content that was received over time, in a run with a timeline or a player.
    Goodput(GoodputRecord),
    /// How one program ran, written when it has ended.
    Program(ProgramRecord),
    /// The file that a client's program has downloaded, in a run of programs with the interface of the interop runner.
    /// netwarp does not see what the program does, so times are those of its process and of its host's packets.
    Download(DownloadRecord),
    /// The messages that the sender of a flow passed to its transport, and when.
    #[serde(rename = "flow_sent")]
    FlowSent(FlowSentRecord),
    /// Statistics of the messages or packets of a flow that arrived, as computed by ns-3's FlowMonitor (Carneiro,
    /// Fortuna, Ricardo: FlowMonitor, VALUETOOLS 2009). Duplicates are counted in `duplicates` only.
    #[serde(rename = "flow_stats")]
    FlowStats(FlowStatsRecord),
    /// The flows of a `traffic` workload in the order in which they were due, as columns: numbers with the same index
    /// belong to the same flow.
    #[serde(rename = "flow_table")]
    FlowTable(FlowTableRecord),
    /// A resource of a page as the client loaded it. Times are those of W3C's Resource Timing.
    Resource(ResourceRecord),
    /// A load of a page as a browser reports it. Times are those of W3C's Navigation Timing and Paint Timing.
    #[serde(rename = "page_load")]
    PageLoad(PageLoadRecord),
    /// Counts of the packets that one direction of a path delivered and dropped, read from its links before the probes.
    ///
    /// Offered packets are delivered, dropped, left or unresolved, and so are duplicates, which are counted as offered
    /// only where a router sends them. With cold neighbours, the sender's ARP packets end at the router and are not
    /// counted; the router's ARP packets, which netem impairs like others, are counted as offered. Between two hosts,
    /// whose impairments are at the receiving host, the run's packets that arrived at that host are counted, without
    /// those that the network lost before.
    Calibration(CalibrationRecord),
    /// Samples of the bottleneck of one direction of a path, taken at the router.
    #[serde(rename = "queue_samples")]
    QueueSamples(QueueSamplesRecord),
    /// Samples of one end of a connection: from TCP's `TCP_INFO` (`ss -tin`), SCTP's `sctp_info` (of its primary path),
    /// and what netwarp's QUIC reports.
    #[serde(rename = "connection_samples")]
    ConnectionSamples(ConnectionSamplesRecord),
    /// The queueing discipline (qdisc) of a bottleneck as read back from the kernel, with its counters.
    Discipline(DisciplineRecord),
    /// The impairments that the receiving host applied to the incoming packets of a run between two hosts.
    ///
    /// They were read back from the kernel, and come in addition to those of the network between the hosts.
    Imposed(ImposedRecord),
    /// Probes of the idle path after the workload: small UDP packets that the server echoes.
    Probe(ProbeRecord),
    /// How a path between two hosts performed right before or after the run, measured with datagrams.
    ///
    /// netwarp does not set the properties of the network between the hosts. Impairments that a study asks for are
    /// applied by the hosts.
    #[serde(rename = "path_measurement")]
    PathMeasurement(PathMeasurementRecord),
    /// An event of the timeline that was applied.
    Event(EventRecord),
    /// CPU time of one side's process, and of the program that it ran. It is recorded in real time only: in virtual
    /// time computing takes no time.
    Usage(UsageRecord),
    /// A record of one of several workloads of a run, with the workload's name.
    #[serde(rename = "of_workload")]
    OfWorkload(OfWorkloadRecord),
    /// One side's transport has given up, because the peer no longer answered. This is a result of the path between the
    /// two sides; the records that the workload would have written are missing.
    #[serde(rename = "gave_up")]
    GaveUp(GaveUpRecord),
    /// Last record: how the run ended. A run without it did not finish.
    End(EndRecord),
}

/// First record: the run, and the endpoint and kernel that carried it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct StartRecord {
    /// Version of the format of records.
    pub format: u32,
    /// The job's name.
    pub run: String,
    /// Version of the endpoint.
    pub endpoint: String,
    /// `uname -sr` of the kernel that carried the packets.
    pub kernel: String,
    /// The clock of all times in the records.
    pub clock: ClockKind,
}

/// The clock of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    /// The guest's clock, which jumps when idle.
    Virtual,
    /// Real time.
    Real,
}

/// An event of the timeline that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct EventRecord {
    /// When the event was applied.
    pub at_ns: u64,
    /// The event as the job lists it, or as the trace or the random draw produced it.
    pub event: Event,
}

/// CPU time of one side's process, and of the program that it ran. It is recorded in real time only: in virtual time
/// computing takes no time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct UsageRecord {
    /// The side whose process used the CPU time.
    pub side: Side,
    /// CPU time in the process's own code.
    pub user_ns: u64,
    /// CPU time in the kernel on behalf of the process.
    pub system_ns: u64,
}

/// A record of one of several workloads of a run, with the workload's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct OfWorkloadRecord {
    /// The workload's name.
    pub workload: String,
    /// The record that the workload's server or client wrote.
    pub line: Box<Record>,
}

/// One side's transport has given up, because the peer no longer answered. This is a result of the path between the two
/// sides; the records that the workload would have written are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct GaveUpRecord {
    /// The side whose transport gave up first.
    pub side: Side,
    /// When the transport of that side gave up, in nanoseconds after the run's epoch.
    pub at_ns: u64,
    /// The operation that failed, and how it ended.
    pub cause: String,
}

/// Last record: how the run ended. A run without it did not finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct EndRecord {
    /// Time of the run's clock at the end.
    pub virtual_ns: u64,
    /// Why the run failed; null if it succeeded.
    pub failure: Option<Failure>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Failure {
    /// The stage that failed: `setup`, `server`, `client`, `limit`, `verify`, `teardown`.
    pub stage: String,
    /// What failed, and on what.
    pub message: String,
}
