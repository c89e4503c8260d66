//! What a job must satisfy beyond its types.
//!
//! The planner has refused bad studies with file and line; this guards against a job written by something else, and
//! against values that the kernel would change in silence.

mod stream;

mod timeline;

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::job::{
    Bulk, Content, Direction, FORMAT, Impairments, Job, Loss, Reconnect, Recovery, Resume, Transport, TransportKind,
    Workload,
};

/// netem keeps jitter as a signed 32-bit number of nanoseconds and silently cuts what is above (`netem_change`).
const JITTER_MAX_NS: u64 = i32::MAX as u64;

/// Linux keeps twice a socket buffer's size in an `int`.
const BUFFER_MAX_BYTES: u64 = i32::MAX as u64 / 2;

/// Subflows and addresses the kernel's MPTCP takes (`MPTCP_PM_ADDR_MAX`); more than SCTP is ever given.
const PATHS_MAX: usize = 8;

/// Access points of a client that moves.
const ROAMING_PATHS: usize = 2;

/// What `TCP_MAXSEG` takes (`TCP_MIN_MSS`, `MAX_TCP_WINDOW`).
const TCP_MSS_BYTES: RangeInclusive<u32> = 88..=32_767;

/// The least `SCTP_MAXSEG` takes: what is left of 512 bytes (`SCTP_DEFAULT_MINSEGMENT`) after the headers of IPv4,
/// SCTP and the DATA chunk.
const SCTP_MSS_MIN_BYTES: u32 = 512 - 20 - 12 - 16;

/// `SCTP_RTOINFO` is in milliseconds.
const RTO_UNIT_NS: u64 = 1_000_000;

/// Far below the threads of tokio's blocking pool, and the streams every QUIC stack lets a peer open.
const CHUNKS_MAX: u32 = 100;

/// Reads a job and refuses an unsound one.
pub fn load(file: &Path) -> Result<Job> {
    let text = fs::read(file).with_context(|| format!("read the job {}", file.display()))?;
    let job = serde_json::from_slice(&text).with_context(|| format!("understand the job {}", file.display()))?;
    let problems = problems(&job);
    ensure!(problems.is_empty(), "the job {} cannot be run: {}", file.display(), problems.join("; "));
    Ok(job)
}

/// Everything that is wrong with a job, as `key: what is wrong`.
pub fn problems(job: &Job) -> Vec<String> {
    let mut problems = Problems(Vec::new());
    problems.require(job.format == FORMAT, "format", || format!("is {}, this endpoint reads {FORMAT}", job.format));
    problems.check_path_count(job);
    problems.check_roaming(job);
    problems.check_timeline(job);
    problems.check_generators(job);
    for (index, path) in job.paths.iter().enumerate() {
        let at = format!("paths[{index}]");
        problems.require((68..=65_535).contains(&path.mtu_bytes), &format!("{at}.mtu_bytes"), || {
            format!("is {}, IPv4 allows 68 to 65535", path.mtu_bytes)
        });
        problems.check_direction(&format!("{at}.down"), &path.down);
        problems.check_direction(&format!("{at}.up"), &path.up);
    }
    let transport = &job.transport;
    problems.require((4096..=BUFFER_MAX_BYTES).contains(&transport.buffer_bytes), "transport.buffer_bytes", || {
        format!("is {}, sockets take 4096 to {BUFFER_MAX_BYTES}", transport.buffer_bytes)
    });
    problems.require(transport.initial_window_packets >= 1, "transport.initial_window_packets", || "is 0".to_owned());
    problems.require(!transport.congestion.is_empty(), "transport.congestion", || "is empty".to_owned());
    match transport.kind {
        TransportKind::Tcp | TransportKind::Tls | TransportKind::Mptcp => problems.check_tcp(transport),
        TransportKind::Sctp => problems.check_sctp(transport),
        TransportKind::Quic => problems.check_quic(transport),
    }
    problems.check_resume(transport);
    problems.check_reconnect(job);
    match &job.workload {
        Workload::Bulk(bulk) => problems.check_bulk(bulk),
        Workload::Stream(stream) => problems.check_stream(stream),
    }
    problems.0
}

