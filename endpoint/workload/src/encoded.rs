//! Decodes the common parts of all workloads' requests: a prefix, and big-endian numbers.

use anyhow::{Result, ensure};
use netwarp_wire::request_prefix::{PREFIX_BYTES, RequestPrefix};

/// Checks the prefix of a request, and returns the bytes after it.
///
/// # Errors
/// The request has another protocol or version, or another token.
pub(crate) fn after_prefix(encoded: &[u8], expected: RequestPrefix) -> Result<&[u8]> {
    let (prefix, rest) = encoded.split_at(PREFIX_BYTES);
    ensure!(
        expected.is(prefix),
        "the client speaks another protocol or version, or is a stranger: its request begins with {prefix:02x?}"
    );
    Ok(rest)
}

/// Removes the next field from the rest of a request, and returns it. The request must be long enough.
pub(crate) fn take<const LENGTH: usize>(rest: &mut &[u8]) -> [u8; LENGTH] {
    let (field, after) = rest.split_first_chunk().expect("a request has room for all its fields");
    *rest = after;
    *field
}
