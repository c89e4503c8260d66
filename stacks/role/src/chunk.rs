//! A chunk on its way over a stream, whatever moves the stream's bytes: what is to be sent next, and what has come.
//!
//! The client asks with a [`Request`]; the sender sends the chunk; the receiver confirms it with one byte; the server ends its
//! side of the stream when it knows that all has arrived.

use anyhow::{Result, ensure};
use sha2::{Digest as _, Sha256};

use crate::content::Reader;
use crate::environment::now_ns;
use crate::job::{Bulk, Direction};
use crate::orchestrator::Side;
use crate::record::TransferRecord;

/// Size of a request.
pub const REQUEST_BYTES: usize = 16;

/// ASCII's ACK: the receiver has it all.
const CONFIRMATION: u8 = 0x06;

const BLOCK_BYTES: usize = 64 << 10;

/// Which chunk a client asks for; both ends have the job, and so know the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which of the run's transfers.
    pub transfer: u64,
    /// Which part of the content.
    pub chunk: u64,
}

impl Request {
    /// As it travels.
    pub fn encode(self) -> [u8; REQUEST_BYTES] {
        let mut encoded = [0; REQUEST_BYTES];
        encoded[..8].copy_from_slice(&self.transfer.to_be_bytes());
        encoded[8..].copy_from_slice(&self.chunk.to_be_bytes());
        encoded
    }

    fn decode(encoded: [u8; REQUEST_BYTES]) -> Self {
        let number = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| encoded[at + byte]));
        Self {
            transfer: number(0),
            chunk: number(8),
        }
    }
}

/// One end's work on one stream.
#[derive(Debug)]
pub struct Chunk {
    side: Side,
    epoch_ns: u64,
    bulk: Bulk,
    /// Which one it is; a server learns that from the request.
    request: Option<Request>,
    /// The beginning of a request.
    asked: Vec<u8>,
    source: Option<Reader>,
    hasher: Option<Sha256>,
    /// What goes out next, from this place on.
    block: Vec<u8>,
    sent: usize,
    missing_bytes: u64,
    first_byte_ns: Option<u64>,
    last_byte_ns: Option<u64>,
}

impl Chunk {
    /// The client's end: asks for a chunk.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn ask(bulk: &Bulk, request: Request, epoch_ns: u64) -> Result<Self> {
        let mut chunk = Self::new(Side::Client, bulk, epoch_ns);
        chunk.block = request.encode().to_vec();
        chunk.begin(request)?;
        Ok(chunk)
    }

    /// The server's end: waits to be asked.
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
            hasher: bulk.verify.then(Sha256::new),
            block: Vec::new(),
            sent: 0,
            missing_bytes: 0,
            first_byte_ns: None,
            last_byte_ns: None,
        }
    }

    /// Which chunk it is, when that is known.
    pub fn request(&self) -> Option<Request> {
        self.request
    }

    /// Whether this end sends the content.
    fn sends(&self) -> bool {
        (self.bulk.direction == Direction::Down) == (self.side == Side::Server)
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
            self.source = Some(Reader::open(&self.bulk.content, part)?);
        } else {
            self.missing_bytes = part.1;
        }
        Ok(())
    }

    /// What is to be sent next; empty when there is nothing, for now or for good.
    ///
    /// # Errors
    /// A content that cannot be read.
    pub fn outgoing(&mut self) -> Result<&[u8]> {
        if self.sent == self.block.len()
            && let Some(source) = self
                .source
                .as_mut()
                .filter(|source| source.left_bytes() > 0)
        {
            self.first_byte_ns
                .get_or_insert_with(|| now_ns() - self.epoch_ns);
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

    /// So much of [`Self::outgoing`] was taken.
    pub fn advance(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Takes what has come.
    ///
    /// # Errors
    /// More than was asked for, or what is no request and no confirmation.
    pub fn incoming(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.request.is_none() {
            let (ours, rest) = bytes.split_at(bytes.len().min(REQUEST_BYTES - self.asked.len()));
            self.asked.extend_from_slice(ours);
            bytes = rest;
            let Ok(encoded) = self.asked[..].try_into() else {
                return Ok(());
            };
            self.begin(Request::decode(encoded))?;
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
        let extra = (bytes.len() as u64)
            .checked_sub(self.missing_bytes)
            .filter(|&extra| extra > 0);
        ensure!(
            extra.is_none(),
            "{} bytes came beyond the chunk's end",
            extra.unwrap_or(0)
        );
        self.first_byte_ns.get_or_insert(at_ns);
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

    /// Whether all of the content, or the confirmation, was taken to be sent.
    fn is_sent(&self) -> bool {
        self.sent == self.block.len()
            && self
                .source
                .as_ref()
                .is_none_or(|source| source.left_bytes() == 0)
    }

    /// Whether nothing is left to be sent or to come, but for the stream's end.
    pub fn is_done(&self) -> bool {
        self.last_byte_ns.is_some() && self.is_sent()
    }

    /// What is to be written down of it, when it is done.
    pub fn record(&self) -> Option<TransferRecord> {
        let (Request { transfer, chunk }, last_byte_ns) = self.request.zip(self.last_byte_ns)?;
        Some(TransferRecord {
            side: self.side,
            connection: transfer,
            stream: chunk,
            transfer,
            chunk,
            direction: self.bulk.direction,
            bytes: self.bulk.part(chunk).1,
            resumed_at_bytes: 0,
            first_byte_ns: self.first_byte_ns.unwrap_or(last_byte_ns),
            last_byte_ns,
            sha256: self
                .hasher
                .clone()
                .map(|hasher| format!("{:x}", hasher.finalize())),
            longest_gap_ns: None,
            longest_gap_at_ns: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Content;

    fn bulk(direction: Direction) -> Bulk {
        let content = Content::Seeded {
            seed: 7,
            size_bytes: 200_001,
        };
        Bulk {
            direction,
            content,
            verify: true,
            chunks: 2,
            transfers: 1,
        }
    }

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
            let bulk = bulk(direction);
            let mut client = Chunk::ask(
                &bulk,
                Request {
                    transfer: 0,
                    chunk: 1,
                },
                0,
            )
            .unwrap();
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
        let bulk = bulk(Direction::Down);
        let mut server = Chunk::answer(&bulk, 0);
        assert!(
            server
                .incoming(
                    &Request {
                        transfer: 0,
                        chunk: 2
                    }
                    .encode()
                )
                .is_err()
        );
        let mut client = Chunk::ask(
            &bulk,
            Request {
                transfer: 0,
                chunk: 0,
            },
            0,
        )
        .unwrap();
        assert!(client.incoming(&vec![0; 100_001]).is_err());
    }
}