struct Problems(Vec<String>);

impl Problems {
    fn require(&mut self, holds: bool, key: &str, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.0.push(format!("{key}: {}", otherwise()));
        }
    }

    fn check_reconnect(&mut self, job: &Job) {
        let at = "transport.reconnect";
        let migrates = job.transport.reconnect == Reconnect::Migrate;
        let is_tcp = matches!(job.transport.kind, TransportKind::Tcp | TransportKind::Tls);
        self.require(!(migrates && is_tcp), at, || {
            "is migrate, but a TCP connection is between two addresses for good: choose new".to_owned()
        });
        let is_mptcp = job.transport.kind == TransportKind::Mptcp;
        self.require(!(is_mptcp && job.resumes()), at, || {
            "is new, but MPTCP connections go on when the client moves: choose migrate".to_owned()
        });
        let goes_up = matches!(&job.workload, Workload::Bulk(Bulk { direction: Direction::Up, .. }));
        self.require(!(goes_up && job.resumes()), at, || {
            "is new, but only the server could say how far a content that goes up had come: choose migrate, or let it go \
             down"
                .to_owned()
        });
    }

    fn check_bulk(&mut self, bulk: &Bulk) {
        let Bulk { content, chunks, transfers, .. } = bulk;
        if let Content::File { path, .. } = content {
            self.require(Path::new(path).is_absolute(), "workload.content.path", || format!("{path} is relative"));
        }
        self.require((1..=CHUNKS_MAX).contains(chunks), "workload.chunks", || {
            format!("is {chunks}, this endpoint sends 1 to {CHUNKS_MAX} at once")
        });
        self.require(*chunks == 1 || content.size_bytes() >= u64::from(*chunks), "workload.chunks", || {
            format!("is {chunks}, but a content of {} bytes has no {chunks} parts", content.size_bytes())
        });
        self.require(*transfers >= 1, "workload.transfers", || "is 0".to_owned());
    }

    fn check_resume(&mut self, transport: &Transport) {
        let reason = match (transport.kind, transport.resume) {
            (TransportKind::Tcp | TransportKind::Tls | TransportKind::Quic, Resume::ZeroRtt)
            | (TransportKind::Tls | TransportKind::Quic, Resume::OneRtt)
            | (_, Resume::None) => return,
            (TransportKind::Tcp, Resume::OneRtt) => "TCP has no session tickets; 0rtt is TCP Fast Open",
            (TransportKind::Sctp, _) => "SCTP has nothing that a later association could resume",
            (TransportKind::Mptcp, _) => "MPTCP connections are opened without Fast Open here",
        };
        self.require(false, "transport.resume", || reason.to_owned());
    }

    fn check_path_count(&mut self, job: &Job) {
        let multihomed = job.transport.kind == TransportKind::Sctp && job.transport.sctp.multihomed;
        let allowed = match job.transport.kind {
            _ if job.timeline.has_handovers() => ROAMING_PATHS..=ROAMING_PATHS,
            TransportKind::Mptcp => 1..=PATHS_MAX,
            TransportKind::Sctp if multihomed => 2..=PATHS_MAX,
            _ => 1..=1,
        };
        self.require(allowed.contains(&job.paths.len()), "paths", || {
            let (count, at_least, at_most) = (job.paths.len(), allowed.start(), allowed.end());
            match at_most {
                1 => format!("has {count} entries, but only mptcp and multihomed sctp use more than one"),
                _ if at_least == at_most => format!("has {count} entries, a client moves between {at_most}"),
                _ => format!("has {count} entries, the transport can use {at_least} to {at_most}"),
            }
        });
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
        // A send buffer takes whole messages; one whose messages may overtake others spends eight bytes on its place.
        let message_bytes = 9..=transport.buffer_bytes.min(u32::MAX.into());
        let holds = message_bytes.contains(&sctp.max_message_bytes.into());
        self.require(holds, "transport.sctp.max_message_bytes", || {
            format!("is {}, must lie between 9 and {}, the send buffer", sctp.max_message_bytes, message_bytes.end())
        });
        let bounds = [sctp.rto_min_ns, sctp.rto_initial_ns, sctp.rto_max_ns];
        let whole = bounds.iter().all(|bound| bound % RTO_UNIT_NS == 0 && *bound >= RTO_UNIT_NS);
        self.require(whole, "transport.sctp", || "has an RTO bound that is not in whole milliseconds".to_owned());
        self.require(bounds.is_sorted(), "transport.sctp", || "needs rto_min <= rto_initial <= rto_max".to_owned());
    }

    fn check_share(&mut self, key: String, ratio: f64) {
        self.require((0.0..=1.0).contains(&ratio), &key, || format!("is {ratio}, must lie between 0 and 1"));
    }

    fn check_direction(&mut self, at: &str, impairments: &Impairments) {
        for (key, ratio) in shares(impairments) {
            self.check_share(format!("{at}.{key}"), ratio);
        }
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
}

