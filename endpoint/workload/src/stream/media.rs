//! The medium that a `stream` server sends: bytes from a seed, different for every segment and quality. Pure, except
//! that segments can be opened for reading.

use anyhow::{Context as _, Result, ensure};
use netwarp_wire::content::{Part, Reader, hash};
use netwarp_wire::job::{Content, Stream};

/// The bytes of a medium: one seeded content with all segments of the lowest quality in order, then all of the next
/// quality.
#[derive(Debug, Clone)]
pub(super) struct Media {
    segments: u32,
    content: Content,
    /// For each quality: the offset of its first segment and the size of each of its segments, in bytes.
    qualities: Vec<(u64, u64)>,
}

impl Media {
    /// Creates the medium of a valid job, in which all offsets fit into 64 bits.
    pub(super) fn of(requested: &Stream) -> Self {
        let mut size_bytes = 0;
        let mut qualities = Vec::new();
        for quality in &requested.qualities {
            qualities.push((size_bytes, quality.segment_bytes));
            size_bytes += u64::from(requested.segments) * quality.segment_bytes;
        }
        let content = Content::Seeded { seed: requested.seed, size_bytes };
        Self { segments: requested.segments, content, qualities }
    }

    /// Returns the part of the content that is this segment; `None` if the segment does not exist.
    pub(super) fn part(&self, quality: u32, segment: u32) -> Option<Part> {
        let (first_bytes, length_bytes) = *self.qualities.get(quality as usize)?;
        let offset_bytes = first_bytes + u64::from(segment) * length_bytes;
        (segment < self.segments).then_some(Part { offset_bytes, length_bytes })
    }

    /// Opens a segment for reading from `offset_bytes` on, without hashing.
    ///
    /// # Errors
    /// The segment does not exist, or ends before `offset_bytes`.
    pub(super) fn open_from(&self, quality: u32, segment: u32, offset_bytes: u64) -> Result<Reader> {
        let part = self.part(quality, segment);
        let part = part.with_context(|| format!("the medium has no segment {segment} in quality {quality}"))?;
        ensure!(offset_bytes < part.length_bytes, "segment {segment} ends before its byte {offset_bytes}");
        Reader::open(&self.content, part.after(offset_bytes), false)
    }

    /// Returns the hex SHA-256 of a part of the medium.
    pub(super) fn sha256(&self, part: Part) -> Result<String> {
        hash(&self.content, part)
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    #[test]
    fn segments_tile_the_medium_and_differ() {
        let mut requested = golden::stream("stream-handovers");
        requested.segments = 2;
        for (quality, bytes) in requested.qualities.iter_mut().zip([10, 11, 13]) {
            quality.segment_bytes = bytes;
        }
        let media = Media::of(&requested);
        let places = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
        let parts = places.map(|(quality, segment)| media.part(quality, segment).expect("there is one"));
        let ends = parts.map(|part| (part.offset_bytes, part.offset_bytes + part.length_bytes));
        assert_eq!(ends, [(0, 10), (10, 20), (20, 31), (31, 42), (42, 55), (55, 68)]);
        let mut hashes: Vec<String> = parts.into_iter().map(|part| media.sha256(part).unwrap()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), places.len());
        let read = |offset_bytes| {
            let mut buffer = [0; 20];
            media.open_from(1, 1, offset_bytes).unwrap().read(&mut buffer).unwrap().to_vec()
        };
        assert_eq!(read(4), read(0)[4..]);
        for (quality, segment, offset_bytes) in [(3, 0, 0), (0, 2, 0), (0, 0, 10)] {
            assert!(media.open_from(quality, segment, offset_bytes).is_err());
        }
        assert_eq!((media.part(0, 2), media.part(3, 0)), (None, None));
    }
}
