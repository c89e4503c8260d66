//! What a role reads of a job (`docs/run-format.md`). Unknown keys are left alone.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

/// Headers of IPv4 and UDP.
const HEADERS_BYTES: u32 = 28;

/// The smallest UDP payload that QUIC needs (RFC 9000, section 14).
const LEAST_PAYLOAD_BYTES: u32 = 1200;

/// One run.
#[derive(Debug, Deserialize)]
pub struct Job {
    /// The seed of the run.
    pub seed: u64,
    paths: Vec<Link>,
    /// How bytes are to travel.
    pub transport: Transport,
    workload: Workload,
    /// When the run is given up.
    pub limits: Limits,
}

#[derive(Debug, Deserialize)]
struct Link {
    mtu_bytes: u32,
}

/// The transport's options.
#[derive(Debug, Deserialize)]
pub struct Transport {
    /// Congestion control by its name in the stack.
    pub congestion: String,
    /// Flow-control windows.
    pub buffer_bytes: u64,
    /// First flight, in full-size packets.
    pub initial_window_packets: u32,
    /// Bound of a packet's UDP payload, if smaller than the MTU allows.
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
    /// On the run's own clock.
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
    /// Which way it goes.
    pub direction: Direction,
    /// What is sent.
    pub content: Content,
    /// Whether both ends hash it.
    pub verify: bool,
    /// Parts that travel at once.
    pub chunks: u64,
    /// How often it is sent.
    pub transfers: u64,
}

/// Which way a content goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From server to client.
    Down,
    /// From client to server.
    Up,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Content {
    /// Bytes made from a seed.
    Seeded {
        /// The generator's.
        seed: u64,
        /// How many.
        size_bytes: u64,
    },
    /// A file.
    File {
        /// Its absolute path.
        path: String,
        /// Its size when the run was planned.
        size_bytes: u64,
    },
}

impl Content {
    /// Its size.
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
    /// A file that is none, or that asks for what no role of this crate does.
    pub fn read(file: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(file).with_context(|| format!("read the job {}", file.display()))?;
        let job: Self = serde_json::from_str(&text)
            .with_context(|| format!("understand the job {}", file.display()))?;
        ensure!(!job.paths.is_empty(), "the job has no path");
        job.bulk()?;
        Ok(job)
    }

    /// Its workload.
    ///
    /// # Errors
    /// Another one than bulk.
    pub fn bulk(&self) -> Result<&Bulk> {
        match &self.workload {
            Workload::Bulk(bulk) => Ok(bulk),
            Workload::Other => bail!("this role has the workload bulk, and no other"),
        }
    }

    /// The UDP payload of a full packet: what the path's MTU allows, or less if the job says so.
    pub fn payload_bytes(&self) -> u32 {
        let allowed_bytes = self.paths[0].mtu_bytes.saturating_sub(HEADERS_BYTES);
        self.transport
            .mss_bytes
            .unwrap_or(allowed_bytes)
            .clamp(LEAST_PAYLOAD_BYTES, allowed_bytes.max(LEAST_PAYLOAD_BYTES))
    }
}

impl Bulk {
    /// Where a chunk lies in the content, as offset and length: equal parts, and the last takes the rest.
    pub fn part(&self, chunk: u64) -> (u64, u64) {
        let (size_bytes, each_bytes) = (
            self.content.size_bytes(),
            self.content.size_bytes() / self.chunks,
        );
        let offset_bytes = chunk * each_bytes;
        let is_last = chunk + 1 == self.chunks;
        (
            offset_bytes,
            if is_last {
                size_bytes - offset_bytes
            } else {
                each_bytes
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_tile_the_content() {
        let content = Content::Seeded {
            seed: 7,
            size_bytes: 1001,
        };
        let bulk = Bulk {
            direction: Direction::Down,
            content,
            verify: true,
            chunks: 3,
            transfers: 1,
        };
        assert_eq!(
            [0, 1, 2].map(|chunk| bulk.part(chunk)),
            [(0, 333), (333, 333), (666, 335)]
        );
    }
}
