//! What the orchestrator and the two role processes say to each other, as JSON lines.
//!
//! A role inherits two pipes: it reads [`Order`]s from standard input and writes [`Message`]s to descriptor 3.
//! Standard output and error stay the console's. Readiness is a message: nobody waits for a time to pass.

use serde::{Deserialize, Serialize};

use crate::record::{Failure, Record};
use crate::request_prefix::RequestPrefix;

/// The descriptor a role writes its messages to.
pub(crate) const MESSAGE_FD: i32 = 3;

/// From the orchestrator to a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Order {
    /// First line: begin.
    Begin {
        /// What the run's clock calls zero, in nanoseconds of `CLOCK_MONOTONIC`.
        epoch_ns: u64,
        /// Hex DER of the server's certificate (client of `tls` and `quic` only).
        certificate: Option<String>,
        /// What every request of the run begins with, in hex; only where strangers could reach the server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<RequestPrefix>,
    },
    /// To the client: it has an address on this path now, which it is to prefer.
    Attached {
        /// Index of the path.
        path: u32,
    },
    /// To the client: its address on this path is gone.
    Detached {
        /// Index of the path.
        path: u32,
    },
    /// To the server: no more clients will come. Report and exit.
    Finish,
}

/// From a role to the orchestrator.
#[expect(clippy::large_enum_variant, reason = "it is moved once, from the pipe to the file of records")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Message {
    /// Server: listening; a client may dial.
    Ready {
        /// Hex DER of the certificate it will present, if it has one.
        certificate: Option<String>,
    },
    /// To be written to `records.jsonl` as it is.
    Write { line: Record },
    /// Last message of a role that has done all its work.
    Done,
    /// Last message of a role that could not.
    Failed { failure: Failure },
}
