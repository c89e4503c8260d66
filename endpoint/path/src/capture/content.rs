//! How much the workloads of a captured run send, by which the memory of a recording is sized.

use std::iter::Sum;

use netwarp_wire::job::Job;

/// About how much a workload sends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Content {
    /// Bytes of content.
    pub bytes: u64,
    /// Messages that may each need a packet of their own; 0 if the content is not divided into messages.
    pub messages: u64,
}

impl Content {
    /// Returns about how many packets carry the content: full-size ones, or one for each message if that is more.
    pub(super) fn packets(self, job: &Job) -> u64 {
        let mss_bytes = job.workloads.iter().filter_map(|each| each.transport.mss_bytes).min();
        let payload_bytes = u64::from(mss_bytes.unwrap_or(job.paths[0].mtu_bytes)).clamp(100, 1400);
        self.bytes.div_ceil(payload_bytes).max(self.messages)
    }
}

impl Sum for Content {
    fn sum<I: Iterator<Item = Self>>(contents: I) -> Self {
        contents.fold(Self::default(), |sum, each| Self {
            bytes: sum.bytes.saturating_add(each.bytes),
            messages: sum.messages.saturating_add(each.messages),
        })
    }
}
