//! Records of the segments that a player requested and received, and of its actions.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A segment of a video, as the player received it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct SegmentRecord {
    /// Number of the request, in the order of sending, from 0.
    pub request: u32,
    /// Index of the segment in the video, from 0.
    pub segment: u32,
    /// Index of the quality.
    pub quality: u32,
    /// Index of the connection that carried the segment's last byte.
    pub connection: u32,
    /// Index of the stream on that connection.
    pub stream: u32,
    /// Size of the segment in bytes.
    pub bytes: u64,
    /// When the player wanted the segment. The request may have waited for a connection, or for a stream that was still
    /// receiving a segment that a seek had made useless.
    pub requested_ns: u64,
    /// When the first byte was received.
    pub first_byte_ns: u64,
    /// When the last byte was received.
    pub last_byte_ns: u64,
    /// Play time in the buffer when the player wanted the segment.
    pub buffer_ns: u64,
    /// SHA-256 in hexadecimal digits of the received bytes; null if the job does not ask for it.
    pub sha256: Option<String>,
}

/// A segment that the player wanted but did not receive, because the viewer sought or the session ended before it had
/// arrived. Its loading delay would have been longer than from `requested_ns` to `cut_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct CutSegmentRecord {
    /// Number of the request, in the order of sending, from 0; null if none had been sent.
    pub request: Option<u32>,
    /// Index of the segment in the video, from 0.
    pub segment: u32,
    /// Index of the quality; null if no request had been sent.
    pub quality: Option<u32>,
    /// When the player wanted the segment.
    pub requested_ns: u64,
    /// When the player abandoned the segment, because the viewer sought or the session ended.
    pub cut_ns: u64,
    /// Why the player abandoned the segment.
    pub cause: CutCause,
}

/// Why a player abandoned a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutCause {
    /// The viewer moved the play position.
    Seek,
    /// The viewer's session was over.
    End,
}

/// An action of the player. The records are in order of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct PlayerRecord {
    /// When the player did this, or when it happened.
    pub at_ns: u64,
    /// What the player did, such as playing or seeking, or what happened to it.
    pub action: Action,
}

/// An action of a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Action {
    /// Playback begins, or resumes after a stall or a seek.
    Play {
        /// The segment from whose beginning the player plays.
        segment: u32,
    },
    /// The buffer has run out.
    Stall {},
    /// The viewer moves the play position.
    Seek {
        /// The segment to whose beginning the viewer seeks.
        segment: u32,
    },
    /// The player requests another quality than before.
    Switch {
        /// Index of the quality.
        quality: u32,
    },
    /// The viewer's session ends.
    End {},
}
