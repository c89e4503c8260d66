//! Wire encoding of the requests of `bulk`'s client.

use anyhow::{Result, bail};
use netwarp_wire::content::Part;
use netwarp_wire::job::Direction;
use netwarp_wire::request_prefix::{PREFIX_BYTES, RequestPrefix};

use crate::encoded::{after_prefix, take};

/// The name and version of the protocol.
pub(super) const PROTOCOL: RequestPrefix = RequestPrefix(*b"netwarp\x03");

/// The length of a request, in bytes.
pub(super) const REQUEST_BYTES: usize = PREFIX_BYTES + 1 + 3 * size_of::<u32>() + 2 * size_of::<u64>();

/// A request for a chunk or the rest of one. It names the chunk, so that both ends agree in whatever order connections
/// and streams arrive.
///
/// On the wire: prefix ([`PROTOCOL`] or the run's token), direction (0 down, 1 up), transfer, attempt, chunk, offset,
/// length; big endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkRequest {
    /// The direction of the content.
    pub direction: Direction,
    /// The index of the transfer in the run.
    pub transfer: u32,
    /// How often in the run the client had reconnected before.
    pub attempt: u32,
    /// The index of the chunk in the transfer.
    pub chunk: u32,
    /// The requested part of the content.
    pub part: Part,
}

impl ChunkRequest {
    /// Returns the request as bytes on the wire, beginning with a prefix.
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

    /// Decodes a request.
    ///
    /// # Errors
    /// The request has another protocol or version, or another token.
    pub(super) fn decode(encoded: &[u8; REQUEST_BYTES], expected: RequestPrefix) -> Result<Self> {
        let mut rest = after_prefix(encoded, expected)?;
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
