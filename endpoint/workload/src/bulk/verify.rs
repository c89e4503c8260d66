//! Verifies that one end received what the other sent, and that this is the job's content.
//!
//! Content that is divided into chunks is proven complete by them: they cover it without gaps ([`super::layout`]), each
//! has the same hash at both ends, and that is the hash of the same part of the source (a file, or bytes made from a
//! seed), which is read again for this.
//!
//! Where a transfer continued over another connection, the client has the whole chunk, and its hash must be that of the
//! source; the last part that the server sent must begin at the byte that the client had reached.

use anyhow::Result;
use netwarp_wire::content::hash_parts;
use netwarp_wire::job::{Bulk, Job};
use netwarp_wire::record::{Record, Side, TransferRecord};

use super::layout::Layout;

/// The transfers that the job asks for, as the records of both ends must show them.
#[derive(Debug)]
pub(super) struct Expected {
    /// How many times the content is to be transferred.
    pub transfers: u32,
    /// The size of each chunk, in bytes.
    pub chunks_bytes: Vec<u64>,
    /// The hex SHA-256 of each chunk, computed from the source; `None` if only the two ends are compared with each
    /// other.
    pub sha256: Option<Vec<String>>,
    /// Whether connections may have been given up and the content continued over others: then the server has sent only
    /// the last part of a chunk, and only the client has hashed the whole.
    pub resumes: bool,
    /// The receiving side, if the transfer may have been broken off after a time: then only the receiver records what
    /// arrived.
    pub broken_off_at: Option<Side>,
}

impl Expected {
    /// Computes what both ends must have transferred. The source is read again only if comparing the hashes of the two
    /// ends is not enough: for divided or resumed transfers, and if another program read the source.
    pub(super) fn of(bulk: &Bulk, job: &Job) -> Result<Self> {
        let parts = Layout::of(bulk, &job.only().transport).parts();
        let resumes = job.resumes();
        let is_foreign = job.only().transport.stack.is_some();
        let sha256 = (bulk.verify && (bulk.chunks > 1 || resumes || is_foreign))
            .then(|| hash_parts(&bulk.content, &parts))
            .transpose()?;
        let chunks_bytes = parts.iter().map(|part| part.length_bytes).collect();
        let broken_off_at = bulk.duration_ns.map(|_| bulk.direction.receiver());
        Ok(Self { transfers: bulk.transfers, chunks_bytes, sha256, resumes, broken_off_at })
    }
}

/// Returns the first difference between the transfers of the two ends, or between these and the expected ones; `None`
/// if there is none.
pub(super) fn difference(delivered: &[Record], expected: &Expected) -> Option<String> {
    let ends: Vec<&TransferRecord> = delivered.iter().filter_map(as_transfer).collect();
    if let Some(receiver) = expected.broken_off_at {
        return difference_of_broken_off(&ends, expected, receiver);
    }
    for transfer in 0..expected.transfers {
        for (chunk, &bytes) in (0..).zip(&expected.chunks_bytes) {
            let of_chunk: Vec<&TransferRecord> =
                ends.iter().copied().filter(|end| (end.transfer, end.chunk) == (transfer, chunk)).collect();
            let original = expected.sha256.as_ref().map(|all| all[chunk as usize].as_str());
            if let Some(difference) = difference_of_chunk(&of_chunk, bytes, original, expected.resumes) {
                return Some(format!("transfer {transfer}, chunk {chunk}: {difference}"));
            }
        }
    }
    let requested = 2 * expected.transfers as usize * expected.chunks_bytes.len();
    (ends.len() != requested).then(|| format!("{} records of transfers instead of {requested}", ends.len()))
}

