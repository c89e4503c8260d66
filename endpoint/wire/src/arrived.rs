//! Counts the bytes that arrive in each time step of a run, for the goodput record. Pure.

use crate::record::GoodputRecord;

/// The largest number of steps in a goodput record.
pub const STEPS_MAX: usize = 2000;

/// The initial width of a step, in nanoseconds. It doubles whenever there would be more than [`STEPS_MAX`] steps.
const FIRST_STEP_NS: u64 = 10_000_000;

/// The bytes that arrived in each time step since the run's epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    step_ns: u64,
    /// Bytes that arrived in each step, up to the last step in which any arrived.
    bytes: Vec<u64>,
}

impl Arrived {
    /// Creates a count without arrivals.
    pub const fn nothing() -> Self {
        Self { step_ns: FIRST_STEP_NS, bytes: Vec::new() }
    }

    /// Counts bytes that arrived at `at_ns`, in nanoseconds since the run's epoch.
    pub fn count(&mut self, at_ns: u64, bytes: u64) {
        while at_ns / self.step_ns >= STEPS_MAX as u64 {
            self.bytes = self.bytes.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.step_ns *= 2;
        }
        let step = (at_ns / self.step_ns) as usize;
        if self.bytes.len() <= step {
            self.bytes.resize(step + 1, 0);
        }
        self.bytes[step] += bytes;
    }

    /// Returns the width of a step, in nanoseconds.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Returns the goodput record of the bytes that have arrived; `None` if there are none.
    pub fn record(&self) -> Option<GoodputRecord> {
        (!self.bytes.is_empty()).then(|| GoodputRecord { step_ns: self.step_ns, bytes: self.bytes.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn every_byte_is_counted_in_its_step() {
        let mut arrived = Arrived::nothing();
        assert_eq!(arrived.record(), None);
        for (at_ms, bytes) in [(0, 1), (9, 2), (10, 4), (35, 8)] {
            arrived.count(at_ms * MS, bytes);
        }
        assert_eq!(arrived.record(), Some(GoodputRecord { step_ns: 10 * MS, bytes: vec![3, 4, 0, 8] }));
    }

    #[test]
    fn steps_double_before_there_are_too_many() {
        let mut arrived = Arrived::nothing();
        let last_ms = 10 * STEPS_MAX as u64 * 5;
        (0..last_ms).step_by(10).for_each(|ms| arrived.count(ms * MS, 1));
        let GoodputRecord { step_ns, bytes } = arrived.record().unwrap();
        assert_eq!((step_ns, bytes.len(), bytes.iter().sum::<u64>()), (80 * MS, 1250, last_ms / 10));
        assert!(bytes.iter().all(|&each| each == 8));
    }
}
