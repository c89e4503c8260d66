//! Checks a job for values that the kernel would silently change, or refuse only during the run.
//!
//! The planner decides what a study may ask for, and refuses the rest with file and line. It accepts nothing that is
//! refused here (`tests/fuzz/test_agreement.py`): this check guards against jobs that netwarp's planner has not
//! written.

pub(crate) mod capabilities;
#[cfg(test)]
mod golden;
mod several_workloads;

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use netwarp_path::topology;
use netwarp_transport::stack_of;
use netwarp_wire::job::{Contract, Exchange, Impairments, JOB_FORMAT, Job, Model, Neighbours, Resume, Workload};
use netwarp_wire::problems::Problems;
use serde_json::json;

/// The largest jitter. netem keeps it as a signed 32-bit number of nanoseconds and silently cuts larger values
/// (`netem_change`).
const JITTER_MAX_NS: u64 = i32::MAX as u64;

/// The allowed sizes of socket buffers, from `SOCK_MIN_SNDBUF` of `include/net/sock.h`, below which the kernel refuses
/// `net.core.wmem_max`, to half of an `int`, in which the kernel keeps twice the size.
const BUFFER_BYTES: RangeInclusive<u64> = 4608..=i32::MAX as u64 / 2;

/// The MTUs that IPv4 (RFC 791) and IPv6 (RFC 8200, section 5) allow.
const MTU_BYTES: RangeInclusive<u32> = 68..=65_535;
const IPV6_MTU_BYTES: RangeInclusive<u32> = 1280..=65_535;

/// The file name that stands for standard input, with a job on each line.
const STANDARD_INPUT: &str = "-";

const OTHER_VERSION: &str =
    " (this endpoint was built from other sources than netwarp's: `make setup` builds it again)";

/// Reads and checks a job file.
pub(crate) fn load(file: &Path) -> Result<Job> {
    let text = fs::read_to_string(file).with_context(|| format!("read the job {}", file.display()))?;
    understand(&text, &file.display().to_string())
}

/// Checks the job in each file (for `-`, on each line of standard input), and returns a text about each job that is
/// refused.
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

/// Parses and checks a job. `name` is what errors call the job.
pub(crate) fn understand(text: &str, name: &str) -> Result<Job> {
    let job = serde_json::from_str(text).map_err(|error| {
        // netwarp writes jobs for an endpoint that is built from the same sources.
        let remedy = if error.is_data() { OTHER_VERSION } else { "" };
        anyhow!("understand the job {name}{remedy}: {error}")
    })?;
    let problems = problems(&job);
    ensure!(problems.is_empty(), "the job {name} cannot be run: {}", problems.join("; "));
    Ok(job)
}

