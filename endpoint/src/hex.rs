//! Bytes as lower-case hex digits.

use anyhow::{Context as _, Result, ensure};

/// Writes bytes as lower-case hex digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads hex digits.
///
/// # Errors
/// An odd number of digits, or something else than digits.
pub(crate) fn from_hex(text: &str) -> Result<Vec<u8>> {
    ensure!(text.len() % 2 == 0 && text.is_ascii(), "{} characters are not pairs of hex digits", text.len());
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).with_context(|| format!("hex digits at {at}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_survives_the_round_trip() {
        assert_eq!(from_hex(&to_hex(&[0, 1, 0xab, 0xff])).unwrap(), [0, 1, 0xab, 0xff]);
        assert!(from_hex("abc").is_err() && from_hex("zz").is_err() && from_hex("ää").is_err());
    }
}
