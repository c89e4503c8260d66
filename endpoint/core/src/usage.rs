//! The CPU time that a role uses for its part of a run, measured in real time only.

use anyhow::{Context, Result};
use netwarp_wire::record::{Record, Side, UsageRecord};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

/// The CPU time used so far by all threads of this process, and by the child processes that it has waited for. It
/// includes the time of interrupts that the kernel handles while the process runs (`kernel/sched/cputime.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    user_ns: u64,
    system_ns: u64,
}

impl Usage {
    /// Returns the CPU time that this process has used so far.
    pub fn now() -> Result<Self> {
        let of = |who| getrusage(who).context("asking for the CPU time used (getrusage)");
        let (own, waited_for) = (of(UsageWho::RUSAGE_SELF)?, of(UsageWho::RUSAGE_CHILDREN)?);
        Ok(Self {
            user_ns: nanoseconds(own.user_time() + waited_for.user_time()),
            system_ns: nanoseconds(own.system_time() + waited_for.system_time()),
        })
    }

    /// Returns the CPU time used since `start`, as the record of a side.
    pub fn since(self, start: Self, side: Side) -> Record {
        Record::Usage(UsageRecord {
            side,
            user_ns: self.user_ns.saturating_sub(start.user_ns),
            system_ns: self.system_ns.saturating_sub(start.system_ns),
        })
    }
}

fn nanoseconds(time: TimeVal) -> u64 {
    u64::try_from(time.num_nanoseconds()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_after_the_start_counts() {
        let (start, end) = (Usage { user_ns: 5, system_ns: 7 }, Usage { user_ns: 9, system_ns: 7 });
        assert_eq!(
            end.since(start, Side::Server),
            Record::Usage(UsageRecord { side: Side::Server, user_ns: 4, system_ns: 0 })
        );
    }

    #[test]
    fn computing_takes_cpu_time() {
        let start = Usage::now().unwrap();
        let mut sum = 0_u64;
        loop {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(1));
            let now = Usage::now().unwrap();
            if now.user_ns + now.system_ns >= start.user_ns + start.system_ns + 1_000_000 {
                break;
            }
        }
    }
}
