//! Generates the messages of a flow, each when it is due.

use std::iter::Peekable;
use std::time::Duration;

use netwarp_wire::job::Flow;
use netwarp_wire::record::{FlowSentRecord, Side};
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use super::{HEADER_BYTES, Header, Schedule};
use crate::clock::Moment;

/// Generates the messages of a flow, and counts the sent ones.
pub struct Pacer {
    /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`; times in messages count from it.
    epoch_ns: u64,
    schedule: Peekable<Schedule>,
    /// When the flow began, in nanoseconds of `CLOCK_MONOTONIC`: when the sender first asked for a message.
    start_ns: Option<u64>,
    message: Vec<u8>,
    messages: u64,
    first_ns: u64,
    last_ns: u64,
    late_ns_max: u64,
}

impl Pacer {
    /// Creates the pacer of a flow. The flow starts when the sender first asks for a message.
    pub fn of(flow: &Flow, epoch_ns: u64) -> Self {
        Self {
            epoch_ns,
            schedule: Schedule::of(flow).peekable(),
            start_ns: None,
            message: vec![0; flow.message_bytes.into()],
            messages: 0,
            first_ns: 0,
            last_ns: 0,
            late_ns_max: 0,
        }
    }

    /// Returns when the next message is due, in nanoseconds of `CLOCK_MONOTONIC`; `None` after the last.
    pub fn next_due_ns(&mut self) -> Option<u64> {
        let start_ns = *self.start_ns.get_or_insert_with(|| Moment::now().since(0));
        self.schedule.peek().map(|due_ns| start_ns + due_ns)
    }

    /// Returns when the last message was sent, in nanoseconds of `CLOCK_MONOTONIC`; 0 before the first.
    pub fn last_sent_ns(&self) -> u64 {
        self.last_ns
    }

    /// Returns the next message, marked as sent at `now_ns`; `None` if none is due.
    pub fn due_message(&mut self, now_ns: u64) -> Option<&[u8]> {
        let due_ns = self.next_due_ns().filter(|due_ns| *due_ns <= now_ns)?;
        self.schedule.next();
        let [due, sent] = [due_ns, now_ns].map(|at_ns| at_ns.wrapping_sub(self.epoch_ns));
        let header = Header { number: self.messages, due_ns: due, sent_ns: sent };
        self.message[..HEADER_BYTES].copy_from_slice(&header.encode());
        if self.messages == 0 {
            self.first_ns = now_ns;
        }
        (self.messages, self.last_ns) = (self.messages + 1, now_ns);
        self.late_ns_max = self.late_ns_max.max(now_ns - due_ns);
        Some(&self.message)
    }

    /// Appends the messages that are due at `now_ns` to `into`, as many as fit into `room_bytes`.
    pub fn due_messages(&mut self, now_ns: u64, room_bytes: usize, into: &mut Vec<u8>) {
        into.clear();
        while into.len() + self.message.len() <= room_bytes.max(self.message.len()) {
            match self.due_message(now_ns) {
                Some(message) => into.extend_from_slice(message),
                None => break,
            }
        }
    }

    /// Returns the record of the messages that were sent.
    pub fn record(&self, side: Side) -> FlowSentRecord {
        FlowSentRecord {
            side,
            messages: self.messages,
            bytes: self.messages * self.message.len() as u64,
            first_ns: self.first_ns.saturating_sub(self.epoch_ns),
            last_ns: self.last_ns.saturating_sub(self.epoch_ns),
            late_ns_max: Some(self.late_ns_max),
        }
    }
}

/// Sleeps until this time of `CLOCK_MONOTONIC`, to the nanosecond. By default the kernel may wake a thread up to 50 µs
/// later (`PR_SET_TIMERSLACK`).
pub fn sleep_until(at_ns: u64) {
    thread_local! {
        static PUNCTUAL: bool = nix::sys::prctl::set_timerslack(1).is_ok();
    }
    // If the kernel refuses, the messages' times show how late they were sent.
    PUNCTUAL.with(|_| ());
    let at = TimeSpec::from_duration(Duration::from_nanos(at_ns));
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at) == Err(Errno::EINTR) {}
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::{Arrivals, Direction};

    use super::*;

    fn pacer() -> Pacer {
        let arrivals = Arrivals::Constant { interval_ns: 1000 };
        let flow = Flow {
            seed: 0,
            direction: Direction::Up,
            message_bytes: 30,
            arrivals,
            messages: Some(5),
            duration_ns: None,
            packet_table: false,
        };
        Pacer { start_ns: Some(10_000), ..Pacer::of(&flow, 9_000) }
    }

    #[test]
    fn a_message_is_made_when_it_is_due_and_not_before() {
        let mut pacer = pacer();
        assert_eq!(pacer.next_due_ns(), Some(10_000));
        assert!(pacer.due_message(9_999).is_none());
        let first = pacer.due_message(10_007).unwrap();
        assert_eq!(first.len(), 30);
        assert_eq!(Header::decode(first), Some(Header { number: 0, due_ns: 1_000, sent_ns: 1_007 }));
        assert_eq!(pacer.next_due_ns(), Some(11_000));
    }

    #[test]
    fn messages_that_are_late_leave_together_and_say_how_late() {
        let mut pacer = pacer();
        let mut batch = Vec::new();
        pacer.due_messages(12_500, 89, &mut batch);
        assert_eq!(batch.len(), 60, "there is room for two of three");
        pacer.due_messages(12_500, 10, &mut batch);
        assert_eq!(batch.len(), 30, "one always has room");
        pacer.due_messages(12_999, 1000, &mut batch);
        assert!(batch.is_empty());
        pacer.due_messages(20_000, 1000, &mut batch);
        assert_eq!((batch.len(), pacer.next_due_ns()), (60, None));
        let sent = pacer.record(Side::Client);
        let expected = FlowSentRecord {
            side: Side::Client,
            messages: 5,
            bytes: 150,
            first_ns: 3_500,
            last_ns: 11_000,
            late_ns_max: Some(7_000),
        };
        assert_eq!(sent, expected);
    }

    #[test]
    fn sleep_ends_no_earlier() {
        let until_ns = Moment::now().since(0) + 2_000_000;
        sleep_until(until_ns);
        assert!(Moment::now().since(0) >= until_ns);
    }
}
