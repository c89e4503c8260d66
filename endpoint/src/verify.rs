//! Whether what one end received is what the other sent, and both are what was to be sent. Pure.
//!
//! A content that was cut is proven whole by its chunks: they tile it ([`crate::workload::layout`]), each has the same
//! bytes at both ends, and those are the original's at its place, read anew and front to back. So the chunks put
//! together in order are the original.

use crate::record::{Record, Side};

/// What was to be transferred.
#[derive(Debug)]
pub struct Expected {
    /// How often.
    pub transfers: u32,
    /// Bytes of each chunk.
    pub chunks_bytes: Vec<u64>,
    /// Hex SHA-256 of each chunk of the original, if the ends' hashes are to be held against it.
    pub sha256: Option<Vec<String>>,
}

/// What an end saw of one chunk.
#[derive(Debug, PartialEq, Eq)]
struct Seen<'a> {
    side: Side,
    transfer: u32,
    chunk: u32,
    bytes: u64,
    sha256: Option<&'a str>,
}

/// How the transfers differ, between both ends or from what was asked; none if in nothing.
pub fn difference(transfers: &[Record], expected: &Expected) -> Option<String> {
    let seen: Vec<Seen<'_>> = transfers.iter().filter_map(seen).collect();
    for transfer in 0..expected.transfers {
        for (chunk, &bytes) in (0..).zip(&expected.chunks_bytes) {
            let of_chunk: Vec<&Seen<'_>> =
                seen.iter().filter(|end| (end.transfer, end.chunk) == (transfer, chunk)).collect();
            let original = expected.sha256.as_ref().map(|all| all[chunk as usize].as_str());
            if let Some(difference) = difference_of_chunk(&of_chunk, bytes, original) {
                return Some(format!("transfer {transfer}, chunk {chunk}: {difference}"));
            }
        }
    }
    let asked = 2 * expected.transfers as usize * expected.chunks_bytes.len();
    (seen.len() != asked).then(|| format!("{} records of transfers instead of {asked}", seen.len()))
}

fn difference_of_chunk(seen: &[&Seen<'_>], bytes: u64, original: Option<&str>) -> Option<String> {
    let one = |side| match seen.iter().filter(|end| end.side == side).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        [] => Err(format!("the {} has no record of it", name(side))),
        [..] => Err(format!("the {} has several records of it", name(side))),
    };
    let (client, server) = match (one(Side::Client), one(Side::Server)) {
        (Ok(client), Ok(server)) => (client, server),
        (Err(missing), _) | (_, Err(missing)) => return Some(missing),
    };
    if client.bytes != server.bytes {
        return Some(format!("the client counted {} bytes, the server {}", client.bytes, server.bytes));
    }
    if client.bytes != bytes {
        return Some(format!("{} bytes were transferred instead of {bytes}", client.bytes));
    }
    let (ours, theirs) = (client.sha256.unwrap_or("missing"), server.sha256.unwrap_or("missing"));
    if ours != theirs {
        return Some(format!("the client's SHA-256 is {ours}, the server's {theirs}"));
    }
    let original = original.filter(|original| *original != ours)?;
    Some(format!("SHA-256 is {ours} at both ends, but {original} in the original"))
}

fn seen(record: &Record) -> Option<Seen<'_>> {
    match record {
        Record::Transfer { side, transfer, chunk, bytes, sha256, .. } => {
            Some(Seen { side: *side, transfer: *transfer, chunk: *chunk, bytes: *bytes, sha256: sha256.as_deref() })
        }
        _ => None,
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Heading;

    fn record(side: Side, (transfer, chunk): (u32, u32), bytes: u64, sha256: &str) -> Record {
        Record::Transfer {
            side,
            connection: 0,
            stream: 0,
            transfer,
            chunk,
            direction: Heading::Down,
            bytes,
            resumed_at_bytes: 0,
            first_byte_ns: 1,
            last_byte_ns: 2,
            sha256: Some(sha256.to_owned()),
            longest_gap_ns: None,
            longest_gap_at_ns: None,
        }
    }

    fn client(bytes: u64, sha256: &str) -> Record {
        record(Side::Client, (0, 0), bytes, sha256)
    }

    fn server(bytes: u64, sha256: &str) -> Record {
        record(Side::Server, (0, 0), bytes, sha256)
    }

    fn ten_bytes(sha256: Option<&str>) -> Expected {
        Expected { transfers: 1, chunks_bytes: vec![10], sha256: sha256.map(|sha256| vec![sha256.to_owned()]) }
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
            let told = difference(&transfers, &ten_bytes(Some("ab"))).expect("there is a difference");
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn chunks_are_told_apart_in_any_order() {
        let places = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let expected = Expected {
            transfers: 2,
            chunks_bytes: vec![10, 11],
            sha256: Some(vec!["first".to_owned(), "last".to_owned()]),
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
        // Both chunks from the same place: equal at both ends, and still not the content.
        let swapped = |side| [record(side, (0, 0), 10, "first"), record(side, (0, 1), 11, "first")];
        let records = [swapped(Side::Client), swapped(Side::Server)].concat();
        assert!(difference(&records, &Expected { transfers: 1, ..expected }).unwrap().contains("in the original"));
    }
}
