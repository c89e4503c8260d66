//! Tests of `bulk` in chunks, once and several times: every chunk arrives once, and the records identify it.

mod common;

use std::fs;

use common::{failure, fresh_address, job, run, scratch, seeded, start_client, start_server};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

/// Size of the content in bytes: not divisible by any of the numbers of chunks below.
const SIZE_BYTES: u64 = 300_007;

#[test]
fn chunks_go_over_connections_of_tcp_and_tls() {
    for transport in ["tcp", "tls"] {
        for (direction, chunks) in [("down", 2), ("down", 5), ("up", 5)] {
            for dial in ["sequential", "parallel"] {
                let (client, server) = run(&chunked(transport, direction, chunks, dial, 1));
                assert_eq!(places(&client), (0..chunks).map(|chunk| (0, chunk, chunk, 0)).collect::<Vec<_>>());
                check_both(&client, &server, chunks);
            }
        }
    }
}

#[test]
fn chunks_go_over_streams_of_one_quic_connection() {
    for direction in ["down", "up"] {
        let (client, server) = run(&chunked("quic", direction, 5, "sequential", 1));
        assert_eq!(places(&client), (0..5).map(|chunk| (0, chunk, 0, chunk)).collect::<Vec<_>>());
        assert_eq!(client.iter().filter(|record| record["record"] == "connection").count(), 1);
        check_both(&client, &server, 5);
    }
}

#[test]
fn sequential_dialling_waits_and_no_content_moves_before_all_are_connected() {
    let (client, _) = run(&chunked("tls", "down", 4, "sequential", 1));
    let of = |key: &str| -> Vec<u64> { client.iter().filter_map(|record| record[key].as_u64()).collect() };
    let (start_ns, connected_ns) = (of("start_ns"), of("connected_ns"));
    assert_eq!((start_ns.len(), connected_ns.len()), (4, 4));
    assert!(connected_ns.iter().zip(&start_ns[1..]).all(|(connected, next)| connected <= next));
    assert!(of("first_byte_ns").iter().all(|first_byte| first_byte >= connected_ns.last().unwrap()));
}

#[test]
fn transfers_follow_each_other_over_new_connections() {
    for (transport, connections) in [("tcp", 3), ("quic", 1)] {
        let (client, server) = run(&chunked(transport, "down", 3, "parallel", 2));
        check_both(&client, &server, 6);
        let expected: Vec<_> = (0..6)
            .map(|place| (place / 3, place % 3))
            .map(|(transfer, chunk)| match connections {
                1 => (transfer, chunk, transfer, chunk),
                _ => (transfer, chunk, transfer * connections + chunk, 0),
            })
            .collect();
        assert_eq!(places(&client), expected);
        let of = |transfer, key: &str| -> Vec<u64> {
            client.iter().filter(|record| record["transfer"] == transfer).filter_map(|r| r[key].as_u64()).collect()
        };
        assert!(of(0, "last_byte_ns").iter().max() < of(1, "start_ns").iter().min(), "{transport}");
    }
}

