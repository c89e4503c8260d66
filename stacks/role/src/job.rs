//! The part of a job that a role reads (`docs/run-format.md`). Unknown keys are ignored.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

/// The size of the headers of IPv4 and UDP, in bytes.
const HEADERS_BYTES: u32 = 28;

/// The smallest UDP payload that QUIC needs (RFC 9000, section 14).
const LEAST_PAYLOAD_BYTES: u32 = 1200;

/// The job of one run, with the one workload that a role carries out.
#[derive(Debug, Deserialize)]
#[serde(from = "Written")]
pub struct Job {
    /// The seed of the run.
    pub seed: u64,
    paths: Vec<Link>,
    /// The transport and its options.
    pub transport: Transport,
    workload: Workload,
    /// When the run is given up.
    pub limits: Limits,
}

/// A job as it is written.
#[derive(Deserialize)]
struct Written {
    seed: u64,
    paths: Vec<Link>,
    workloads: [Exchange; 1],
    limits: Limits,
}

#[derive(Deserialize)]
struct Exchange {
    transport: Transport,
    workload: Workload,
}

impl From<Written> for Job {
    fn from(Written { seed, paths, workloads: [Exchange { transport, workload }], limits }: Written) -> Self {
        Self { seed, paths, transport, workload, limits }
    }
}

#[derive(Debug, Deserialize)]
struct Link {
    mtu_bytes: u32,
}

/// The transport's options.
#[derive(Debug, Deserialize)]
pub struct Transport {
    /// The name of the congestion control in the stack.
    pub congestion: String,
    /// The size of the flow-control windows, in bytes.
    pub buffer_bytes: u64,
    /// The initial congestion window, in full-size packets.
    pub initial_window_packets: u32,
    /// The largest UDP payload of a packet, in bytes, if smaller than the MTU allows.
    pub mss_bytes: Option<u32>,
    /// What later connections use of earlier ones.
    pub resume: Resume,
}

/// What later connections use of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
pub enum Resume {
    /// Nothing.
    #[serde(rename = "none")]
    Nothing,
    /// Session tickets.
    #[serde(rename = "1rtt")]
    OneRtt,
    /// Session tickets with early data.
    #[serde(rename = "0rtt")]
    ZeroRtt,
}

/// When a run is given up.
#[derive(Debug, Deserialize)]
pub struct Limits {
    /// The limit on the run's own clock, in nanoseconds.
    pub virtual_ns: u64,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Workload {
    Bulk(Bulk),
    #[serde(other)]
    Other,
}

/// One content, whole or in chunks, once or several times.
#[derive(Debug, Clone, Deserialize)]
pub struct Bulk {
    /// The direction of the content.
    pub direction: Direction,
    /// The content to send.
    pub content: Content,
    /// Whether both ends hash it.
    pub verify: bool,
    /// The number of chunks that are sent concurrently.
    pub chunks: u64,
    /// How often it is sent.
    pub transfers: u64,
}

/// The direction of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From server to client.
    Down,
    /// From client to server.
    Up,
}

/// A content to send.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Content {
    /// Bytes made from a seed.
    Seeded {
        /// The seed of the generator.
        seed: u64,
        /// The number of bytes.
        size_bytes: u64,
    },
    /// A file.
    File {
        /// The file's absolute path.
        path: String,
        /// The file's size when the run was planned, in bytes.
        size_bytes: u64,
    },
}

impl Content {
    /// Returns the content's size, in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Seeded { size_bytes, .. } | Self::File { size_bytes, .. } => *size_bytes,
        }
    }
}

impl Job {
    /// Reads a job.
    ///
    /// # Errors
    /// The file is not a job, or asks for something that no role of this crate does.
    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("read the job {}", file.display()))?;
        let job: Self =
            serde_json::from_str(&text).with_context(|| format!("understand the job {}", file.display()))?;
        ensure!(!job.paths.is_empty(), "the job has no path");
        job.bulk()?;
        Ok(job)
    }

    /// Returns the job's workload.
    ///
    /// # Errors
    /// It is not a bulk workload.
    pub fn bulk(&self) -> Result<&Bulk> {
        match &self.workload {
            Workload::Bulk(bulk) => Ok(bulk),
            Workload::Other => bail!("this role has the workload bulk, and no other"),
        }
    }

    /// Returns the UDP payload of a full packet, in bytes: what the path's MTU allows, or less if the job says so.
    pub fn payload_bytes(&self) -> u32 {
        let allowed_bytes = self.paths[0].mtu_bytes.saturating_sub(HEADERS_BYTES);
        self.transport
            .mss_bytes
            .unwrap_or(allowed_bytes)
            .clamp(LEAST_PAYLOAD_BYTES, allowed_bytes.max(LEAST_PAYLOAD_BYTES))
    }
}

impl Bulk {
    /// Returns the offset and the length of a chunk in the content: chunks are equal, and the last also takes the
    /// remainder.
    pub fn part(&self, chunk: u64) -> (u64, u64) {
        let (size_bytes, each_bytes) = (self.content.size_bytes(), self.content.size_bytes() / self.chunks);
        let offset_bytes = chunk * each_bytes;
        let is_last = chunk + 1 == self.chunks;
        (offset_bytes, if is_last { size_bytes - offset_bytes } else { each_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_tile_the_content() {
        let content = Content::Seeded { seed: 7, size_bytes: 1001 };
        let bulk = Bulk { direction: Direction::Down, content, verify: true, chunks: 3, transfers: 1 };
        assert_eq!([0, 1, 2].map(|chunk| bulk.part(chunk)), [(0, 333), (333, 333), (666, 335)]);
    }
}