/// For transfers that may be broken off: returns `None` if the receiver has a record of each chunk, with no more bytes
/// than the chunk has; otherwise the difference.
fn difference_of_broken_off(ends: &[&TransferRecord], expected: &Expected, receiver: Side) -> Option<String> {
    (0..).zip(&expected.chunks_bytes).find_map(|(chunk, &bytes)| {
        let received: Vec<u64> =
            ends.iter().filter(|end| (end.side, end.chunk) == (receiver, chunk)).map(|end| end.bytes).collect();
        match received[..] {
            [arrived] if arrived <= bytes => None,
            // The transfer's time may have been over before the client was connected, so that the server has no record.
            [] if receiver == Side::Server => None,
            [arrived] => Some(format!("chunk {chunk}: {arrived} bytes came, of {bytes}")),
            _ => Some(format!("chunk {chunk}: the {} has {} records of it", receiver.name(), received.len())),
        }
    })
}

fn difference_of_chunk(ends: &[&TransferRecord], bytes: u64, original: Option<&str>, resumes: bool) -> Option<String> {
    let one = |side| match ends.iter().filter(|end| end.side == side).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        [] => Err(format!("the {} has no record of it", side.name())),
        [..] => Err(format!("the {} has several records of it", side.name())),
    };
    let (client, server) = match (one(Side::Client), one(Side::Server)) {
        (Ok(client), Ok(server)) => (client, server),
        (Err(missing), _) | (_, Err(missing)) => return Some(missing),
    };
    let sent_bytes = server.resumed_at_bytes + server.bytes;
    if client.bytes != sent_bytes {
        return Some(format!("the client counted {} bytes, the server {sent_bytes}", client.bytes));
    }
    if client.bytes != bytes {
        return Some(format!("{} bytes were transferred instead of {bytes}", client.bytes));
    }
    let (ours, theirs) = (hash(client), hash(server));
    if ours != theirs && !resumes {
        return Some(format!("the client's SHA-256 is {ours}, the server's {theirs}"));
    }
    let original = original.filter(|original| *original != ours)?;
    let ends = if resumes { "the client" } else { "both ends" };
    Some(format!("SHA-256 is {ours} at {ends}, but {original} in the original"))
}

fn as_transfer(record: &Record) -> Option<&TransferRecord> {
    if let Record::Transfer(transfer) = record { Some(transfer) } else { None }
}

