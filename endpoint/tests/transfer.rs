//! Tests of `bulk` over every transport that the host's kernel has: all bytes arrive, and the records show it.

mod common;

use std::fs;

use common::{job, run, scratch, seeded};
use serde_json::{Value, json};

const SIZES_BYTES: [u64; 3] = [0, 1, (1 << 20) + 1];

#[test]
fn tcp_moves_contents() {
    check_all("tcp");
}

#[test]
fn tls_moves_contents() {
    check_all("tls");
}

#[test]
fn quic_moves_contents() {
    check_all("quic");
}

#[test]
fn quic_moves_contents_with_every_congestion_control() {
    for congestion in ["reno", "bbr"] {
        let mut job = job("quic", "down", seeded(100_000), true);
        job["workloads"][0]["transport"]["congestion"] = json!(congestion);
        let (client, _) = run(&job);
        assert_eq!(client[0]["settings"]["congestion"], congestion);
    }
}

fn check_all(transport: &str) {
    for direction in ["down", "up"] {
        for verify in [true, false] {
            for size_bytes in SIZES_BYTES {
                check(&job(transport, direction, seeded(size_bytes), verify), None);
            }
        }
        check_file(transport, direction);
    }
}

fn check_file(transport: &str, direction: &str) {
    let path = scratch("content");
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|position| (position ^ (position >> 7)) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let sha256: String =
        ring::digest::digest(&ring::digest::SHA256, &bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let content = json!({"kind": "file", "path": path, "size_bytes": bytes.len()});
    check(&job(transport, direction, content.clone(), true), Some(&sha256));
    check(&job(transport, direction, content, false), None);
}

fn check(job: &Value, sha256: Option<&str>) {
    let (client, server) = run(job);
    let verify = job["workloads"][0]["workload"]["verify"] == true;
    for (side, records) in [("client", &client), ("server", &server)] {
        let [connection, transfer, usage] = &records[..] else { panic!("{side} of {job} gave {records:?}") };
        assert_eq!((&connection["record"], &connection["side"]), (&json!("connection"), &json!(side)));
        assert_eq!(connection["settings"]["transport"], job["workloads"][0]["transport"]["kind"]);
        assert_eq!(connection["settings"]["congestion"], job["workloads"][0]["transport"]["congestion"]);
        assert_eq!((&transfer["record"], &transfer["side"]), (&json!("transfer"), &json!(side)));
        assert_eq!((&usage["record"], &usage["side"]), (&json!("usage"), &json!(side)));
        assert_eq!(transfer["direction"], job["workloads"][0]["workload"]["direction"]);
        assert_eq!(transfer["bytes"], job["workloads"][0]["workload"]["content"]["size_bytes"]);
        assert_eq!(transfer["sha256"].is_string(), verify, "{transfer} of {job}");
        if let Some(sha256) = sha256 {
            assert_eq!(transfer["sha256"], sha256, "{side} of {job}");
        }
        let times = [
            &connection["start_ns"],
            &connection["connected_ns"],
            &transfer["first_byte_ns"],
            &transfer["last_byte_ns"],
        ];
        assert!(times.map(|time| time.as_u64().unwrap()).is_sorted(), "{connection} {transfer}");
    }
    assert_eq!(client[1]["sha256"], server[1]["sha256"], "{job}");
}
