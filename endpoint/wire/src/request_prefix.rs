//! The first bytes of a request: the name of its protocol, or a token that only the two ends of a run know.

use serde::{Deserialize, Serialize};

/// The length of a prefix, in bytes.
pub const PREFIX_BYTES: usize = 8;

/// The first bytes of a request. Between hosts it is the run's token, drawn at random for each run, by which the server
/// recognises its client, because hosts outside the run can reach it. The token is as long as the protocol's name, so a
/// run sends the same number of bytes with either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestPrefix(pub [u8; PREFIX_BYTES]);

impl RequestPrefix {
    /// Returns whether these bytes are the prefix. The comparison takes the same time wherever they differ.
    pub fn is(self, bytes: &[u8]) -> bool {
        bytes.len() == PREFIX_BYTES && self.0.iter().zip(bytes).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

impl TryFrom<String> for RequestPrefix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut prefix = [0; PREFIX_BYTES];
        hex::decode_to_slice(&text, &mut prefix)
            .map_err(|error| format!("a token is {PREFIX_BYTES} bytes in hex: {error}"))?;
        Ok(Self(prefix))
    }
}

impl From<RequestPrefix> for String {
    fn from(prefix: RequestPrefix) -> Self {
        hex::encode(prefix.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_travels_in_hex_and_nothing_else_is_one() {
        let token = RequestPrefix(*b"\x00\x01abcdef");
        let text = String::from(token);
        assert_eq!(text, "0001616263646566");
        assert_eq!(RequestPrefix::try_from(text), Ok(token));
        for wrong in ["", "00", "00016162636465", "000161626364656667", "zz01616263646566"] {
            assert!(RequestPrefix::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_the_prefix_itself_is_it() {
        let token = RequestPrefix(*b"netwarp\x03");
        assert!(token.is(b"netwarp\x03"));
        assert!(!token.is(b"netwarp\x02"));
        assert!(!token.is(b"netwarp"));
        assert!(!token.is(b"netwarp\x03\x00"));
    }
}
