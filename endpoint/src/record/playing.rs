//! Records of what a player asked for, got and did.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A segment of a medium at the player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentRecord {
    /// Counted in the order of requests, from 0.
    pub request: u32,
    /// Place in the medium, from 0.
    pub segment: u32,
    /// Index of the quality.
    pub quality: u32,
    /// Index of the connection that carried its last byte.
    pub connection: u32,
    /// Index of the stream on it.
    pub stream: u32,
    /// Size of the segment in bytes.
    pub bytes: u64,
    /// The player asked for it. It may have waited for a connection, or for a stream that was still busy with what a
    /// seek had made useless.
    pub requested_ns: u64,
    /// When the first byte was received.
    pub first_byte_ns: u64,
    /// When the last byte was received.
    pub last_byte_ns: u64,
    /// Play time ahead when it was asked for.
    pub buffer_ns: u64,
    /// Hex SHA-256 as it arrived, if asked for.
    pub sha256: Option<String>,
}

/// Something the player did, in order of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerRecord {
    /// When the player did it.
    pub at_ns: u64,
    /// What the player did.
    pub action: Action,
}

/// What a player does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Action {
    /// It plays: at first, after a stall, after a seek.
    Play {
        /// The segment from whose start it plays.
        segment: u32,
    },
    /// Nothing is left to play.
    Stall {},
    /// The viewer moves the play position.
    Seek {
        /// The segment to whose start the viewer moves.
        segment: u32,
    },
    /// It asks for another quality than before.
    Switch {
        /// Index of the quality.
        quality: u32,
    },
    /// The viewer has seen enough.
    End {},
}
