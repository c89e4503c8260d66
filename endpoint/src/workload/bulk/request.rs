//! What the client of `bulk` asks for, as it travels.

use anyhow::{Result, bail, ensure};

use crate::content::Part;
use crate::job::Direction;
use crate::request_prefix::{PREFIX_BYTES, RequestPrefix};

/// Name and version of the protocol.
pub(super) const PROTOCOL: RequestPrefix = RequestPrefix(*b"netwarp\x03");

/// Length of a request.
pub(super) const REQUEST_BYTES: usize = PREFIX_BYTES + 1 + 3 * size_of::<u32>() + 2 * size_of::<u64>();

/// One chunk or what is left of it, named so that both ends agree whatever order connections and streams arrive in.
///
/// On the wire: prefix ([`PROTOCOL`] or the run's token), direction (0 down, 1 up), transfer, attempt, chunk, offset, length; big endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkRequest {
    /// Which way the content goes.
    pub direction: Direction,
    /// Which of the run's transfers.
    pub transfer: u32,
    /// How often the client had dialled anew before, in the run.
    pub attempt: u32,
    /// Which chunk of the transfer.
    pub chunk: u32,
    /// Where in the content lies what is asked for.
    pub part: Part,
}

impl ChunkRequest {
    /// The request as bytes on the wire, after a prefix.
    pub(super) fn encode(&self, prefix: RequestPrefix) -> [u8; REQUEST_BYTES] {
        let direction = match self.direction {
            Direction::Down => 0,
            Direction::Up => 1,
        };
        let fields: [&[u8]; 7] = [
            &prefix.0,
            &[direction],
            &self.transfer.to_be_bytes(),
            &self.attempt.to_be_bytes(),
            &self.chunk.to_be_bytes(),
            &self.part.offset_bytes.to_be_bytes(),
            &self.part.length_bytes.to_be_bytes(),
        ];
        fields.concat().try_into().expect("the fields' lengths make up the request's")
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// Another protocol or version of it; another token.
    pub(super) fn decode(encoded: &[u8; REQUEST_BYTES], expected: RequestPrefix) -> Result<Self> {
        let (prefix, mut rest) = encoded.split_at(PREFIX_BYTES);
        ensure!(
            expected.is(prefix),
            "the client speaks another protocol or version, or is a stranger: its request begins with {prefix:02x?}"
        );
        let direction = match take(&mut rest) {
            [0] => Direction::Down,
            [1] => Direction::Up,
            [other] => bail!("the client asks for direction {other}"),
        };
        let transfer = u32::from_be_bytes(take(&mut rest));
        let attempt = u32::from_be_bytes(take(&mut rest));
        let chunk = u32::from_be_bytes(take(&mut rest));
        let offset_bytes = u64::from_be_bytes(take(&mut rest));
        let length_bytes = u64::from_be_bytes(take(&mut rest));
        Ok(Self { direction, transfer, attempt, chunk, part: Part { offset_bytes, length_bytes } })
    }
}

fn take<const LENGTH: usize>(rest: &mut &[u8]) -> [u8; LENGTH] {
    let (field, after) = rest.split_first_chunk().expect("a request has room for all its fields");
    *rest = after;
    *field
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(direction: Direction) -> ChunkRequest {
        let part = Part { offset_bytes: 1 << 40, length_bytes: u64::MAX };
        ChunkRequest { direction, transfer: 1, attempt: 0x0506_0708, chunk: 0x0102_0304, part }
    }

    #[test]
    fn requests_survive_the_round_trip() {
        for direction in [Direction::Down, Direction::Up] {
            assert_eq!(
                ChunkRequest::decode(&request(direction).encode(PROTOCOL), PROTOCOL).unwrap(),
                request(direction)
            );
        }
    }

    #[test]
    fn other_protocols_are_refused() {
        for at in [0, 7, 8] {
            let mut bad = request(Direction::Up).encode(PROTOCOL);
            bad[at] ^= 0x40;
            assert!(ChunkRequest::decode(&bad, PROTOCOL).is_err(), "byte {at}");
        }
    }
}
