//! The messages between the orchestrator and the two role processes, as JSON lines.
//!
//! A role inherits two pipes: it reads [`Order`]s from standard input and writes [`Message`]s to descriptor 3. Standard
//! output and standard error remain the console. A role that is ready says so in a message, so nobody waits for a fixed
//! time.

use serde::{Deserialize, Serialize};

use crate::record::{Failure, Record};
use crate::request_prefix::RequestPrefix;

/// The descriptor to which a role writes its messages.
pub(crate) const MESSAGE_FD: i32 = 3;

/// An order of the orchestrator to a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Order {
    /// The first order: begin to work.
    Begin {
        /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`.
        epoch_ns: u64,
        /// Hex DER of the server's certificate (for clients of `tls` and `quic` only).
        certificate: Option<String>,
        /// The prefix of every request of the run, in hex; only where strangers could reach the server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<RequestPrefix>,
    },
    /// To the client: it now has an address on this path and should prefer the path.
    Attached {
        /// Index of the path.
        path: u32,
    },
    /// To the client: it has lost its address on this path.
    Detached {
        /// Index of the path.
        path: u32,
    },
    /// To the server: no more clients will come, so report and exit.
    Finish,
}

/// A message of a role to the orchestrator.
#[expect(clippy::large_enum_variant, reason = "it is moved once, from the pipe to the file of records")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Message {
    /// From the server: it listens, and clients may connect.
    Ready {
        /// Hex DER of the certificate that it will present, if it has one.
        certificate: Option<String>,
    },
    /// A record, to be written to `records.jsonl` unchanged.
    Write { line: Record },
    /// The last message of a role that has done all its work.
    Done,
    /// The last message of a role that has failed.
    Failed { failure: Failure },
}
