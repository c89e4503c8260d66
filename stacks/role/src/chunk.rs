//! The protocol for transferring a chunk over a stream, independent of the QUIC implementation: it determines which
//! bytes are sent next, and handles those that arrive.
//!
//! The client sends a [`Request`]; the sender sends the chunk; the receiver confirms it with one byte; the server ends
//! its side of the stream when it knows that everything has arrived.

use std::sync::Mutex;

use anyhow::{Result, ensure};
use netwarp_wire::arrived::Arrived;
use netwarp_wire::content::{Hasher, Reader, hex_digest, new_hasher};
use netwarp_wire::job::Bulk;
use netwarp_wire::record::{Side, TransferRecord};

use crate::environment::now_ns;

/// The size of a request, in bytes.
pub const REQUEST_BYTES: usize = 16;

/// The byte that confirms that the receiver has everything (ASCII's ACK).
const CONFIRMATION: u8 = 0x06;

/// The size of the blocks in which content and streams are read, in bytes.
pub const BLOCK_BYTES: usize = 64 << 10;

/// How much content has arrived at this end over time, of all chunks together.
static ARRIVED: Mutex<Arrived> = Mutex::new(Arrived::nothing());

/// Returns how much content has arrived at this end over time.
pub(crate) fn arrived() -> Arrived {
    ARRIVED.lock().expect("no holder panics").clone()
}

/// A client's request for a chunk. It only names the chunk: everything else follows from the job, which both ends have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The index of the transfer in the run.
    pub transfer: u32,
    /// The index of the chunk in the content.
    pub chunk: u32,
}

impl Request {
    /// Returns the request as bytes on the wire.
    pub fn encode(self) -> [u8; REQUEST_BYTES] {
        let mut encoded = [0; REQUEST_BYTES];
        encoded[..8].copy_from_slice(&u64::from(self.transfer).to_be_bytes());
        encoded[8..].copy_from_slice(&u64::from(self.chunk).to_be_bytes());
        encoded
    }

    fn decode(encoded: [u8; REQUEST_BYTES]) -> Result<Self> {
        let number = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| encoded[at + byte])).try_into();
        Ok(Self { transfer: number(0)?, chunk: number(8)? })
    }
}

/// The state of one end while it transfers a chunk over a stream.
pub struct Chunk {
    side: Side,
    epoch_ns: u64,
    bulk: Bulk,
    /// The requested chunk; a server learns it from the request.
    request: Option<Request>,
    /// At the server: the bytes of the request that have arrived.
    asked: Vec<u8>,
    source: Option<Reader>,
    hasher: Option<Hasher>,
    /// The bytes to send next, from `sent` on.
    block: Vec<u8>,
    sent: usize,
    missing_bytes: u64,
    first_byte_ns: Option<u64>,
    last_byte_ns: Option<u64>,
}

impl Chunk {
    /// Creates the client's end, which begins with the request for a chunk.
    ///
    /// # Errors
    /// The content cannot be read.
    pub fn ask(bulk: &Bulk, request: Request, epoch_ns: u64) -> Result<Self> {
        let mut chunk = Self::new(Side::Client, bulk, epoch_ns);
        chunk.block = request.encode().to_vec();
        chunk.begin(request)?;
        Ok(chunk)
    }

    /// Creates the server's end, which begins by waiting for the request.
    pub fn answer(bulk: &Bulk, epoch_ns: u64) -> Self {
        Self::new(Side::Server, bulk, epoch_ns)
    }

    fn new(side: Side, bulk: &Bulk, epoch_ns: u64) -> Self {
        Self {
            side,
            epoch_ns,
            bulk: bulk.clone(),
            request: None,
            asked: Vec::new(),
            source: None,
            hasher: bulk.verify.then(new_hasher),
            block: Vec::new(),
            sent: 0,
            missing_bytes: 0,
            first_byte_ns: None,
            last_byte_ns: None,
        }
    }

    /// Returns the requested chunk; `None` if the request has not arrived yet.
    pub fn request(&self) -> Option<Request> {
        self.request
    }

    /// Returns whether this end sends the content.
    fn sends(&self) -> bool {
        self.bulk.direction.sender() == self.side
    }

    fn begin(&mut self, request: Request) -> Result<()> {
        let Request { transfer, chunk } = request;
        ensure!(
            transfer < self.bulk.transfers && chunk < self.bulk.chunks,
            "there is no chunk {chunk} of transfer {transfer}"
        );
        self.request = Some(request);
        let part = self.bulk.part(chunk);
        if self.sends() {
            self.source = Some(Reader::open(&self.bulk.content, part, false)?);
        } else {
            self.missing_bytes = part.length_bytes;
        }
        Ok(())
    }

