//! The workload of programs that are not netwarp's own, and what came of each.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A server and a client, programs of the machine, each in its host's namespaces.
///
/// They see the machine's files below a layer in memory that takes what they write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Memory of the guest; the files that programs write take theirs from it.
    pub memory_bytes: u64,
    /// Keep what they wrote, in `written/` of the run directory.
    pub keep: bool,
    /// Numbers that are read from what they print when the run is over; not by the endpoint.
    pub metrics: Vec<PrintedMetric>,
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

/// A number that a program prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedMetric {
    /// Name of the metric; ends in its unit.
    pub name: String,
    /// Whether the server's program prints it, on standard output; else the client's does.
    pub by_server: bool,
    /// Where in what was printed it is.
    pub extraction: Extraction,
    /// What it is multiplied with, to be in the unit that the name says.
    pub scale: f64,
}

/// Where in a program's output a number is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Extraction {
    /// A value of the JSON document that a program prints.
    Json {
        /// Names and, in arrays, numbers on the way to it, joined by dots.
        path: String,
    },
    /// What a regular expression finds; if it does so several times, the last.
    Regex {
        /// An expression of Python's `re`, a line at a time; its group is the number, or all of it.
        pattern: String,
    },
}
