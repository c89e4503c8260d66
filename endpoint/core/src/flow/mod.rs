//! Flows: messages of one size, each sent when it is due. Transports and workloads use this to send and to count them.

mod message_sink;
mod pacer;
mod schedule;
mod tally;

pub use self::message_sink::{MessageSink, Received};
pub use self::pacer::{Pacer, sleep_until};
pub use self::schedule::Schedule;
pub use self::tally::Tally;

/// The size of the header at the beginning of a message: its number, when it was due and when it was sent.
pub const HEADER_BYTES: usize = 24;

/// The position, in a message, of the time when it was sent.
pub const SENT_PLACE: std::ops::Range<usize> = 16..HEADER_BYTES;

/// The header of a message. Its times are in nanoseconds since the run's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The number of the message, starting at 0.
    pub number: u64,
    /// When the message is due by the schedule.
    pub due_ns: u64,
    /// When the message was passed to the transport.
    pub sent_ns: u64,
}

impl Header {
    /// Returns the header as bytes on the wire.
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        for (place, field) in bytes.chunks_exact_mut(8).zip([self.number, self.due_ns, self.sent_ns]) {
            place.copy_from_slice(&field.to_be_bytes());
        }
        bytes
    }

    /// Decodes the header of a message; `None` if the message is too short.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let field = |at: usize| Some(u64::from_be_bytes(*message.get(at..at + 8)?.first_chunk()?));
        Some(Self { number: field(0)?, due_ns: field(8)?, sent_ns: field(16)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header { number: 1, due_ns: u64::MAX, sent_ns: 3 << 40 };
        let mut message = header.encode().to_vec();
        message.push(7);
        assert_eq!(Header::decode(&message), Some(header));
        assert_eq!(Header::decode(&message[..23]), None);
    }
}
