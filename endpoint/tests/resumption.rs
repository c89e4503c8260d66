//! Tests whether and how later transfers resume the sessions of earlier ones, over the transports that the host's
//! kernel has.

mod common;

use common::{failure, fresh_address, job, run, seeded, start_client, start_server};
use serde_json::{Value, json};

#[test]
fn nothing_is_resumed_unless_asked_for() {
    for transport in ["tcp", "tls", "quic"] {
        check(transport, "none", &["none", "none"]);
    }
}

#[test]
fn tickets_are_resumed_and_renewed() {
    for transport in ["tls", "quic"] {
        check(transport, "1rtt", &["none", "1rtt", "1rtt"]);
    }
}

#[test]
fn early_data_is_accepted_again_and_again() {
    for transport in ["tls", "quic"] {
        check(transport, "0rtt", &["none", "0rtt", "0rtt", "0rtt"]);
    }
}

#[test]
fn a_server_whose_tickets_allow_no_early_data_gets_none() {
    let address = fresh_address();
    let (mut server, certificate) = start_server(&resuming("tls", "down", "1rtt", 2), address);
    let client = start_client(&resuming("tls", "down", "0rtt", 2), address, &certificate);
    let (records, last) = client.finish();
    assert_eq!(last["message"], "done", "{last}");
    assert_eq!(resumed(&records), ["none", "1rtt"]);
    server.order(&json!({"order": "finish"}));
    assert_eq!(server.finish().1["message"], "done");
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    for (transport, resume) in [("tcp", "1rtt"), ("sctp", "1rtt"), ("sctp", "0rtt"), ("mptcp", "0rtt")] {
        let mut server = common::Role::start("server", &resuming(transport, "down", resume, 2), fresh_address());
        server.begin(&Value::Null);
        let message = failure(server, "server");
        assert!(message.contains("transport.resume"), "{transport} {resume}: {message}");
    }
}

fn check(transport: &str, resume: &str, expected: &[&str]) {
    for direction in ["down", "up"] {
        for chunks in [1, 12] {
            let mut job = resuming(transport, direction, resume, expected.len());
            job["workloads"][0]["workload"]["chunks"] = json!(chunks);
            let (client, server) = run(&job);
            let connections = if transport == "quic" { 1 } else { chunks };
            let expected: Vec<&str> = expected.iter().flat_map(|&one| std::iter::repeat_n(one, connections)).collect();
            assert_eq!(resumed(&client), expected, "client of {job}");
            assert_eq!(resumed(&server), expected, "server of {job}");
        }
    }
}

fn resuming(transport: &str, direction: &str, resume: &str, transfers: usize) -> Value {
    let mut job = job(transport, direction, seeded(100_000), true);
    job["workloads"][0]["transport"]["resume"] = json!(resume);
    job["workloads"][0]["workload"]["transfers"] = json!(transfers);
    job
}

fn resumed(records: &[Value]) -> Vec<&str> {
    let mut connections: Vec<&Value> = records.iter().filter(|record| record["record"] == "connection").collect();
    connections.sort_by_key(|record| record["connection"].as_u64());
    connections.iter().map(|record| record["resumed"].as_str().unwrap()).collect()
}