fn shares(impairments: &Impairments) -> Vec<(&'static str, f64)> {
    let mut shares = vec![
        ("jitter_correlation", impairments.jitter_correlation),
        ("reorder.ratio", impairments.reorder.ratio),
        ("reorder.correlation", impairments.reorder.correlation),
        ("duplicate_ratio", impairments.duplicate_ratio),
        ("corrupt_ratio", impairments.corrupt_ratio),
    ];
    match impairments.loss {
        Loss::None {} => {}
        Loss::Random { ratio, correlation } => {
            shares.extend([("loss.ratio", ratio), ("loss.correlation", correlation)]);
        }
        Loss::Gemodel { p, r, loss_bad, loss_good } => {
            shares.extend([("loss.p", p), ("loss.r", r), ("loss.loss_bad", loss_bad), ("loss.loss_good", loss_good)])
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Change, Event, SctpOptions, TcpOptions};

    pub(super) fn golden_job() -> Job {
        serde_json::from_str(include_str!("../../../tests/golden/job-bulk-tcp-impaired.json")).expect("a job")
    }

    pub(super) fn event(at_ns: u64, path: u32, change: Change) -> Event {
        Event { at_ns, path, change }
    }

    #[test]
    fn golden_jobs_are_sound() {
        assert_eq!(problems(&golden_job()), Vec::<String>::new());
        let quic = serde_json::from_str(include_str!("../../../tests/golden/job-bulk-quic.json")).expect("a job");
        assert_eq!(problems(&quic), Vec::<String>::new());
    }

    #[test]
    fn a_quic_window_has_two_packets() {
        let quic = include_str!("../../../tests/golden/job-bulk-quic.json");
        let mut job: Job = serde_json::from_str(quic).expect("a job");
        job.transport.initial_window_packets = 1;
        let found = problems(&job);
        assert!(found[0].contains("at least 2 packets"), "{found:?}");
    }

    /// Of two paths, with these events at 1, 1, 2, 2, … ns.
    pub(super) fn roaming(events: &[(u32, Change)]) -> Job {
        let mut job = golden_job();
        job.paths.push(crate::job::Path { attached: false, ..job.paths[0].clone() });
        let Workload::Bulk(bulk) = &mut job.workload else { panic!("the golden job is bulk") };
        bulk.direction = Direction::Down;
        let timed = |(index, (path, change)): (usize, &(u32, Change))| event(index as u64 / 2, *path, change.clone());
        job.timeline.events = events.iter().enumerate().map(timed).collect();
        job
    }

    #[test]
    fn connections_of_a_client_that_moves_do_what_they_can() {
        let moving = [(1, Change::Attach {}), (0, Change::Detach {})];
        let asked = |kind, reconnect, direction| {
            let mut job = roaming(&moving);
            (job.transport.kind, job.transport.reconnect) = (kind, reconnect);
            let Workload::Bulk(bulk) = &mut job.workload else { panic!("the golden job is bulk") };
            bulk.direction = direction;
            problems(&job)
        };
        assert_eq!(asked(TransportKind::Quic, Reconnect::Migrate, Direction::Up), Vec::<String>::new());
        for (kind, reconnect, direction, expected) in [
            (TransportKind::Tcp, Reconnect::Migrate, Direction::Down, "transport.reconnect: is migrate, but a TCP"),
            (TransportKind::Tls, Reconnect::Migrate, Direction::Down, "transport.reconnect: is migrate, but a TCP"),
            (TransportKind::Quic, Reconnect::New, Direction::Up, "transport.reconnect: is new, but only the server"),
        ] {
            let found = asked(kind, reconnect, direction);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn tcp_and_sctp_are_refused_what_the_kernel_would_not_do() {
        use TransportKind::{Sctp, Tcp};
        type Spoil = fn(&mut Transport);
        let spoil: [(TransportKind, &str, Spoil); 8] = [
            (Tcp, "transport.mss_bytes: must", |transport| transport.mss_bytes = Some(87)),
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
        let spoil: [(&str, Spoil); 17] = [
            ("format", |job| job.format = 2),
            ("paths", |job| job.paths.push(job.paths[0].clone())),
            ("timeline[0].path", |job| job.timeline.events = vec![event(1, 1, Change::Outage {})]),
            ("timeline[0].change", |job| job.timeline.events = vec![event(1, 0, Change::Restore {})]),
            ("timeline[1].change", |job| {
                job.timeline.events = vec![event(1, 0, Change::Outage {}), event(2, 0, Change::Outage {})];
            }),
            ("timeline[1].at_ns", |job| {
                job.timeline.events = vec![event(2, 0, Change::Outage {}), event(1, 0, Change::Restore {})];
            }),
            ("paths[0].mtu_bytes", |job| job.paths[0].mtu_bytes = 40),
            ("paths[0].down.loss.p", |job| {
                job.paths[0].down.loss = Loss::Gemodel { p: 1.2, r: 0.1, loss_bad: 1.0, loss_good: 0.0 };
            }),
            ("paths[0].up.loss.ratio", |job| {
                job.paths[0].up.loss = Loss::Random { ratio: f64::NAN, correlation: 0.0 };
            }),
            ("paths[0].up.jitter_ns", |job| job.paths[0].up.jitter_ns = 3_000_000_000),
            ("paths[0].up.rate_bit_s", |job| job.paths[0].up.rate_bit_s = Some(0)),
            ("paths[0].down.reorder", |job| job.paths[0].down.delay_ns = 0),
            ("transport.buffer_bytes", |job| job.transport.buffer_bytes = u64::MAX),
            ("workload.chunks", |job| {
                let Workload::Bulk(Bulk { chunks, .. }) = &mut job.workload else { return };
                *chunks = CHUNKS_MAX + 1;
            }),
            ("workload.chunks", |job| {
                let Workload::Bulk(Bulk { content, chunks, .. }) = &mut job.workload else { return };
                (*content, *chunks) = (Content::Seeded { seed: 1, size_bytes: 4 }, 5);
            }),
            ("workload.transfers", |job| {
                let Workload::Bulk(Bulk { transfers, .. }) = &mut job.workload else { return };
                *transfers = 0;
            }),
            ("workload.content.path", |job| {
                let Workload::Bulk(Bulk { content, .. }) = &mut job.workload else { return };
                *content = Content::File { path: "relative".into(), size_bytes: 1 };
            }),
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