#[test]
fn chunks_merge_into_the_original() {
    let path = scratch("content");
    let bytes: Vec<u8> = (0..SIZE_BYTES as u32).map(|position| (position ^ (position >> 7)) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let hashes: Vec<Value> = bytes
        .chunks(60_001)
        .map(|chunk| digest(&SHA256, chunk).as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        .map(Value::from)
        .collect();
    // 300 007 = 5 × 60 001 + 2: the last chunk takes the rest.
    let last = digest(&SHA256, &bytes[240_004..]);
    let last: String = last.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    for transport in ["tcp", "tls", "quic"] {
        for direction in ["down", "up"] {
            let mut job = chunked(transport, direction, 5, "parallel", 1);
            job["workloads"][0]["workload"]["content"] =
                json!({"kind": "file", "path": path, "size_bytes": bytes.len()});
            let (client, server) = run(&job);
            for records in [transfers(&client), transfers(&server)] {
                let of_end: Vec<_> = records.iter().map(|record| record["sha256"].clone()).collect();
                assert_eq!((&of_end[..4], &of_end[4]), (&hashes[..4], &json!(last)), "{transport} {direction}");
            }
            // Without hashes, TCP sends the file's part straight from the kernel.
            job["workloads"][0]["workload"]["verify"] = json!(false);
            let (client, server) = run(&job);
            assert_eq!((transfers(&client).len(), transfers(&server).len()), (5, 5));
        }
    }
}

#[test]
fn a_transfer_is_done_by_the_ends_of_its_streams_and_one_more() {
    for transport in ["tcp", "tls", "quic"] {
        for resume in ["none", "0rtt"] {
            let mut job = chunked(transport, "down", 5, "sequential", 3);
            job["workloads"][0]["workload"]["done"] = json!("transfer");
            job["workloads"][0]["transport"]["resume"] = json!(if transport == "tcp" { "none" } else { resume });
            let (client, server) = run(&job);
            for (records, side) in [(&client, "client"), (&server, "server")] {
                let found = transfers(records);
                let places: Vec<_> = found.iter().map(|r| (r["transfer"].clone(), r["chunk"].clone())).collect();
                let expected: Vec<_> =
                    (0..3).flat_map(|of| (0..5).map(move |chunk| (json!(of), json!(chunk)))).collect();
                assert_eq!(places, expected, "{transport} {side}");
            }
            let hash = |records| transfers(records).iter().map(|r| r["sha256"].clone()).collect::<Vec<_>>();
            assert_eq!(hash(&client), hash(&server), "{transport}");
            // Over a connection with streams, the chunks of a transfer are confirmed together.
            let mut told: Vec<_> = transfers(&server).iter().filter_map(|r| r["last_byte_ns"].as_u64()).collect();
            told.sort_unstable();
            told.dedup();
            assert!(if transport == "quic" { told.len() == 3 } else { told.len() > 3 }, "{transport}: {told:?}");
            // Later transfers resume with session tickets of earlier ones.
            let connections = client.iter().filter(|r| r["record"] == "connection" && r["transfer"] != 0);
            let resumed: Vec<_> = connections.map(|r| r["resumed"].clone()).collect();
            let expected = job["workloads"][0]["transport"]["resume"].clone();
            assert!(resumed.iter().all(|each| *each == expected), "{transport} {expected}: {resumed:?}");
        }
    }
}

#[test]
fn a_server_that_cuts_otherwise_refuses_the_client() {
    let address = fresh_address();
    let (server, _) = start_server(&chunked("tcp", "down", 3, "parallel", 1), address);
    let client = start_client(&chunked("tcp", "down", 2, "parallel", 1), address, &Value::Null);
    let message = failure(server, "server");
    assert!(message.contains("150003") && message.contains("100002"), "{message}");
    // The client's connections end with the server's process: with an end, which is a failure, or with a reset before
    // anything came, which looks to the client as if the path had ended them. It got no chunk either way.
    let (records, last) = client.finish();
    let gave_up = records.iter().any(|record| record["record"] == "gave_up");
    assert!(transfers(&records).is_empty() && (last["message"] == "failed" || gave_up), "{records:?} {last}");
}

fn chunked(transport: &str, direction: &str, chunks: u64, dial: &str, transfers: u64) -> Value {
    let mut job = job(transport, direction, seeded(SIZE_BYTES), true);
    job["workloads"][0]["workload"]["chunks"] = json!(chunks);
    job["workloads"][0]["workload"]["dial"] = json!(dial);
    job["workloads"][0]["workload"]["transfers"] = json!(transfers);
    job
}

fn transfers(records: &[Value]) -> Vec<&Value> {
    let mut found: Vec<&Value> = records.iter().filter(|record| record["record"] == "transfer").collect();
    found.sort_by_key(|record| (record["transfer"].as_u64(), record["chunk"].as_u64()));
    found
}

/// Returns the transfer, chunk, connection and stream of each transfer record, in order.
fn places(records: &[Value]) -> Vec<(u64, u64, u64, u64)> {
    let number = |record: &Value, key: &str| record[key].as_u64().unwrap();
    transfers(records)
        .into_iter()
        .map(|record| {
            (
                number(record, "transfer"),
                number(record, "chunk"),
                number(record, "connection"),
                number(record, "stream"),
            )
        })
        .collect()
}

/// Checks that both ends have a record of each chunk, with the same hash at the same place.
fn check_both(client: &[Value], server: &[Value], count: u64) {
    let (of_client, of_server) = (transfers(client), transfers(server));
    assert_eq!((of_client.len() as u64, places(client)), (count, places(server)));
    let total_bytes: u64 = of_client.iter().map(|record| record["bytes"].as_u64().unwrap()).sum();
    assert_eq!(total_bytes % SIZE_BYTES, 0);
    for (ours, theirs) in of_client.iter().zip(of_server) {
        assert!(ours["sha256"].is_string());
        assert_eq!((&ours["bytes"], &ours["sha256"]), (&theirs["bytes"], &theirs["sha256"]));
    }
}