/// Returns all problems of a job, each as a text `key: problem`.
pub(crate) fn problems(job: &Job) -> Vec<String> {
    let mut problems = Problems::default();
    let is_ours = job.format == JOB_FORMAT;
    problems.require(is_ours, "format", || format!("is {}, this endpoint reads {JOB_FORMAT}", job.format));
    problems.require(!job.workloads.is_empty(), "workloads", || "is empty".to_owned());
    check_references(job, &mut problems);
    for (index, path) in job.paths.iter().enumerate() {
        let at = format!("paths[{index}]");
        let (version, mtus_bytes) = if path.ipv6 { ("IPv6", IPV6_MTU_BYTES) } else { ("IPv4", MTU_BYTES) };
        problems.require(mtus_bytes.contains(&path.mtu_bytes), &format!("{at}.mtu_bytes"), || {
            format!("is {}, {version} allows {} to {}", path.mtu_bytes, mtus_bytes.start(), mtus_bytes.end())
        });
        problems.require(path.ipv6 == job.paths[0].ipv6, &format!("{at}.ipv6"), || {
            "differs from the first path's: a run's addresses are of one version of IP".to_owned()
        });
        problems.require(path.dual == job.paths[0].dual, &format!("{at}.dual"), || {
            "differs from the first path's: all links of a run have the same versions of IP".to_owned()
        });
        problems.require(path.ipv6 || !path.dual, &format!("{at}.dual"), || {
            "is true, and ipv6 is not: IPv4 is beside IPv6".to_owned()
        });
        problems.require(!path.ipv6 || !job.timeline.has_handovers(), &format!("{at}.ipv6"), || {
            "is true, and a client that moves needs the routing rules of IPv4".to_owned()
        });
        problems.require(!path.ipv6 || path.neighbours == Neighbours::Warm, &format!("{at}.neighbours"), || {
            "are cold, which is said of ARP, and IPv6 has none".to_owned()
        });
        check_impairments(&format!("{at}.down"), &path.down, &mut problems);
        check_impairments(&format!("{at}.up"), &path.up, &mut problems);
    }
    let is_of_hosts = job.workloads.iter().all(|each| each.ends.is_some() == job.network.is_some());
    problems.require(is_of_hosts, "ends", || "are of hosts, which only a network has".to_owned());
    for problem in job.network.iter().flat_map(|network| topology::problems(job, network)) {
        problems.add(problem);
    }
    // A name becomes the name of a directory.
    let is_plain = |name: &str| !name.is_empty() && !name.contains(['/', '.', '\0']);
    for each in &job.workloads {
        problems.require(each.name.as_deref().is_none_or(is_plain), "name", || {
            format!("is {}, which is no name of a directory", json!(each.name))
        });
    }
    for each in job.each_alone() {
        check_transport(each.only(), job.timeline.has_handovers(), &mut problems);
        netwarp_workload::of(&each.only().workload).check(&each, &mut problems);
    }
    if job.workloads.len() > 1 {
        several_workloads::check(job, &mut problems);
    }
    problems.into_list()
}

/// Reports events of the timeline that name paths which do not exist.
fn check_references(job: &Job, problems: &mut Problems) {
    let timeline = &job.timeline;
    let references = timeline.events.iter().map(|event| ("events", event.path));
    let references = references.chain(timeline.redraws.iter().map(|redraw| ("redraws", redraw.path)));
    for (key, path) in references.chain(timeline.traces.iter().map(|trace| ("traces", trace.path))) {
        problems.require((path as usize) < job.paths.len(), &format!("timeline.{key}"), || {
            format!("name path {path}, but there are only {}", job.paths.len())
        });
    }
    problems.require(!job.paths.is_empty(), "paths", || "is empty".to_owned());
}

