//! The workload of programs that are not netwarp's own, and the record of how each of them ran.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A server and a client that are installed programs, each in its host's namespaces.
///
/// They see the machine's files, but the files that they write are in layers in memory above these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Command {
    /// The server's program and its arguments.
    pub server: Vec<String>,
    /// The client's program and its arguments, started when the server is ready. The run ends when this program has
    /// ended.
    pub client: Vec<String>,
    /// How to see that the server is ready.
    pub ready: Ready,
    /// Environment variables of both programs, besides the usual ones.
    pub environment: Vec<Variable>,
    /// The directory in which both programs start; an absolute path of the machine.
    pub working_directory: String,
    /// Memory of the guest in bytes, which also contains the files that programs write.
    pub memory_bytes: u64,
    /// Date at which the programs start, by the clock in virtual time, in seconds since 1970.
    pub start_date_s: u64,
    /// Whether programs that read coarse clocks get exact times, in virtual time.
    pub exact_coarse_clocks: bool,
    /// Whether both hosts share one file system, so that each sees the files and Unix sockets of the other; otherwise
    /// each has its own.
    pub shared: bool,
    /// Whether the files that the programs write are kept, in `written/` of the run directory.
    pub keep: bool,
    /// Numbers that are read from the programs' output when the run is over; the endpoint does not read them.
    pub metrics: Vec<PrintedMetric>,
    /// Programs on further hosts of the job's network, in the order in which they are started: the first one is started
    /// when the server is ready, each other one when the one before it is ready, and the client when all are ready.
    /// Left out: none.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub programs: Vec<HostProgram>,
}

/// How to detect that a server is ready for its client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Ready {
    /// The program is ready when a socket in its host's namespace listens (TCP, UDP or SCTP).
    Listening {
        /// The port; null for any.
        port: Option<u16>,
    },
    /// The program is ready when it has printed a matching line.
    Line {
        /// A regular expression that matches a part of the line.
        pattern: String,
    },
    /// The program is ready when a file exists.
    File {
        /// The file's absolute path, as the server sees it.
        path: String,
    },
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Variable {
    /// The variable's name.
    pub name: String,
    /// The variable's value.
    pub value: String,
}

/// A number that a program prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct PrintedMetric {
    /// Name of the metric; ends in its unit.
    pub name: String,
    /// Whether the server's program prints the number on its standard output; otherwise the client's does.
    pub by_server: bool,
    /// Where the number is in the output.
    pub extraction: Extraction,
    /// The factor that converts the number to the unit in the name.
    pub scale: f64,
    /// Host of the program that prints the number, if that is neither the server's nor the client's.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub host: Option<String>,
}

/// The way to find a number in a program's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Extraction {
    /// A value of the JSON document that a program prints.
    Json {
        /// The path to the value: names and, in arrays, indices, joined by dots.
        path: String,
    },
    /// The match of a regular expression; the last one if there are several.
    Regex {
        /// A regular expression of Python's `re`, matched line by line. Its group, or else the whole match, is the
        /// number.
        pattern: String,
    },
}

/// A program on a further host of a network. When the run ends, it is ended like the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct HostProgram {
    /// The host on which the program runs. No other program of the job runs there.
    pub host: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How to see that the program is ready.
    pub ready: Ready,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
