//! Reads a role's job (`docs/run-format.md`), and derives settings from it. Unknown keys are ignored, as `netwarp-wire`
//! is built with the feature `tolerant`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_wire::job::{self, Bulk, JOB_FORMAT, Limits, Resume, Transport, TransportKind, Workload};
use netwarp_wire::record::{ConnectionRecord, Settings, Side, Stats};

/// The size of a UDP header, in bytes.
const UDP_HEADER_BYTES: u32 = 8;
/// The size of an IPv4 header without options, in bytes.
const IPV4_HEADER_BYTES: u32 = 20;
/// The size of an IPv6 header without extensions, in bytes.
const IPV6_HEADER_BYTES: u32 = 40;

/// The application protocol (ALPN) that both ends offer.
pub const PROTOCOL: &str = "netwarp";

/// By how much the idle time-out of connections exceeds the longest duration of the run.
pub const IDLE_BEYOND: Duration = Duration::from_secs(10);

/// The smallest UDP payload that a path must allow for QUIC, in bytes (RFC 9000, section 14).
const LEAST_PAYLOAD_BYTES: u32 = 1200;

/// The parts of a job that a role for `bulk` transfers needs.
#[derive(Debug)]
pub struct Job {
    /// The transport and its options.
    pub transport: Transport,
    /// The content, and how it is transferred.
    pub bulk: Bulk,
    /// The limits at which the run is given up.
    pub limits: Limits,
    /// Whether the bytes that arrive are recorded over time: if workloads share the run, or the path changes during it.
    pub(crate) is_recorded_over_time: bool,
    mtu_bytes: u32,
    ipv6: bool,
}

