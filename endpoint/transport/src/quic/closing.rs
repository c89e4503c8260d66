//! Closing of connections: the error codes of both ends, and which errors mean an orderly end.

use quinn::{ConnectionError, VarInt};

/// The application's error code for an orderly close.
pub(super) const NO_ERROR: VarInt = VarInt::from_u32(0);

/// HTTP/3's error code for an orderly close (`H3_NO_ERROR`; RFC 9114, section 8.1).
const HTTP3_NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// The application's error code for a connection that a client gives up after a handover.
pub(super) const GIVEN_UP: VarInt = VarInt::from_u32(1);

/// Returns whether the error means that the peer closed the connection in the protocol's orderly way.
pub(super) fn closed_in_order(error: &ConnectionError) -> bool {
    let ConnectionError::ApplicationClosed(close) = error else { return false };
    [NO_ERROR, HTTP3_NO_ERROR].contains(&close.error_code)
}

/// Returns whether the error means that the peer had received everything before it closed the connection. A lost
/// CONNECTION_CLOSE is not retransmitted; an endpoint that has forgotten the connection by then answers with a
/// stateless reset (RFC 9000, section 10.3).
pub(super) fn closed_at_the_end(error: &ConnectionError) -> bool {
    closed_in_order(error) || matches!(error, ConnectionError::Reset)
}
