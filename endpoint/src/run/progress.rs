//! Reports on standard output how far the time of a run has advanced.

use std::io::Write;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Prints lines on standard output by which the host sees that the run's time advances.
#[derive(Debug, Default)]
pub(super) struct Progress {
    reported_s: u64,
}

impl Progress {
    /// Returns when the next line is due, in nanoseconds since the run's epoch: every second of the first minute, then
    /// every tenth second.
    pub(super) fn next_ns(&self) -> u64 {
        let next_s = if self.reported_s < 60 { self.reported_s + 1 } else { self.reported_s / 10 * 10 + 10 };
        next_s * NANOSECONDS_PER_SECOND
    }

    /// Prints a line if one is due at `elapsed_ns` after the run's epoch. It is no error if nobody reads standard
    /// output.
    pub(super) fn report(&mut self, elapsed_ns: u64) {
        if elapsed_ns >= self.next_ns() {
            self.reported_s = elapsed_ns / NANOSECONDS_PER_SECOND;
            let _ = writeln!(std::io::stdout(), "netwarp-progress {}", self.reported_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_comes_each_second_then_each_tenth() {
        let mut progress = Progress::default();
        assert_eq!(progress.next_ns(), NANOSECONDS_PER_SECOND);
        progress.report(59_500_000_000);
        assert_eq!(progress.next_ns(), 60_000_000_000);
        progress.report(60_000_000_000);
        assert_eq!(progress.next_ns(), 70_000_000_000);
        progress.report(83_000_000_000);
        assert_eq!(progress.next_ns(), 90_000_000_000);
    }
}
