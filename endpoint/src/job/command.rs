//! The workload of programs that are not netwarp's own, and what came of each.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A server and a client, programs of the machine, each in its host's namespaces.
///
/// They see the machine's files below a layer in memory that takes what they write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The server's program and its arguments.
    pub server: Vec<String>,
    /// The client's, started when the server is ready. The run is over when it has ended.
    pub client: Vec<String>,
    /// When the server is ready.
    pub ready: Ready,
    /// What both have in their environment beside the usual.
    pub environment: Vec<Variable>,
    /// Where both start; an absolute path of the machine.
    pub working_directory: String,
}

/// What says that a server is ready for its client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Ready {
    /// A socket in the server's namespace waits for clients (TCP, UDP or SCTP).
    Listening {
        /// At this port; null for any.
        port: Option<u16>,
    },
    /// The server has printed a line.
    Line {
        /// A regular expression that the line matches somewhere.
        pattern: String,
    },
    /// A file has come to be.
    File {
        /// Its absolute path, as the server sees it.
        path: String,
    },
}

/// A variable of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The variable's name.
    pub name: String,
    /// What it is set to.
    pub value: String,
}
