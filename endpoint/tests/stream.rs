//! Tests of `stream`: a viewer watches a medium over every transport, and a server without the medium reports that.

mod common;

use common::{failure, fresh_address, job, run, seeded, start_client, start_server};
use serde_json::{Value, json};

const SEGMENT_NS: u64 = 20_000_000;
const WATCHED: u64 = 10;

#[test]
fn a_viewer_sees_the_medium_in_order() {
    for (transport, streams) in [("tcp", 1), ("tls", 1), ("quic", 3)] {
        let (client, server) = run(&stream(transport, 100));
        let of = |kind: &str| -> Vec<&Value> { client.iter().filter(|record| record["record"] == kind).collect() };
        let segments = of("segment");
        let seen: Vec<u64> = segments.iter().filter_map(|record| record["segment"].as_u64()).collect();
        assert_eq!(seen, (0..WATCHED).collect::<Vec<_>>(), "{transport}");
        assert!(segments.iter().all(|record| record["sha256"].is_string()), "{transport}");
        assert!(segments.iter().all(|record| record["stream"].as_u64().unwrap() < streams), "{transport}");
        let last = of("player").pop().unwrap();
        assert_eq!(last["action"]["kind"], "end", "{transport}");
        let bytes: u64 = segments.iter().filter_map(|record| record["bytes"].as_u64()).sum();
        let came: u64 = of("goodput")[0]["bytes"].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
        assert_eq!(came, bytes, "{transport}");
        for (side, records) in [("client", &client), ("server", &server)] {
            let connections: Vec<&Value> = records.iter().filter(|record| record["record"] == "connection").collect();
            assert_eq!(connections.len(), 1, "{transport}: {side}");
            assert_eq!((&connections[0]["side"], &connections[0]["connection"]), (&json!(side), &json!(0)));
        }
    }
}

#[test]
fn a_server_without_the_segment_says_so() {
    let address = fresh_address();
    let (server, certificate) = start_server(&stream("tcp", 2), address);
    let client = start_client(&stream("tcp", 100), address, &certificate);
    let message = failure(server, "server");
    assert!(message.contains("the medium has no segment 2"), "{message}");
    failure(client, "client");
}

/// Returns a `stream` workload of this many segments, whose bit rates are all below loopback's.
fn stream(transport: &str, segments: u64) -> Value {
    let mut job = job(transport, "down", seeded(1), true);
    job["workloads"][0]["workload"] = json!({"kind": "stream", "seed": 7, "segments": segments, "segment_ns": SEGMENT_NS,
        "qualities": [{"name": "low", "segment_bytes": 20_001}, {"name": "high", "segment_bytes": 50_003}],
        "rule": {"kind": "delay", "bounds_ns": [1_000_000_000]}, "viewer_clock": "play", "watch_ns": WATCHED * SEGMENT_NS,
        "start_buffer_ns": SEGMENT_NS, "buffer_ns": 3 * SEGMENT_NS, "seek_ratio": 0.0, "verify": true});
    job
}
