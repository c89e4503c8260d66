//! What of a job a kernel would change in silence, or refuse when the run is half built.
//!
//! What a study may ask for is the planner's to decide, which refuses with file and line. It accepts nothing that is
//! refused here (`tests/plan/test_agreement.py`): this guards against a job written by something else.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::job::{FORMAT, Impairments, Job, Recovery, Transport, TransportKind};

/// netem keeps jitter as a signed 32-bit number of nanoseconds and silently cuts what is above (`netem_change`).
const JITTER_MAX_NS: u64 = i32::MAX as u64;

/// The sizes of socket buffers: less is raised in silence, and Linux keeps twice its size in an `int`.
const BUFFER_BYTES: RangeInclusive<u64> = 4096..=i32::MAX as u64 / 2;

/// The MTUs that IPv4 allows.
const MTU_BYTES: RangeInclusive<u32> = 68..=65_535;

/// What `TCP_MAXSEG` takes (`TCP_MIN_MSS`, `MAX_TCP_WINDOW`).
const TCP_MSS_BYTES: RangeInclusive<u32> = 88..=32_767;

/// The least `SCTP_MAXSEG` takes: what is left of 512 bytes (`SCTP_DEFAULT_MINSEGMENT`) after the headers of IPv4,
/// SCTP and the DATA chunk.
const SCTP_MSS_MIN_BYTES: u32 = 512 - 20 - 12 - 16;

/// The least message: one that may overtake others spends eight bytes on its place.
const SCTP_MESSAGE_MIN_BYTES: u32 = 9;

/// `SCTP_RTOINFO` is in milliseconds.
const RTO_UNIT_NS: u64 = 1_000_000;

/// Stands for jobs on standard input, one a line.
const STANDARD_INPUT: &str = "-";

/// Reads a job and refuses an unsound one.
pub(crate) fn load(file: &Path) -> Result<Job> {
    let text = fs::read_to_string(file).with_context(|| format!("read the job {}", file.display()))?;
    understand(&text, &file.display().to_string())
}

/// What is wrong with the job of each file, if anything; of `-`, with that of each line of standard input.
///
/// # Errors
/// Standard input that cannot be read.
pub(crate) fn refusals(files: &[impl AsRef<Path>]) -> Result<Vec<String>> {
    let mut refusals = Vec::new();
    for file in files.iter().map(AsRef::as_ref) {
        if file == Path::new(STANDARD_INPUT) {
            for (number, line) in io::stdin().lines().enumerate() {
                let line = line.context("read jobs from standard input")?;
                refusals.extend(understand(&line, &format!("in line {}", number + 1)).err());
            }
        } else {
            refusals.extend(load(file).err());
        }
    }
    Ok(refusals.iter().map(|error| format!("{error:#}")).collect())
}

fn understand(text: &str, name: &str) -> Result<Job> {
    let job = serde_json::from_str(text).with_context(|| format!("understand the job {name}"))?;
    let problems = problems(&job);
    ensure!(problems.is_empty(), "the job {name} cannot be run: {}", problems.join("; "));
    Ok(job)
}

/// Everything that is wrong with a job, as `key: what is wrong`.
pub(crate) fn problems(job: &Job) -> Vec<String> {
    let mut problems = Problems(Vec::new());
    problems.require(job.format == FORMAT, "format", || format!("is {}, this endpoint reads {FORMAT}", job.format));
    problems.check_references(job);
    for (index, path) in job.paths.iter().enumerate() {
        let at = format!("paths[{index}]");
        problems.require(MTU_BYTES.contains(&path.mtu_bytes), &format!("{at}.mtu_bytes"), || {
            format!("is {}, IPv4 allows {} to {}", path.mtu_bytes, MTU_BYTES.start(), MTU_BYTES.end())
        });
        problems.check_impairments(&format!("{at}.down"), &path.down);
        problems.check_impairments(&format!("{at}.up"), &path.up);
    }
    problems.check_transport(&job.transport);
    problems.0
}

struct Problems(Vec<String>);

