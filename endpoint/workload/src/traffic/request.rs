//! Wire encoding of the requests of `traffic`'s client.

use anyhow::Result;
use netwarp_wire::request_prefix::{PREFIX_BYTES, RequestPrefix};

use crate::encoded::{after_prefix, take};

/// The name and version of the protocol.
pub(super) const PROTOCOL: RequestPrefix = RequestPrefix(*b"nwflows\x01");

/// The length of a request, in bytes.
pub(super) const REQUEST_BYTES: usize = PREFIX_BYTES + size_of::<u32>() + size_of::<u64>();

/// A request for a flow.
///
/// On the wire: prefix ([`PROTOCOL`] or the run's token), number, size; big endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlowRequest {
    /// The flow's number, from 0.
    pub number: u32,
    /// The flow's size in bytes, which both ends must have drawn alike.
    pub size_bytes: u64,
}

impl FlowRequest {
    /// Returns the request as bytes on the wire, beginning with a prefix.
    pub(super) fn encode(&self, prefix: RequestPrefix) -> [u8; REQUEST_BYTES] {
        let fields: [&[u8]; 3] = [&prefix.0, &self.number.to_be_bytes(), &self.size_bytes.to_be_bytes()];
        fields.concat().try_into().expect("the fields' lengths make up the request's")
    }

    /// Decodes a request.
    ///
    /// # Errors
    /// The request has another protocol or version, or another token.
    pub(super) fn decode(encoded: &[u8; REQUEST_BYTES], expected: RequestPrefix) -> Result<Self> {
        let mut rest = after_prefix(encoded, expected)?;
        let number = u32::from_be_bytes(take(&mut rest));
        let size_bytes = u64::from_be_bytes(take(&mut rest));
        Ok(Self { number, size_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_round_trip_and_other_protocols_are_refused() {
        let request = FlowRequest { number: 0x0102_0304, size_bytes: u64::MAX };
        let mut encoded = request.encode(PROTOCOL);
        assert_eq!(FlowRequest::decode(&encoded, PROTOCOL).unwrap(), request);
        encoded[0] ^= 0x40;
        assert!(FlowRequest::decode(&encoded, PROTOCOL).is_err());
    }
}