fn hash(end: &TransferRecord) -> &str {
    end.sha256.as_deref().unwrap_or("missing")
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::Direction;

    use super::*;

    fn record(side: Side, (transfer, chunk): (u32, u32), bytes: u64, sha256: &str) -> Record {
        Record::Transfer(TransferRecord {
            side,
            connection: 0,
            stream: 0,
            transfer,
            chunk,
            direction: Direction::Down,
            bytes,
            resumed_at_bytes: 0,
            first_byte_ns: 1,
            last_byte_ns: 2,
            sha256: Some(sha256.to_owned()),
            longest_gap_ns: None,
            longest_gap_at_ns: None,
        })
    }

    fn client(bytes: u64, sha256: &str) -> Record {
        record(Side::Client, (0, 0), bytes, sha256)
    }

    fn server(bytes: u64, sha256: &str) -> Record {
        record(Side::Server, (0, 0), bytes, sha256)
    }

    fn ten_bytes(sha256: Option<&str>) -> Expected {
        let sha256 = sha256.map(|sha256| vec![sha256.to_owned()]);
        Expected { transfers: 1, chunks_bytes: vec![10], sha256, resumes: false, broken_off_at: None }
    }

    /// Returns a server's record of a chunk of which it sent only the last part.
    fn piece(resumed_at: u64, length: u64) -> Record {
        let mut record = server(length, "");
        let Record::Transfer(TransferRecord { resumed_at_bytes, sha256, .. }) = &mut record else {
            panic!("it is of a transfer")
        };
        (*resumed_at_bytes, *sha256) = (resumed_at, None);
        record
    }

    #[test]
    fn equal_ends_are_no_difference() {
        let equal = [client(10, "ab"), server(10, "ab")];
        assert_eq!(difference(&equal, &ten_bytes(None)), None);
        assert_eq!(difference(&equal, &ten_bytes(Some("ab"))), None);
    }

    #[test]
    fn every_difference_is_told() {
        let cases = [
            (vec![client(10, "ab")], "the server has no record"),
            (vec![server(10, "ab")], "the client has no record"),
            (vec![client(10, "ab"), server(10, "ab"), server(10, "ab")], "the server has several records"),
            (vec![client(10, "ab"), server(9, "ab")], "counted 10 bytes, the server 9"),
            (vec![client(10, "ab"), server(10, "cd")], "SHA-256 is ab, the server's cd"),
            (vec![client(9, "ab"), server(9, "ab")], "9 bytes were transferred instead of 10"),
            (vec![client(10, "cd"), server(10, "cd")], "cd at both ends, but ab in the original"),
            (vec![], "the client has no record"),
        ];
        for (transfers, expected) in cases {
            let message = difference(&transfers, &ten_bytes(Some("ab"))).expect("there is a difference");
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_content_that_went_on_is_held_against_the_original_alone() {
        let resumed = Expected { resumes: true, ..ten_bytes(Some("ab")) };
        assert_eq!(difference(&[client(10, "ab"), piece(4, 6)], &resumed), None);
        assert_eq!(difference(&[client(10, "ab"), piece(10, 0)], &resumed), None);
        for (transfers, expected) in [
            ([client(10, "ab"), piece(4, 5)], "the client counted 10 bytes, the server 9"),
            ([client(9, "ab"), piece(4, 5)], "9 bytes were transferred instead of 10"),
            ([client(10, "cd"), piece(4, 6)], "cd at the client, but ab in the original"),
            ([client(10, "ab"), client(10, "ab")], "the client has several records"),
        ] {
            let message = difference(&transfers, &resumed).expect("there is a difference");
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn chunks_are_told_apart_in_any_order() {
        let places = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let expected = Expected {
            transfers: 2,
            chunks_bytes: vec![10, 11],
            sha256: Some(vec!["first".to_owned(), "last".to_owned()]),
            resumes: false,
            broken_off_at: None,
        };
        let hash = |chunk| if chunk == 0 { "first" } else { "last" };
        let of = |side, place: (u32, u32)| record(side, place, 10 + u64::from(place.1), hash(place.1));
        let mut records: Vec<Record> = places.iter().map(|&place| of(Side::Client, place)).collect();
        records.extend(places.iter().rev().map(|&place| of(Side::Server, place)));
        assert_eq!(difference(&records, &expected), None);
        records.push(record(Side::Client, (2, 0), 10, "first"));
        assert!(difference(&records, &expected).unwrap().contains("9 records of transfers instead of 8"));
        records.truncate(7);
        assert!(difference(&records, &expected).unwrap().contains("transfer 0, chunk 0: the server has no record"));
        // Both chunks have the bytes of the same part: they are equal at both ends, and still not the content.
        let swapped = |side| [record(side, (0, 0), 10, "first"), record(side, (0, 1), 11, "first")];
        let records = [swapped(Side::Client), swapped(Side::Server)].concat();
        assert!(difference(&records, &Expected { transfers: 1, ..expected }).unwrap().contains("in the original"));
    }

    #[test]
    fn of_a_content_that_was_broken_off_the_receiver_has_what_came() {
        let expected = Expected { broken_off_at: Some(Side::Client), ..ten_bytes(None) };
        let came = |bytes| difference(&[record(Side::Client, (0, 0), bytes, "")], &expected);
        assert_eq!((came(0), came(7), came(10)), (None, None, None));
        assert!(came(11).expect("more than there is").contains("11 bytes came, of 10"));
        assert!(difference(&[], &expected).expect("nothing").contains("the client has 0 records"));
        assert!(difference(&[record(Side::Server, (0, 0), 7, "")], &expected).is_some(), "a sender cannot say");
    }
}