fn check_impairments(at: &str, impairments: &Impairments, problems: &mut Problems) {
    problems.require(i64::try_from(impairments.delay_ns).is_ok(), &format!("{at}.delay_ns"), || {
        format!("is {}, netem takes at most {}", impairments.delay_ns, i64::MAX)
    });
    problems.require(impairments.jitter_ns <= JITTER_MAX_NS, &format!("{at}.jitter_ns"), || {
        format!("is {}, netem takes at most {JITTER_MAX_NS}", impairments.jitter_ns)
    });
    problems.require(
        impairments.longest_repair_ns() == 0 || impairments.jitter_ns == 0,
        &format!("{at}.link_loss_ratio"),
        || "is not 0, beside jitter".to_owned(),
    );
    problems.require(impairments.link_repair_ns <= JITTER_MAX_NS, &format!("{at}.link_repair_ns"), || {
        format!("is {}, netem takes at most {JITTER_MAX_NS}", impairments.link_repair_ns)
    });
    let has_bucket = impairments.rate_bit_s.is_some() && impairments.shaper_queue_bytes.is_some();
    let is_policed = has_bucket && impairments.discipline.is_none() && impairments.reorder.ratio == 0.0;
    problems.require(impairments.policer_bytes.is_none() || is_policed, &format!("{at}.policer_bytes"), || {
        "needs a rate and shaper_queue_bytes, and has no discipline and no reordering beside it".to_owned()
    });
    let is_alone = impairments.aggregate_ns == 0 || impairments.duplicate_ratio == 0.0;
    problems.require(is_alone, &format!("{at}.aggregate_ns"), || "is not 0, beside duplicates".to_owned());
    problems.require(i64::try_from(impairments.aggregate_ns).is_ok(), &format!("{at}.aggregate_ns"), || {
        format!("is {}, netem takes at most {}", impairments.aggregate_ns, i64::MAX)
    });
    problems.require(impairments.limit_packets >= 1, &format!("{at}.limit_packets"), || "is 0".to_owned());
    problems
        .require(impairments.shaper_queue_bytes != Some(0), &format!("{at}.shaper_queue_bytes"), || "is 0".to_owned());
    let is_fifo = impairments.discipline.is_none() && impairments.policer_bytes.is_none();
    let has_queue = match impairments.shaper_queue_bytes {
        Some(_) => is_fifo && impairments.reorder.ratio == 0.0,
        None => is_fifo && impairments.rate_bit_s.is_some() && impairments.aggregate_ns == 0,
    };
    problems.require(
        impairments.queue_packets.is_none_or(|packets| packets >= 1 && has_queue),
        &format!("{at}.queue_packets"),
        || "needs a FIFO queue with room for a packet, in a netem or shaper of its own".to_owned(),
    );
    if let Some(asked) = &impairments.discipline {
        let is_bounded = impairments.rate_bit_s.is_some() && impairments.shaper_queue_bytes.is_some();
        let at = format!("{at}.discipline");
        problems.require(is_bounded, &at, || "needs a rate, and shaper_queue_bytes".to_owned());
        problems.require(asked.limit_packets >= 1, &at, || "has no room".to_owned());
        problems
            .require(impairments.reorder.ratio == 0.0, &at, || "is behind netem, where packets overtake".to_owned());
    }
    problems.require(impairments.rate_bit_s.is_none_or(|rate| rate >= 8), &format!("{at}.rate_bit_s"), || {
        "is below 8, and netem counts whole bytes a second".to_owned()
    });
    problems.require(impairments.reorder.ratio == 0.0 || impairments.delay_ns > 0, &format!("{at}.reorder"), || {
        "needs a delay to overtake".to_owned()
    });
}

