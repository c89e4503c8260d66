//! Whether what one end received is what the other sent. Pure.

use crate::job::{Content, Workload};
use crate::record::{Record, Side};

/// What an end saw of one stream.
#[derive(Debug, PartialEq, Eq)]
struct Seen<'a> {
    side: Side,
    connection: u32,
    stream: u32,
    bytes: u64,
    sha256: Option<&'a str>,
}

/// How the transfers differ, between both ends or from what was asked; none if in nothing.
pub fn difference(transfers: &[Record], workload: &Workload) -> Option<String> {
    let Workload::Bulk { content, .. } = workload;
    let seen: Vec<Seen<'_>> = transfers.iter().filter_map(seen).collect();
    let (clients, servers): (Vec<_>, Vec<_>) = seen.iter().partition(|end| end.side == Side::Client);
    for client in &clients {
        let server = servers.iter().find(|end| (end.connection, end.stream) == (client.connection, client.stream));
        let Some(server) = server else {
            return Some(format!("the server has no record of {}", stream(client)));
        };
        if client.bytes != server.bytes {
            let (ours, theirs) = (client.bytes, server.bytes);
            return Some(format!("{}: the client counted {ours} bytes, the server {theirs}", stream(client)));
        }
        if client.sha256 != server.sha256 {
            return Some(format!(
                "{}: the client's SHA-256 is {}, the server's {}",
                stream(client),
                client.sha256.unwrap_or("missing"),
                server.sha256.unwrap_or("missing")
            ));
        }
    }
    if let Some(lonely) = servers.iter().find(|server| {
        !clients.iter().any(|client| (client.connection, client.stream) == (server.connection, server.stream))
    }) {
        return Some(format!("the client has no record of {}", stream(lonely)));
    }
    wrong_total(&clients, content)
}

fn wrong_total(clients: &[&Seen<'_>], content: &Content) -> Option<String> {
    let total: u64 = clients.iter().map(|client| client.bytes).sum();
    let asked = content.size_bytes();
    (total != asked).then(|| format!("{total} bytes were transferred instead of {asked}"))
}

fn seen(record: &Record) -> Option<Seen<'_>> {
    match record {
        Record::Transfer { side, connection, stream, bytes, sha256, .. } => Some(Seen {
            side: *side,
            connection: *connection,
            stream: *stream,
            bytes: *bytes,
            sha256: sha256.as_deref(),
        }),
        _ => None,
    }
}

fn stream(end: &Seen<'_>) -> String {
    format!("connection {}, stream {}", end.connection, end.stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Dial, Heading};

    fn transfer(side: Side, bytes: u64, sha256: &str) -> Record {
        Record::Transfer {
            side,
            connection: 0,
            stream: 0,
            transfer: 0,
            chunk: 0,
            direction: Heading::Down,
            bytes,
            first_byte_ns: 1,
            last_byte_ns: 2,
            sha256: Some(sha256.to_owned()),
            longest_gap_ns: None,
            longest_gap_at_ns: None,
        }
    }

    fn ten_bytes() -> Workload {
        let content = Content::Seeded { seed: 1, size_bytes: 10 };
        Workload::Bulk {
            direction: Heading::Down,
            content,
            verify: true,
            chunks: 1,
            dial: Dial::Sequential,
            transfers: 1,
        }
    }

    #[test]
    fn equal_ends_are_no_difference() {
        let equal = [transfer(Side::Client, 10, "ab"), transfer(Side::Server, 10, "ab")];
        assert_eq!(difference(&equal, &ten_bytes()), None);
    }

    #[test]
    fn every_difference_is_told() {
        let cases = [
            (vec![transfer(Side::Client, 10, "ab")], "the server has no record"),
            (vec![transfer(Side::Server, 10, "ab")], "the client has no record"),
            (vec![transfer(Side::Client, 10, "ab"), transfer(Side::Server, 9, "ab")], "counted 10 bytes, the server 9"),
            (
                vec![transfer(Side::Client, 10, "ab"), transfer(Side::Server, 10, "cd")],
                "SHA-256 is ab, the server's cd",
            ),
            (
                vec![transfer(Side::Client, 9, "ab"), transfer(Side::Server, 9, "ab")],
                "9 bytes were transferred instead",
            ),
            (vec![], "0 bytes were transferred instead of 10"),
        ];
        for (transfers, expected) in cases {
            let told = difference(&transfers, &ten_bytes()).expect("there is a difference");
            assert!(told.contains(expected), "{told}");
        }
    }
}
