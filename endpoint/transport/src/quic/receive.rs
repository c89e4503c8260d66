//! Puts the bytes of a QUIC stream in order, in whatever order they arrive.
//!
//! quinn can do this itself, but closes the connection when a stream has 1 024 gaps (quinn-proto since 0.11.15, against
//! peers that send scattered bytes to fill memory). A slow start that overshoots leaves a gap for every other packet,
//! so this happens on any path that holds more than about two thousand packets. quinn does not count gaps if bytes are
//! read out of order; so they are put in order here. Where the window is too small for so many gaps, quinn does it.

use std::collections::BTreeMap;

use quinn::{ReadError, RecvStream};

use crate::error::{Context as _, Error, Result};

/// The largest number of gaps that quinn-proto allows (`MAX_CHUNKS` in its `connection/assembler.rs`).
const MOST_GAPS: u64 = 1024;

/// The window, in bytes, up to which quinn puts bytes in order: even with QUIC's smallest full packets there cannot be
/// too many gaps.
pub(crate) const ORDERED_WINDOW_BYTES: u64 = MOST_GAPS * 1200;

/// The receiving half of a stream.
pub(crate) struct Receiver {
    stream: RecvStream,
    /// Whether quinn puts the bytes in order.
    is_ordered: bool,
    early: Early,
}

impl Receiver {
    /// Creates the receiver of a stream from which nothing has been read.
    ///
    /// # Arguments
    /// * `window_bytes` - the stream's flow-control window, in bytes.
    pub(crate) fn new(stream: RecvStream, window_bytes: u64) -> Self {
        Self { stream, is_ordered: window_bytes <= ORDERED_WINDOW_BYTES, early: Early::default() }
    }

    /// Receives the next bytes, at most `limit`; `None` at the end of the stream. Dropping this future loses no bytes.
    pub(crate) async fn next(&mut self, limit: usize) -> Result<Option<bytes::Bytes>, ReadError> {
        if self.is_ordered {
            return Ok(self.stream.read_chunk(limit, true).await?.map(|chunk| chunk.bytes));
        }
        loop {
            if let Some(bytes) = self.early.next(limit) {
                return Ok(Some(bytes));
            }
            match self.stream.read_chunk(usize::MAX, false).await? {
                Some(chunk) if chunk.offset == self.early.position && chunk.bytes.len() <= limit => {
                    self.early.position += chunk.bytes.len() as u64;
                    return Ok(Some(chunk.bytes));
                }
                Some(chunk) => self.early.keep(chunk.offset, chunk.bytes),
                None => return Ok(None),
            }
        }
    }

    /// Fills the buffer.
    ///
    /// # Errors
    /// The connection or the stream is lost; the stream ends before the buffer is full.
    pub(crate) async fn fill(&mut self, buffer: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            let Some(bytes) = self.next(buffer.len() - filled).await.context("receiving over quic")? else {
                let message = format!("the stream ended after {filled} of {} bytes", buffer.len());
                return Err(Error::closed(message));
            };
            buffer[filled..filled + bytes.len()].copy_from_slice(&bytes);
            filled += bytes.len();
        }
        Ok(())
    }
}

/// Bytes of a stream that arrived before earlier ones. No byte is kept twice: quinn returns each once.
#[derive(Debug, Default)]
struct Early {
    /// The bytes, by their offset in the stream.
    chunks: BTreeMap<u64, bytes::Bytes>,
    /// The offset of the first byte not returned yet.
    position: u64,
}

impl Early {
    fn keep(&mut self, offset: u64, bytes: bytes::Bytes) {
        self.chunks.insert(offset, bytes);
    }

    fn next(&mut self, limit: usize) -> Option<bytes::Bytes> {
        let first = self.chunks.first_entry().filter(|first| *first.key() == self.position)?;
        let mut bytes = first.remove();
        let rest = bytes.split_off(bytes.len().min(limit));
        self.position += bytes.len() as u64;
        if !rest.is_empty() {
            self.chunks.insert(self.position, rest);
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn bytes_are_given_in_order_and_as_many_as_wanted() {
        let mut early = Early::default();
        early.keep(3, Bytes::from_static(b"defg"));
        assert_eq!(early.next(9), None, "the first have not come");
        early.keep(0, Bytes::from_static(b"abc"));
        let mut given = || early.next(2).map(|bytes| bytes.to_vec());
        let expected = [&b"ab"[..], b"c", b"de", b"fg"];
        assert_eq!([given(), given(), given(), given()].map(Option::unwrap), expected);
        assert_eq!(given(), None);
    }
}
