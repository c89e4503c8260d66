//! Bytes in order over messages that may overtake each other: unordered ones (RFC 9260, 6.6). Each message then begins
//! with its place. Pure.

use std::collections::BTreeMap;

use crate::transport::error::{Context as _, Result, ensure};

/// What a message begins with: the number of bytes this end sent before, in big endian. On the wire it counts as
/// user data, as it would in any program that does this.
pub(super) const PLACE_BYTES: usize = size_of::<u64>();

/// A message: the place, then the bytes.
pub(super) fn placed(place: u64, bytes: &[u8]) -> Vec<u8> {
    [&place.to_be_bytes()[..], bytes].concat()
}

/// Puts messages back in order.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// Bytes handed on so far.
    place: u64,
    /// Messages that came before their turn, and the rest of the one whose turn it is, by place.
    waiting: BTreeMap<u64, Vec<u8>>,
}

impl Reassembly {
    /// Takes a message as it came.
    ///
    /// # Errors
    /// One that is too short to have a place, that is empty, or whose bytes were here before.
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

    /// Whether the next byte is here.
    pub(super) fn has_next(&self) -> bool {
        self.waiting.contains_key(&self.place)
    }

    /// Fills the buffer's front with the next bytes; gives how many, 0 while they have not come.
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
