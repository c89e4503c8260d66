//! The state that a server keeps across connections, because after a handover its client may return over another
//! connection.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Tracks how often the client has reconnected, and which chunks the server has already recorded.
#[derive(Debug, Default)]
pub struct AttemptTracker {
    latest_attempt: AtomicU32,
    recorded: Mutex<BTreeSet<(u32, u32)>>,
}

impl AttemptTracker {
    /// Records the attempt number of a request that arrived: how often the client had reconnected in the run when it
    /// opened the request's connection.
    pub(crate) fn record_attempt(&self, attempt: u32) {
        self.latest_attempt.fetch_max(attempt, Relaxed);
    }

    /// Returns whether a request of a later attempt has arrived.
    pub(crate) fn is_superseded(&self, attempt: u32) -> bool {
        attempt < self.latest_attempt.load(Relaxed)
    }

    /// Returns whether this chunk of a transfer has no record yet, and marks it as recorded. The server may see a chunk
    /// twice: a client that moved before it knew that its confirmation had arrived requests the chunk again, with no
    /// bytes left, and one that moved before its connection could migrate uploads again what its kernel may still
    /// deliver.
    pub(crate) fn record_once(&self, transfer: u32, chunk: u32) -> bool {
        self.recorded.lock().expect("no holder panics").insert((transfer, chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_superseded_by_a_later_attempt_alone() {
        let attempts = AttemptTracker::default();
        attempts.record_attempt(0);
        assert!(!attempts.is_superseded(0));
        attempts.record_attempt(2);
        attempts.record_attempt(1);
        assert!(attempts.is_superseded(1) && !attempts.is_superseded(2));
    }

    #[test]
    fn a_chunk_is_recorded_once() {
        let attempts = AttemptTracker::default();
        let recorded = [(0, 0), (0, 1), (1, 0), (0, 1)].map(|(transfer, chunk)| attempts.record_once(transfer, chunk));
        assert_eq!(recorded, [true, true, true, false]);
    }
}
