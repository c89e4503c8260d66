//! What a server remembers across connections, for a client that returns on another connection after a handover.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What the server of a run knows of its client's attempts.
#[derive(Debug, Default)]
pub struct AttemptTracker {
    latest_attempt: AtomicU32,
    recorded: Mutex<BTreeSet<(u32, u32)>>,
}

impl AttemptTracker {
    /// Records that a request arrived on a connection of this attempt: the number of times that the client had dialled
    /// anew before, in the run.
    pub(crate) fn record_attempt(&self, attempt: u32) {
        self.latest_attempt.fetch_max(attempt, Relaxed);
    }

    /// Returns whether the client has returned on a connection of a later attempt.
    pub(crate) fn is_superseded(&self, attempt: u32) -> bool {
        attempt < self.latest_attempt.load(Relaxed)
    }

    /// Returns whether this chunk of a transfer has no record yet, and marks it as recorded. A client that moved before
    /// it knew that its confirmation had arrived requests the chunk again, with no bytes left; one that moved before its
    /// connection could migrate uploads again what its kernel may still deliver.
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
