//! The receiving end of a flow: counts its messages.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use netwarp_wire::job::Flow;
use netwarp_wire::record::{FlowUnit, Record};

use super::{Header, Schedule, Tally};
use crate::content_sink::WatchedArrivals;

/// The file name, in the run directory, of the table of packets.
const TABLE_FILE: &str = "packets.csv";

/// A message that has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// The header of the message.
    pub header: Header,
    /// The size of the whole message.
    pub bytes: u64,
    /// When the message arrived, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

/// Counts the messages of a flow as they arrive.
pub struct MessageSink {
    flow: Flow,
    epoch_ns: u64,
    expected: u64,
    last_due_ns: u64,
    messages: Tally,
    /// If each message is a packet: the size of a packet's headers, and the statistics of packets.
    packets: Option<(u64, Tally)>,
    table: Option<String>,
    first_at_ns: Option<u64>,
    /// Where arrivals are logged; `None` if the run does not record them over time.
    arrivals: Option<WatchedArrivals>,
}

impl MessageSink {
    /// Creates a sink that waits for all messages of a flow.
    ///
    /// # Arguments
    /// * `epoch_ns` - the run's epoch in nanoseconds of this end's `CLOCK_MONOTONIC`; times in messages count from it.
    /// * `packet_header_bytes` - the size of a packet's headers, if each message is a packet.
    pub fn of(flow: &Flow, epoch_ns: u64, packet_header_bytes: Option<u64>) -> Self {
        let (expected, last_due_ns) = Schedule::of(flow).extent();
        Self {
            flow: flow.clone(),
            epoch_ns,
            expected,
            last_due_ns,
            messages: Tally::default(),
            packets: packet_header_bytes.map(|header_bytes| (header_bytes, Tally::default())),
            table: flow.packet_table.then(|| "number,due_ns,sent_ns,received_ns,bytes\n".to_owned()),
            first_at_ns: None,
            arrivals: None,
        }
    }

    /// Sets the log in which arrivals are recorded over time.
    pub fn watching_arrivals(self, arrivals: Option<WatchedArrivals>) -> Self {
        Self { arrivals, ..self }
    }

    /// Returns the size of each message.
    pub fn message_bytes(&self) -> usize {
        self.flow.message_bytes.into()
    }

    /// Returns whether all messages have arrived.
    pub fn is_complete(&self) -> bool {
        self.missing() == 0
    }

    /// Returns how many messages have not arrived yet.
    pub fn missing(&self) -> u64 {
        self.expected.saturating_sub(self.messages.received())
    }

    /// Returns the latest time at which the last message can be due, in nanoseconds of `CLOCK_MONOTONIC`, counted from
    /// the first arrival; `None` before that.
    pub fn last_due_ns(&self) -> Option<u64> {
        self.first_at_ns.map(|first_at_ns| first_at_ns.saturating_add(self.last_due_ns))
    }

    /// Counts a message that has arrived. A message with an impossible number or size is ignored: the path has
    /// corrupted it.
    pub fn arrived(&mut self, received: Received) {
        let Received { header: Header { number, due_ns, sent_ns }, bytes, at_ns } = received;
        if number >= self.expected || bytes != u64::from(self.flow.message_bytes) {
            return;
        }
        let [due_ns, sent_ns] = [due_ns, sent_ns].map(|after_ns| after_ns.wrapping_add(self.epoch_ns));
        self.first_at_ns.get_or_insert(at_ns);
        self.messages.arrived(number, due_ns, at_ns, bytes);
        if let Some(WatchedArrivals { arrival_log, epoch_ns, .. }) = &self.arrivals {
            let at_ns = at_ns.saturating_sub(*epoch_ns);
            arrival_log.lock().expect("no holder panics").record_arrival(at_ns, bytes, true);
        }
        if let Some((header_bytes, packets)) = &mut self.packets {
            packets.arrived(number, sent_ns, at_ns, bytes + *header_bytes);
        }
        if let Some(table) = &mut self.table {
            let [due_ns, sent_ns, at_ns] = [due_ns, sent_ns, at_ns].map(|at_ns| at_ns.saturating_sub(self.epoch_ns));
            // Writing to a String cannot fail.
            let _ = writeln!(table, "{number},{due_ns},{sent_ns},{at_ns},{bytes}");
        }
    }

    /// Returns the record of the responses that arrived.
    pub fn into_responses(self) -> Record {
        let (unit, direction) = (FlowUnit::Response, self.flow.direction);
        Record::FlowStats(self.messages.into_record(unit, direction, None, self.epoch_ns))
    }

    /// Returns the records of the messages that arrived, and writes the table of packets if the job asks for it.
    ///
    /// # Errors
    /// The table cannot be written.
    pub fn finish(self, run_directory: &Path) -> Result<Vec<Record>> {
        if let Some(table) = self.table {
            let path = run_directory.join(TABLE_FILE);
            std::fs::write(&path, table).with_context(|| format!("write {}", path.display()))?;
        }
        let tallies =
            [(FlowUnit::Message, Some(self.messages)), (FlowUnit::Packet, self.packets.map(|(_, tally)| tally))];
        let direction = self.flow.direction;
        let record = |(unit, tally): (FlowUnit, Option<Tally>)| {
            tally.map(|tally| Record::FlowStats(tally.into_record(unit, direction, None, self.epoch_ns)))
        };
        Ok(tallies.into_iter().filter_map(record).collect())
    }
}