impl Problems {
    fn require(&mut self, holds: bool, key: &str, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.0.push(format!("{key}: {}", otherwise()));
        }
    }

    /// Whether the timeline names paths that are there.
    fn check_references(&mut self, job: &Job) {
        let timeline = &job.timeline;
        let references = timeline.events.iter().map(|event| ("events", event.path));
        let references = references.chain(timeline.redraws.iter().map(|redraw| ("redraws", redraw.path)));
        for (key, path) in references.chain(timeline.traces.iter().map(|trace| ("traces", trace.path))) {
            self.require((path as usize) < job.paths.len(), &format!("timeline.{key}"), || {
                format!("name path {path}, but there are only {}", job.paths.len())
            });
        }
        self.require(!job.paths.is_empty(), "paths", || "is empty".to_owned());
    }

    fn check_impairments(&mut self, at: &str, impairments: &Impairments) {
        self.require(i64::try_from(impairments.delay_ns).is_ok(), &format!("{at}.delay_ns"), || {
            format!("is {}, netem takes at most {}", impairments.delay_ns, i64::MAX)
        });
        self.require(impairments.jitter_ns <= JITTER_MAX_NS, &format!("{at}.jitter_ns"), || {
            format!("is {}, netem takes at most {JITTER_MAX_NS}", impairments.jitter_ns)
        });
        self.require(impairments.limit_packets >= 1, &format!("{at}.limit_packets"), || "is 0".to_owned());
        self.require(impairments.shaper_queue_bytes != Some(0), &format!("{at}.shaper_queue_bytes"), || {
            "is 0".to_owned()
        });
        self.require(impairments.rate_bit_s.is_none_or(|rate| rate >= 8), &format!("{at}.rate_bit_s"), || {
            "is below 8, and netem counts whole bytes a second".to_owned()
        });
        self.require(impairments.reorder.ratio == 0.0 || impairments.delay_ns > 0, &format!("{at}.reorder"), || {
            "needs a delay to overtake".to_owned()
        });
    }

    fn check_transport(&mut self, transport: &Transport) {
        self.require(BUFFER_BYTES.contains(&transport.buffer_bytes), "transport.buffer_bytes", || {
            let (least, most) = (BUFFER_BYTES.start(), BUFFER_BYTES.end());
            format!("is {}, sockets take {least} to {most}", transport.buffer_bytes)
        });
        self.require(transport.initial_window_packets >= 1, "transport.initial_window_packets", || "is 0".to_owned());
        match transport.kind {
            TransportKind::Sctp => self.check_sctp(transport),
            TransportKind::Quic => self.check_quic(transport),
            kind if kind.uses_tcp() => self.check_tcp(transport),
            _ => {}
        }
    }

    fn check_tcp(&mut self, transport: &Transport) {
        self.require(transport.mss_bytes.is_none_or(|mss| TCP_MSS_BYTES.contains(&mss)), "transport.mss_bytes", || {
            format!("must lie between {} and {} for TCP", TCP_MSS_BYTES.start(), TCP_MSS_BYTES.end())
        });
        // net/ipv4/tcp_input.c, tcp_identify_packet_loss.
        let possible = transport.tcp.recovery != Recovery::Classic || !transport.tcp.sack;
        self.require(possible, "transport.tcp.recovery", || {
            "is classic with SACK, and since Linux 6.17 a TCP with SACK finds its losses by RACK and nothing else: \
             switch SACK off too"
                .to_owned()
        });
    }

    /// quinn sends a packet where its window has room for more than that one, and so none where the window is one packet.
    fn check_quic(&mut self, transport: &Transport) {
        let packets = transport.initial_window_packets;
        self.require(packets != 1, "transport.initial_window_packets", || {
            "is 1, but a QUIC window has at least 2 packets (RFC 9002, section 7.2)".to_owned()
        });
    }

    fn check_sctp(&mut self, transport: &Transport) {
        let sctp = &transport.sctp;
        self.require(transport.mss_bytes.is_none_or(|mss| mss >= SCTP_MSS_MIN_BYTES), "transport.mss_bytes", || {
            format!("must be at least {SCTP_MSS_MIN_BYTES} for SCTP; for small chunks, bound the messages")
        });
        self.require(sctp.streams >= 1, "transport.sctp.streams", || "is 0".to_owned());
        // A send buffer takes whole messages.
        let fits = u64::from(sctp.max_message_bytes) <= transport.buffer_bytes;
        self.require(
            fits && sctp.max_message_bytes >= SCTP_MESSAGE_MIN_BYTES,
            "transport.sctp.max_message_bytes",
            || {
                let (given, most) = (sctp.max_message_bytes, transport.buffer_bytes);
                format!("is {given}, must lie between {SCTP_MESSAGE_MIN_BYTES} and {most}, the send buffer")
            },
        );
        let bounds = [sctp.rto_min_ns, sctp.rto_initial_ns, sctp.rto_max_ns];
        let whole = bounds.iter().all(|bound| bound % RTO_UNIT_NS == 0 && *bound >= RTO_UNIT_NS);
        self.require(whole, "transport.sctp", || "has an RTO bound that is not in whole milliseconds".to_owned());
        self.require(bounds.is_sorted(), "transport.sctp", || "needs rto_min <= rto_initial <= rto_max".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Change, Event, SctpOptions, TcpOptions};

    fn golden_job() -> Job {
        serde_json::from_str(include_str!("../../tests/golden/job-bulk-tcp-impaired.json")).expect("a job")
    }

    #[test]
    fn a_stack_is_refused_what_it_would_not_do() {
        use TransportKind::{Quic, Sctp, Tcp};
        type Spoil = fn(&mut Transport);
        let spoil: [(TransportKind, &str, Spoil); 10] = [
            (Quic, "transport.initial_window_packets: is 1", |transport| transport.initial_window_packets = 1),
            (Tcp, "transport.mss_bytes: must", |transport| transport.mss_bytes = Some(87)),
            (Tcp, "transport.mss_bytes: must", |transport| transport.mss_bytes = Some(32_768)),
            (Tcp, "transport.tcp.recovery: is classic with SACK", |transport| transport.tcp.sack = true),
            (Sctp, "transport.mss_bytes: must", |transport| transport.mss_bytes = Some(463)),
            (Sctp, "transport.sctp.streams: is 0", |transport| transport.sctp.streams = 0),
            (Sctp, "transport.sctp.max_message_bytes: is 8", |transport| transport.sctp.max_message_bytes = 8),
            (Sctp, "transport.sctp.max_message_bytes: is", |transport| transport.sctp.max_message_bytes = 1 << 31),
            (Sctp, "transport.sctp: has an RTO bound", |transport| transport.sctp.rto_min_ns = 1_500_000),
            (Sctp, "transport.sctp: needs", |transport| transport.sctp.rto_max_ns = 100_000_000),
        ];
        for (kind, expected, spoil) in spoil {
            let mut job = golden_job();
            job.transport.kind = kind;
            job.transport.sctp = SctpOptions::usual();
            job.transport.tcp = TcpOptions { sack: false, recovery: Recovery::Classic, ..TcpOptions::today() };
            assert_eq!(problems(&job), Vec::<String>::new());
            spoil(&mut job.transport);
            let found = problems(&job);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn every_problem_names_its_key() {
        type Spoil = fn(&mut Job);
        let spoil: [(&str, Spoil); 10] = [
            ("format", |job| job.format = 2),
            ("paths", |job| job.paths.clear()),
            ("timeline.events", |job| {
                job.timeline.events = vec![Event { at_ns: 1, path: 1, change: Change::Outage {} }];
            }),
            ("paths[0].mtu_bytes", |job| job.paths[0].mtu_bytes = 40),
            ("paths[0].up.jitter_ns", |job| job.paths[0].up.jitter_ns = 3_000_000_000),
            ("paths[0].up.delay_ns", |job| job.paths[0].up.delay_ns = u64::MAX),
            ("paths[0].up.rate_bit_s", |job| job.paths[0].up.rate_bit_s = Some(0)),
            ("paths[0].down.reorder", |job| job.paths[0].down.delay_ns = 0),
            ("transport.buffer_bytes", |job| job.transport.buffer_bytes = u64::MAX),
            ("transport.initial_window_packets", |job| job.transport.initial_window_packets = 0),
        ];
        for (key, spoil) in spoil {
            let mut job = golden_job();
            spoil(&mut job);
            let found = problems(&job);
            assert_eq!(found.len(), 1, "{key}: {found:?}");
            assert!(found[0].starts_with(&format!("{key}: ")), "{found:?}");
        }
    }
}
