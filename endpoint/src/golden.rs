//! The wire format against the golden files, which the Python half reads and writes too.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::job::Job;
use crate::record::Record;

const JOBS: [&str; 4] = [
    include_str!("../../tests/golden/job-bulk-quic.json"),
    include_str!("../../tests/golden/job-bulk-tcp-impaired.json"),
    include_str!("../../tests/golden/job-bulk-sctp-multihomed.json"),
    include_str!("../../tests/golden/job-stream-roaming.json"),
];

const RECORDS: [&str; 3] = [
    include_str!("../../tests/golden/records-bulk-quic.jsonl"),
    include_str!("../../tests/golden/records-failed.jsonl"),
    include_str!("../../tests/golden/records-stream.jsonl"),
];

#[test]
fn jobs_survive_the_round_trip() {
    JOBS.into_iter().for_each(check::<Job>);
}

#[test]
fn records_survive_the_round_trip() {
    RECORDS.into_iter().flat_map(str::lines).for_each(check::<Record>);
}

#[test]
fn unknown_keys_are_refused() {
    let job = JOBS[0].replacen("\"format\"", "\"colour\": 1, \"format\"", 1);
    assert!(serde_json::from_str::<Job>(&job).unwrap_err().to_string().contains("colour"));
}

fn check<T: DeserializeOwned + Serialize>(text: &str) {
    let value: T = serde_json::from_str(text).unwrap();
    let (before, after): (Value, Value) = (serde_json::from_str(text).unwrap(), serde_json::to_value(value).unwrap());
    assert_eq!(before, after);
}
