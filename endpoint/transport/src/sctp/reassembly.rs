//! Restores the order of bytes over messages that may overtake each other: unordered ones (RFC 9260, 6.6). Each message
//! begins with its offset. Pure.

use std::collections::BTreeMap;

use crate::error::{Context as _, Result, ensure};

/// The size of the offset at the beginning of a message: the number of bytes that this end sent before, in big endian.
/// On the wire it counts as user data, as in any program that does this.
pub(super) const PLACE_BYTES: usize = size_of::<u64>();

/// Returns a message to send: the offset, then the bytes.
pub(super) fn placed(place: u64, bytes: &[u8]) -> Vec<u8> {
    [&place.to_be_bytes()[..], bytes].concat()
}

/// Puts the bytes of received messages in order.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// The offset of the next byte to read.
    place: u64,
    /// Messages that arrived early, and the rest of the message being read, by offset.
    waiting: BTreeMap<u64, Vec<u8>>,
}

impl Reassembly {
    /// Adds a received message.
    ///
    /// # Errors
    /// The message is too short for an offset, is empty, or repeats received bytes.
    pub(super) fn take(&mut self, message: &[u8]) -> Result<()> {
        let (place, bytes) = message.split_first_chunk().context("a message is too short to say where it belongs")?;
        let place = u64::from_be_bytes(*place);
        ensure!(!bytes.is_empty(), "a message has no bytes but its place, {place}");
        let end = place.checked_add(bytes.len() as u64).context("a message lies beyond any content")?;
        let before = self.waiting.range(..=place).next_back();
        let is_new = place >= self.place
            && before.is_none_or(|(start, bytes)| start + bytes.len() as u64 <= place)
            && self.waiting.range(place..end).next().is_none();
        ensure!(is_new, "bytes {place} to {end} came twice");
        self.waiting.insert(place, bytes.to_vec());
        Ok(())
    }

    /// Returns whether the next byte has arrived.
    pub(super) fn has_next(&self) -> bool {
        self.waiting.contains_key(&self.place)
    }

    /// Reads the next bytes into the buffer. Returns how many were read; 0 if the next byte has not arrived.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buffer.len() {
            let Some(mut bytes) = self.waiting.remove(&self.place) else { break };
            let length = bytes.len().min(buffer.len() - filled);
            buffer[filled..filled + length].copy_from_slice(&bytes[..length]);
            filled += length;
            self.place += length as u64;
            if length < bytes.len() {
                bytes.drain(..length);
                self.waiting.insert(self.place, bytes);
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reassembly: &mut Reassembly, length: usize) -> Vec<u8> {
        let mut buffer = vec![0; length];
        let filled = reassembly.read(&mut buffer);
        buffer.truncate(filled);
        buffer
    }

    #[test]
    fn messages_are_put_back_in_order() {
        let mut reassembly = Reassembly::default();
        reassembly.take(&placed(3, b"de")).unwrap();
        assert_eq!(read(&mut reassembly, 10), b"");
        reassembly.take(&placed(5, b"fgh")).unwrap();
        reassembly.take(&placed(0, b"abc")).unwrap();
        assert_eq!(read(&mut reassembly, 4), b"abcd");
        assert_eq!(read(&mut reassembly, 10), b"efgh");
        assert_eq!(read(&mut reassembly, 10), b"");
    }

    #[test]
    fn no_byte_is_taken_twice() {
        let mut reassembly = Reassembly::default();
        reassembly.take(&placed(4, b"efgh")).unwrap();
        for (place, bytes) in [(4, &b"e"[..]), (5, b"f"), (7, b"hi"), (2, b"cde")] {
            assert!(reassembly.take(&placed(place, bytes)).is_err(), "{place} {bytes:?}");
        }
        reassembly.take(&placed(0, b"abcd")).unwrap();
        assert_eq!(read(&mut reassembly, 8), b"abcdefgh");
        assert!(reassembly.take(&placed(0, b"a")).is_err());
    }

    #[test]
    fn what_is_no_placed_message_is_refused() {
        let mut reassembly = Reassembly::default();
        assert!(reassembly.take(b"short").is_err());
        assert!(reassembly.take(&placed(0, b"")).is_err());
        assert!(reassembly.take(&placed(u64::MAX, b"ab")).is_err());
    }
}