impl Job {
    /// Reads a job.
    ///
    /// # Errors
    /// The file is not a job, or the job needs something that no role of this crate can do.
    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("read the job {}", file.display()))?;
        Self::of(&text).with_context(|| format!("understand the job {}", file.display()))
    }

    fn of(text: &str) -> Result<Self> {
        let job: job::Job = serde_json::from_str(text)?;
        ensure!(job.format == JOB_FORMAT, "it has format {}, and this role reads {JOB_FORMAT}", job.format);
        let own = job.alone().context("a role carries out one workload")?;
        let Workload::Bulk(bulk) = &own.workload else { bail!("this role has the workload bulk, and no other") };
        let &job::Path { mtu_bytes, ipv6, .. } = job.paths.first().context("it has no path")?;
        let is_recorded_over_time = own.name.is_some() || !job.timeline.is_empty();
        let (transport, bulk) = (own.transport.clone(), bulk.clone());
        Ok(Self { transport, bulk, limits: job.limits, is_recorded_over_time, mtu_bytes, ipv6 })
    }

    /// Returns the size of the IP and UDP headers, in bytes.
    pub fn headers_bytes(&self) -> u32 {
        UDP_HEADER_BYTES + if self.ipv6 { IPV6_HEADER_BYTES } else { IPV4_HEADER_BYTES }
    }

    /// Returns the UDP payload of a full packet, in bytes: as much as the path's MTU allows, or less if the job says
    /// so.
    pub fn payload_bytes(&self) -> u32 {
        let allowed_bytes = self.mtu_bytes.saturating_sub(self.headers_bytes());
        self.transport
            .mss_bytes
            .unwrap_or(allowed_bytes)
            .clamp(LEAST_PAYLOAD_BYTES, allowed_bytes.max(LEAST_PAYLOAD_BYTES))
    }

    /// Returns the initial congestion window, in bytes of UDP payload.
    pub fn initial_window_bytes(&self) -> u32 {
        self.transport.initial_window_packets.saturating_mul(self.payload_bytes())
    }

    /// Returns the settings of a connection, for its record.
    ///
    /// # Arguments
    /// * `payload_bytes` - the UDP payload of the connection's full packets, in bytes.
    /// * `paced` - whether the stack paces packets.
    pub fn settings(&self, payload_bytes: u32, paced: bool) -> Settings {
        let transport = &self.transport;
        Settings {
            transport: TransportKind::Quic,
            congestion: transport.congestion.clone(),
            initial_window_bytes: u64::from(transport.initial_window_packets) * u64::from(payload_bytes),
            mss_bytes: payload_bytes,
            send_buffer_bytes: transport.buffer_bytes,
            receive_buffer_bytes: transport.buffer_bytes,
            paced,
        }
    }

    /// Returns the record of a connection that resumed no session, and whose sender paces full packets.
    ///
    /// # Arguments
    /// * `times_ns` - when the connection was begun and when it was established, in nanoseconds since the run's epoch.
    pub fn connection_record(&self, side: Side, transfer: u32, times_ns: (u64, u64), stats: Stats) -> ConnectionRecord {
        let (start_ns, connected_ns) = times_ns;
        ConnectionRecord {
            side,
            connection: transfer,
            transfer,
            abandoned: false,
            resumed: Resume::None,
            start_ns,
            connected_ns,
            settings: self.settings(self.payload_bytes(), true),
            stats,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use netwarp_wire::job::{Content, Direction};
    use serde_json::{Value, json};

    use super::*;

    fn golden() -> Value {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/job-bulk-quic-stack.json");
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    /// Returns a `bulk` workload with a content of this size and this number of chunks.
    pub(crate) fn bulk(direction: Direction, size_bytes: u64, chunks: u32) -> Bulk {
        let content = Content::Seeded { seed: 7, size_bytes };
        Bulk { direction, content, chunks, verify: true, ..Job::of(&golden().to_string()).unwrap().bulk }
    }

    #[test]
    fn parts_tile_the_content() {
        let bulk = bulk(Direction::Down, 1001, 3);
        let parts = [0, 1, 2].map(|chunk| bulk.part(chunk));
        assert_eq!(parts.map(|part| (part.offset_bytes, part.length_bytes)), [(0, 333), (333, 333), (666, 335)]);
    }

    #[test]
    fn a_packet_carries_less_over_ipv6() {
        let mut job = golden();
        job["paths"][0]["mtu_bytes"] = json!(1500);
        job["workloads"][0]["transport"]["mss_bytes"] = json!(null);
        assert_eq!(Job::of(&job.to_string()).unwrap().payload_bytes(), 1472);
        job["paths"][0]["ipv6"] = json!(true);
        assert_eq!(Job::of(&job.to_string()).unwrap().payload_bytes(), 1452);
    }

    #[test]
    fn keys_of_later_versions_are_ignored_at_every_depth() {
        fn with_more(value: &mut Value) {
            match value {
                Value::Object(keys) => {
                    keys.values_mut().for_each(with_more);
                    keys.insert("of_a_later_version".to_owned(), json!({"x": 1}));
                }
                Value::Array(values) => values.iter_mut().for_each(with_more),
                _ => {}
            }
        }
        let (mut later, golden) = (golden(), Job::of(&golden().to_string()).unwrap());
        with_more(&mut later);
        let read = Job::of(&later.to_string()).unwrap();
        assert_eq!((&read.bulk, &read.transport), (&golden.bulk, &golden.transport));
    }

    #[test]
    fn what_a_role_cannot_carry_out_is_refused() {
        let refusal = |change: fn(&mut Value)| {
            let mut job = golden();
            change(&mut job);
            format!("{:#}", Job::of(&job.to_string()).unwrap_err())
        };
        assert!(refusal(|job| job["format"] = json!(1)).contains("format 1"));
        assert!(refusal(|job| job["workloads"] = json!([])).contains("one workload"));
        assert!(refusal(|job| job["paths"] = json!([])).contains("no path"));
        assert!(refusal(|job| job["workloads"][0]["workload"] = json!({"kind": "dance"})).contains("dance"));
    }
}
