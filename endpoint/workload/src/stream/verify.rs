//! Verifies that a player received the medium's segments unchanged.

use std::collections::BTreeMap;

use anyhow::Result;
use netwarp_wire::job::{Stream, ViewerClock};
use netwarp_wire::record::{Record, SegmentRecord};

use super::media::Media;

/// Returns how the received segments differ from the medium's; `None` if they do not. If the job asks for hashes, the
/// source of each received segment is hashed once.
pub(super) fn difference(records: &[Record], requested: &Stream) -> Result<Option<String>> {
    let media = Media::of(requested);
    let mut originals: BTreeMap<(u32, u32), String> = BTreeMap::new();
    let mut received = 0;
    for record in records {
        let Record::Segment(SegmentRecord { request, segment, quality, bytes, sha256, .. }) = record else { continue };
        received += 1;
        let message = |difference: String| Ok(Some(format!("request {request}, segment {segment}: {difference}")));
        let Some(part) = media.part(*quality, *segment) else {
            return message(format!("the medium has none such in quality {quality}"));
        };
        if *bytes != part.length_bytes {
            return message(format!("{bytes} bytes were received instead of {}", part.length_bytes));
        }
        if !requested.verify {
            continue;
        }
        let original = match originals.entry((*quality, *segment)) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert(media.sha256(part)?),
        };
        let ours = sha256.as_deref().unwrap_or("missing");
        if ours != original {
            return message(format!("the client's SHA-256 is {ours}, but {original} in the medium"));
        }
    }
    if requested.viewer_clock == ViewerClock::Wall {
        // A session that ends by the wall clock may have played any number of segments.
        return Ok(None);
    }
    let watched = requested.watch_ns.div_ceil(requested.segment_ns);
    Ok((received < watched).then(|| format!("{received} segments were received, but {watched} or more were watched")))
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    fn requested(verify: bool) -> Stream {
        let mut requested = golden::stream("stream-handovers");
        requested.qualities.iter_mut().for_each(|quality| quality.segment_bytes /= 1000);
        Stream { watch_ns: 2 * requested.segment_ns, verify, ..requested }
    }

    fn received(request: u32, segment: u32, quality: u32) -> Record {
        let media = Media::of(&requested(true));
        let part = media.part(quality, segment).expect("there is one");
        Record::Segment(SegmentRecord {
            request,
            segment,
            quality,
            connection: 0,
            stream: 0,
            bytes: part.length_bytes,
            requested_ns: 1,
            first_byte_ns: 2,
            last_byte_ns: 3,
            buffer_ns: 0,
            sha256: Some(media.sha256(part).unwrap()),
        })
    }

    /// Returns the record of a segment with the hash of another segment.
    fn exchanged(at: (u32, u32, u32), hash_of: (u32, u32)) -> Record {
        let mut record = received(at.0, at.1, at.2);
        let Record::Segment(SegmentRecord { sha256: other, .. }) = received(0, hash_of.0, hash_of.1) else {
            panic!("it is one")
        };
        if let Record::Segment(SegmentRecord { sha256, .. }) = &mut record {
            *sha256 = other;
        }
        record
    }

    #[test]
    fn the_medium_s_own_bytes_are_no_difference() {
        let records = [received(0, 0, 0), received(2, 1, 2), received(3, 0, 0), received(4, 599, 1)];
        assert_eq!(difference(&records, &requested(true)).unwrap(), None);
    }

    #[test]
    fn wrong_bytes_are_noticed() {
        let mut short = received(1, 1, 0);
        if let Record::Segment(SegmentRecord { bytes, .. }) = &mut short {
            *bytes -= 1;
        }
        let mut unhashed = received(1, 1, 0);
        if let Record::Segment(SegmentRecord { sha256, .. }) = &mut unhashed {
            *sha256 = None;
        }
        let mut beyond = received(1, 1, 0);
        if let Record::Segment(SegmentRecord { segment, .. }) = &mut beyond {
            *segment = 600;
        }
        let cases = [
            (exchanged((1, 1, 0), (2, 0)), "request 1, segment 1: the client's SHA-256 is"),
            (exchanged((1, 0, 0), (0, 1)), "in the medium"),
            (short, "3999 bytes were received instead of 4000"),
            (unhashed, "SHA-256 is missing"),
            (beyond, "segment 600: the medium has none such in quality 0"),
        ];
        for (wrong, expected) in cases {
            let message =
                difference(&[received(0, 0, 0), wrong], &requested(true)).unwrap().expect("there is a difference");
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn what_was_not_to_be_hashed_is_not() {
        let records = [exchanged((0, 0, 0), (7, 0)), received(1, 1, 0)];
        assert_eq!(difference(&records, &requested(false)).unwrap(), None);
        assert!(difference(&records, &requested(true)).unwrap().is_some());
    }

    #[test]
    fn what_was_watched_was_received() {
        let message = difference(&[received(0, 0, 0)], &requested(true)).unwrap().expect("there is a difference");
        assert!(message.contains("1 segments were received, but 2 or more were watched"), "{message}");
    }
}
