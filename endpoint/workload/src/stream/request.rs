//! Wire encoding of the messages of `stream`'s client to the server.

use anyhow::{Result, bail};
use netwarp_wire::request_prefix::{PREFIX_BYTES, RequestPrefix};

use crate::encoded::{after_prefix, take};

/// The name and version of the protocol.
pub(super) const PROTOCOL: RequestPrefix = RequestPrefix(*b"nwmedia\x01");

/// The length of a request, in bytes.
pub(super) const REQUEST_BYTES: usize = PREFIX_BYTES + 1 + 3 * size_of::<u32>() + size_of::<u64>();

/// A client's message on a stream: a request for a segment, or a farewell, after which the client sends nothing more.
/// The server answers in order.
///
/// On the wire: prefix ([`PROTOCOL`] or the run's token), kind (0 segment, 1 farewell), connection, quality, segment,
/// offset; big endian. A farewell's last three are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MediaRequest {
    /// The client's number for the connection.
    pub connection: u32,
    /// The kind of the message: a request for a segment, or a farewell.
    pub what: MediaRequestKind,
}

/// The kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MediaRequestKind {
    /// Requests the bytes of a segment from an offset to its end.
    Segment {
        /// The index of the quality.
        quality: u32,
        /// The index of the segment in the medium.
        segment: u32,
        /// How many bytes of the segment the client has already, from connections that were given up.
        offset_bytes: u64,
    },
    /// The last message on a stream; the server answers with one byte.
    Farewell,
}

impl MediaRequest {
    /// Returns the request as bytes on the wire, beginning with a prefix.
    pub(super) fn encode(&self, prefix: RequestPrefix) -> [u8; REQUEST_BYTES] {
        let (kind, quality, segment, offset_bytes) = match self.what {
            MediaRequestKind::Segment { quality, segment, offset_bytes } => (0, quality, segment, offset_bytes),
            MediaRequestKind::Farewell => (1, 0, 0, 0),
        };
        let fields: [&[u8]; 6] = [
            &prefix.0,
            &[kind],
            &self.connection.to_be_bytes(),
            &quality.to_be_bytes(),
            &segment.to_be_bytes(),
            &offset_bytes.to_be_bytes(),
        ];
        fields.concat().try_into().expect("the fields' lengths make up the request's")
    }

    /// Decodes a request.
    ///
    /// # Errors
    /// The request has another protocol or version, or another token.
    pub(super) fn decode(encoded: &[u8; REQUEST_BYTES], expected: RequestPrefix) -> Result<Self> {
        let mut rest = after_prefix(encoded, expected)?;
        let [kind] = take(&mut rest);
        let connection = u32::from_be_bytes(take(&mut rest));
        let quality = u32::from_be_bytes(take(&mut rest));
        let segment = u32::from_be_bytes(take(&mut rest));
        let offset_bytes = u64::from_be_bytes(take(&mut rest));
        let what = match kind {
            0 => MediaRequestKind::Segment { quality, segment, offset_bytes },
            1 => MediaRequestKind::Farewell,
            other => bail!("the client's request is of kind {other}, which there is not"),
        };
        Ok(Self { connection, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: [MediaRequest; 2] = [
        MediaRequest {
            connection: 1,
            what: MediaRequestKind::Segment { quality: 2, segment: 0x0102_0304, offset_bytes: u64::MAX },
        },
        MediaRequest { connection: 7, what: MediaRequestKind::Farewell },
    ];

    #[test]
    fn requests_survive_the_round_trip() {
        for request in REQUESTS {
            assert_eq!(MediaRequest::decode(&request.encode(PROTOCOL), PROTOCOL).unwrap(), request);
        }
    }

    #[test]
    fn other_protocols_are_refused() {
        for at in [0, 7, 8] {
            let mut bad = REQUESTS[0].encode(PROTOCOL);
            bad[at] ^= 0x40;
            assert!(MediaRequest::decode(&bad, PROTOCOL).is_err(), "byte {at}");
        }
    }
}