fn check_transport(one: &Exchange, has_handovers: bool, problems: &mut Problems) {
    let transport = &one.transport;
    let contract = transport.stack.as_ref().map(|stack| stack.contract);
    let is_kept = contract != Some(Contract::Interop) || matches!(one.workload, Workload::Bulk(_));
    problems.require(is_kept, "transport.stack.contract", || {
        "is interop, by which programs move a file, and nothing else".to_owned()
    });
    problems.require(
        transport.client.as_ref().is_none_or(|end| contract == Some(end.stack.contract)),
        "transport.client.stack.contract",
        || "is another than the server's".to_owned(),
    );
    problems.require(transport.model == Model::Kernel, "transport.model", || {
        "is a simulator's, and this endpoint carries out the kernel's transports".to_owned()
    });
    problems.require(BUFFER_BYTES.contains(&transport.buffer_bytes), "transport.buffer_bytes", || {
        let (least, most) = (BUFFER_BYTES.start(), BUFFER_BYTES.end());
        format!("is {}, sockets take {least} to {most}", transport.buffer_bytes)
    });
    let sent = *BUFFER_BYTES.start()..=transport.buffer_bytes;
    problems.require(sent.contains(&transport.send_buffer_bytes), "transport.send_buffer_bytes", || {
        let (given, least, most) = (transport.send_buffer_bytes, sent.start(), sent.end());
        format!("is {given}, must lie between {least} and {most}, buffer_bytes")
    });
    problems.require(transport.initial_window_packets >= 1, "transport.initial_window_packets", || "is 0".to_owned());
    let stack = stack_of(transport.kind);
    stack.check(transport, problems);
    let resumes = transport.resume == Resume::None || stack.resumes().contains(&transport.resume);
    problems.require(resumes, "transport.resume", || {
        format!("is {}, which {} cannot do", json!(transport.resume), json!(transport.kind))
    });
    let reconnects = !has_handovers || stack.reconnects().contains(&transport.reconnect);
    problems.require(reconnects, "transport.reconnect", || {
        format!("is {}, which {} cannot do", json!(transport.reconnect), json!(transport.kind))
    });
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::{Change, Event, Reconnect, Recovery, Transport, TransportKind};

    use super::*;

    #[test]
    fn a_job_of_another_version_names_the_remedy_and_one_cut_short_does_not() {
        let text = golden::text("bulk-tcp-impaired");
        let later = text.replacen('{', r#"{"of_a_later_version": 1, "#, 1);
        let refusal = understand(&later, "job.json").expect_err("an unknown field").to_string();
        assert!(refusal.contains("make setup") && refusal.contains("of_a_later_version"), "{refusal}");
        let refusal = understand(&text[..text.len() / 2], "job.json").expect_err("half a job").to_string();
        assert!(!refusal.contains("make setup"), "{refusal}");
    }

    #[test]
    fn paths_of_ipv6_are_wide_enough_warm_and_all_alike() {
        type Spoil = fn(&mut Job);
        let cases: [(&str, Spoil); 7] = [
            ("paths[0].dual: is true, and ipv6 is not", |job| {
                job.paths[0].ipv6 = false;
                job.paths[0].dual = true;
            }),
            ("paths[1].dual: differs", |job| {
                job.paths.push(job.paths[0].clone());
                job.paths[1].dual = true;
            }),
            ("paths[0].mtu_bytes: is 1279, IPv6 allows 1280", |job| job.paths[0].mtu_bytes = 1279),
            ("paths[0].ipv6: is true, and a client that moves", |job| {
                job.timeline.events = golden::job("stream-handovers").timeline.events;
                job.timeline.events.iter_mut().for_each(|event| event.path = 0);
            }),
            ("paths[0].down.queue_packets: needs a FIFO queue", |job| job.paths[0].down.queue_packets = Some(0)),
            ("paths[0].neighbours: are cold", |job| job.paths[0].neighbours = Neighbours::Cold),
            ("paths[1].ipv6: differs", |job| {
                job.paths.push(job.paths[0].clone());
                job.paths[1].ipv6 = false;
            }),
        ];
        for (expected, spoil) in cases {
            let mut job = golden::job("bulk-tls-ipv6");
            assert_eq!(problems(&job), Vec::<String>::new());
            spoil(&mut job);
            let found = problems(&job);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_stack_is_refused_what_it_would_not_do() {
        use TransportKind::{Quic, Sctp, Tcp};
        type Spoil = fn(&mut Transport);
        let spoil: [(TransportKind, &str, Spoil); 12] = [
            (Quic, "transport.initial_window_packets: is 1", |transport| transport.initial_window_packets = 1),
            (Tcp, "transport.mss_bytes: must", |transport| transport.mss_bytes = Some(87)),
            (Tcp, "transport.mss_bytes: must", |transport| transport.mss_bytes = Some(32_768)),
            (Tcp, "transport.tcp.recovery: is classic with SACK", |transport| transport.tcp.sack = true),
            (Tcp, "transport.tcp.tcp_rto_min_ns: must", |transport| transport.tcp.tcp_rto_min_ns = Some(0)),
            (Tcp, "transport.tcp.tcp_rto_min_ns: must", |transport| transport.tcp.tcp_rto_min_ns = Some(15_000_000)),
            (Sctp, "transport.mss_bytes: must", |transport| transport.mss_bytes = Some(463)),
            (Sctp, "transport.sctp.streams: is 0", |transport| transport.sctp.streams = 0),
            (Sctp, "transport.sctp.max_message_bytes: is 8", |transport| transport.sctp.max_message_bytes = 8),
            (Sctp, "transport.sctp.max_message_bytes: is", |transport| transport.sctp.max_message_bytes = 1 << 31),
            (Sctp, "transport.sctp: has an RTO bound", |transport| transport.sctp.rto_min_ns = 1_500_000),
            (Sctp, "transport.sctp: needs", |transport| transport.sctp.rto_max_ns = 100_000_000),
        ];
        for (kind, expected, spoil) in spoil {
            let mut job = golden::job("bulk-tcp-impaired");
            job.only_mut().transport.kind = kind;
            let tcp = &mut job.only_mut().transport.tcp;
            (tcp.sack, tcp.recovery) = (false, Recovery::Classic);
            assert_eq!(problems(&job), Vec::<String>::new());
            spoil(&mut job.only_mut().transport);
            let found = problems(&job);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_stack_is_refused_what_it_cannot_resume_or_carry_over() {
        use TransportKind::{Mptcp, Quic, Sctp, Tcp, Tls};
        let cannot = |kind, resume, reconnect, handovers: bool| {
            let mut job = golden::job("bulk-tcp-impaired");
            let usual = job.only().transport.clone();
            job.only_mut().transport = Transport { kind, resume, reconnect, ..usual };
            if handovers {
                job.timeline.events = vec![Event { at_ns: 1, path: 0, change: Change::Attach {} }];
            }
            problems(&job)
        };
        let resume = |kind, resume| cannot(kind, resume, Reconnect::New, false);
        let sessionless =
            [(Tcp, Resume::OneRtt), (Sctp, Resume::OneRtt), (Sctp, Resume::ZeroRtt), (Mptcp, Resume::ZeroRtt)];
        for (kind, way) in sessionless {
            let expected = format!("transport.resume: is {}, which {} cannot do", json!(way), json!(kind));
            assert_eq!(resume(kind, way), [expected]);
        }
        for (kind, way) in
            [(Tcp, Resume::ZeroRtt), (Tls, Resume::OneRtt), (Quic, Resume::ZeroRtt), (Mptcp, Resume::None)]
        {
            assert_eq!(resume(kind, way), Vec::<String>::new());
        }
        for (kind, way) in [(Tcp, Reconnect::Migrate), (Tls, Reconnect::Migrate), (Mptcp, Reconnect::New)] {
            let expected = format!("transport.reconnect: is {}, which {} cannot do", json!(way), json!(kind));
            assert_eq!(cannot(kind, Resume::None, way, true), [expected]);
            assert_eq!(cannot(kind, Resume::None, way, false), Vec::<String>::new());
        }
    }

    #[test]
    fn every_problem_names_its_key() {
        type Spoil = fn(&mut Job);
        let spoil: [(&str, Spoil); 13] = [
            ("transport.model", |job| job.only_mut().transport.model = Model::Ns3),
            ("format", |job| job.format = 1),
            ("workloads", |job| job.workloads.clear()),
            ("paths", |job| job.paths.clear()),
            ("timeline.events", |job| {
                job.timeline.events = vec![Event { at_ns: 1, path: 1, change: Change::Outage {} }];
            }),
            ("paths[0].mtu_bytes", |job| job.paths[0].mtu_bytes = 40),
            ("paths[0].up.jitter_ns", |job| job.paths[0].up.jitter_ns = 3_000_000_000),
            ("paths[0].up.delay_ns", |job| job.paths[0].up.delay_ns = u64::MAX),
            ("paths[0].up.rate_bit_s", |job| job.paths[0].up.rate_bit_s = Some(0)),
            ("paths[0].down.reorder", |job| job.paths[0].down.delay_ns = 0),
            ("transport.buffer_bytes", |job| job.only_mut().transport.buffer_bytes = u64::MAX),
            ("transport.send_buffer_bytes", |job| {
                let transport = &mut job.only_mut().transport;
                transport.send_buffer_bytes = transport.buffer_bytes + 1;
            }),
            ("transport.initial_window_packets", |job| job.only_mut().transport.initial_window_packets = 0),
        ];
        for (key, spoil) in spoil {
            let mut job = golden::job("bulk-tcp-impaired");
            spoil(&mut job);
            let found = problems(&job);
            assert_eq!(found.len(), 1, "{key}: {found:?}");
            assert!(found[0].starts_with(&format!("{key}: ")), "{found:?}");
        }
    }
}