    /// Returns the bytes to send next; an empty slice if there is nothing to send now.
    ///
    /// # Errors
    /// The content cannot be read.
    pub fn outgoing(&mut self) -> Result<&[u8]> {
        if self.sent == self.block.len()
            && let Some(source) = self.source.as_mut().filter(|source| source.remaining_bytes() > 0)
        {
            self.first_byte_ns.get_or_insert_with(|| now_ns() - self.epoch_ns);
            self.block.resize(BLOCK_BYTES, 0);
            let length = source.read(&mut self.block)?.len();
            self.block.truncate(length);
            self.sent = 0;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&self.block);
            }
        }
        Ok(&self.block[self.sent..])
    }

    /// Records that the stream has accepted this many bytes of [`Self::outgoing`].
    pub fn advance(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Handles bytes that have arrived.
    ///
    /// # Errors
    /// There are more bytes than requested, or they are neither a request nor a confirmation.
    pub fn incoming(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.request.is_none() {
            let (ours, rest) = bytes.split_at(bytes.len().min(REQUEST_BYTES - self.asked.len()));
            self.asked.extend_from_slice(ours);
            bytes = rest;
            let Ok(encoded) = self.asked[..].try_into() else { return Ok(()) };
            self.begin(Request::decode(encoded)?)?;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let at_ns = now_ns() - self.epoch_ns;
        if self.sends() {
            ensure!(
                bytes == [CONFIRMATION] && self.is_sent(),
                "the receiver answered {bytes:?}, which confirms nothing"
            );
            self.last_byte_ns = Some(at_ns);
            return Ok(());
        }
        let extra = (bytes.len() as u64).checked_sub(self.missing_bytes).filter(|&extra| extra > 0);
        ensure!(extra.is_none(), "{} bytes came beyond the chunk's end", extra.unwrap_or(0));
        self.first_byte_ns.get_or_insert(at_ns);
        ARRIVED.lock().expect("no holder panics").count(at_ns, bytes.len() as u64);
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.missing_bytes -= bytes.len() as u64;
        if self.missing_bytes == 0 {
            self.last_byte_ns = Some(at_ns);
            (self.block, self.sent) = (vec![CONFIRMATION], 0);
        }
        Ok(())
    }

    /// Returns whether the stream has accepted everything that this end sends: content or confirmation.
    fn is_sent(&self) -> bool {
        self.sent == self.block.len() && self.source.as_ref().is_none_or(|source| source.remaining_bytes() == 0)
    }

    /// Returns whether everything has been sent and received, except for the stream's end.
    pub fn is_done(&self) -> bool {
        self.last_byte_ns.is_some() && self.is_sent()
    }

    /// Returns the record of the transfer, once it is done.
    pub fn record(&self) -> Option<TransferRecord> {
        let (Request { transfer, chunk }, last_byte_ns) = self.request.zip(self.last_byte_ns)?;
        Some(TransferRecord {
            side: self.side,
            connection: transfer,
            stream: chunk,
            transfer,
            chunk,
            direction: self.bulk.direction,
            bytes: self.bulk.part(chunk).length_bytes,
            resumed_at_bytes: 0,
            first_byte_ns: self.first_byte_ns.unwrap_or(last_byte_ns),
            last_byte_ns,
            sha256: self.hasher.clone().map(hex_digest),
            longest_gap_ns: None,
            longest_gap_at_ns: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::Direction;

    use super::*;
    use crate::job::tests::bulk;

    fn pass(from: &mut Chunk, to: &mut Chunk, at_most: usize) {
        loop {
            let bytes = from.outgoing().unwrap();
            let length = bytes.len().min(at_most);
            if length == 0 {
                return;
            }
            to.incoming(&bytes[..length]).unwrap();
            from.advance(length);
        }
    }

    #[test]
    fn both_ends_have_moved_the_same_bytes() {
        for direction in [Direction::Down, Direction::Up] {
            let bulk = bulk(direction, 200_001, 2);
            let mut client = Chunk::ask(&bulk, Request { transfer: 0, chunk: 1 }, 0).unwrap();
            let mut server = Chunk::answer(&bulk, 0);
            for at_most in [5, 4096, 4096] {
                pass(&mut client, &mut server, at_most);
                pass(&mut server, &mut client, at_most);
            }
            assert!(client.is_done() && server.is_done());
            let (client, server) = (client.record().unwrap(), server.record().unwrap());
            assert_eq!((client.sha256, client.bytes), (server.sha256, server.bytes));
            assert_eq!((server.chunk, server.bytes), (1, 100_001));
        }
    }

    #[test]
    fn what_was_not_asked_for_is_refused() {
        let bulk = bulk(Direction::Down, 200_001, 2);
        let mut server = Chunk::answer(&bulk, 0);
        assert!(server.incoming(&Request { transfer: 0, chunk: 2 }.encode()).is_err());
        let mut client = Chunk::ask(&bulk, Request { transfer: 0, chunk: 0 }, 0).unwrap();
        assert!(client.incoming(&vec![0; 100_001]).is_err());
    }
}
