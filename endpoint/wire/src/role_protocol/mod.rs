//! The messages between the orchestrator of a run and its two roles: orders to the roles, messages from them.
//!
//! A role reads orders from standard input and writes messages to descriptor 3, each as one JSON object on a separate
//! line. Standard output and standard error go to the console.
//!
//! `docs/role-protocol.md` is written from these models. A role ignores keys that it does not know, so that later
//! versions may add some.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use crate::record::{Failure, Record};

/// An order of the orchestrator to a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Order {
    /// To both roles, as the first order: begin to work.
    Begin {
        /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`. All times in records count from it.
        epoch_ns: u64,
        /// Hex DER of the server's certificate as it came with `ready`, for the client to trust; null for the server,
        /// and if there is none.
        certificate: Option<String>,
        /// The first bytes of every request of the run, in hex, if hosts outside the run could reach the server;
        /// otherwise null. Runs over other implementations' stacks never have one.
        token: Option<String>,
    },
    /// To the client: it now has an address on this path, and should prefer the path. Sent only in runs with
    /// `[path.handovers]`, which studies refuse for other people's stacks.
    Attached {
        /// Index of the path.
        path: u32,
    },
    /// To the client: it has lost its address on this path. Sent only in runs in which `attached` is sent.
    Detached {
        /// Index of the path.
        path: u32,
    },
    /// To the server: the client has finished; report and exit. Do not wait for the client's last packet, which may
    /// have been lost.
    Finish {},
}

/// A message of a role to the orchestrator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Message {
    /// From the server: it listens, and a client may connect.
    Ready {
        /// Hex DER of the certificate that the role will present; null if it has none.
        certificate: Option<String>,
    },
    /// From both roles: a record, which is to be written to `records.jsonl` unchanged.
    Write {
        /// The record, which is one of those in `run-format.md`.
        line: Box<Record>,
    },
    /// From both roles, as the last message: all work is done, and the role exits with status 0.
    Done {},
    /// From both roles, as the last message: the role has failed.
    Failed {
        /// The reason. Its `stage` is the role's own name: `server` or `client`.
        failure: Failure,
    },
}
