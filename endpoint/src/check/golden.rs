//! Tests of the wire format against the golden files, which the Python half reads and writes too.

use std::fs;
use std::path::{Path, PathBuf};

use netwarp_wire::job::{Job, Model};
use netwarp_wire::record::Record;
use netwarp_workload::sandbox;
use serde_json::Value;

use crate::check;

fn golden_files(prefix: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let entries = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let wanted = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    let files: Vec<PathBuf> = entries.filter(wanted).collect();
    assert!(!files.is_empty(), "no golden {prefix}* in {}", directory.display());
    files
}

#[test]
fn jobs_survive_the_round_trip_and_are_sound() {
    for file in golden_files("job-") {
        let text = fs::read_to_string(&file).unwrap();
        let job: Job = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let before: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&job).unwrap(), before, "{}", file.display());
        // A job for a simulator is valid too, but the endpoint does not carry it out.
        let sound = check::problems(&job).iter().all(|problem| {
            job.workloads[0].transport.model != Model::Kernel && problem.starts_with("transport.model: ")
        });
        assert!(sound, "{}: {:?}", file.display(), check::problems(&job));
    }
}

#[test]
fn a_job_has_programs_where_its_workload_has_a_file_system_for_them() {
    for file in golden_files("job-") {
        let job: Job = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(job.has_programs(), sandbox::of_run(&job).is_some(), "{}", file.display());
    }
}

#[test]
fn records_survive_the_round_trip_to_the_byte() {
    for file in golden_files("records-") {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let record: Record =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {line}: {error}", file.display()));
            assert_eq!(serde_json::to_string(&record).unwrap(), line, "{}", file.display());
        }
    }
}

#[test]
fn unknown_keys_are_refused_at_every_depth() {
    for file in golden_files("job-") {
        let job: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for spoilt in with_a_key_too_many(&job) {
            let error = serde_json::from_value::<Job>(spoilt).unwrap_err().to_string();
            assert!(error.contains("surprise"), "{}: {error}", file.display());
        }
    }
}

#[test]
fn unknown_keys_of_records_are_refused() {
    for file in golden_files("records-") {
        for line in fs::read_to_string(&file).unwrap().lines() {
            for spoilt in with_a_key_too_many(&serde_json::from_str(line).unwrap()) {
                let error = serde_json::from_value::<Record>(spoilt).unwrap_err().to_string();
                assert!(error.contains("surprise"), "{line}: {error}");
            }
        }
    }
}

/// Returns copies of the value, one for each object in it: in each copy, that object has an additional, unknown key.
fn with_a_key_too_many(value: &Value) -> Vec<Value> {
    let mut spoilt = Vec::new();
    match value {
        Value::Object(keys) => {
            let mut with_more = keys.clone();
            with_more.insert("surprise".to_owned(), Value::Null);
            spoilt.push(Value::Object(with_more));
            for (key, inner) in keys {
                let put_back = |inner| Value::Object(keys.clone().into_iter().chain([(key.clone(), inner)]).collect());
                spoilt.extend(with_a_key_too_many(inner).into_iter().map(put_back));
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                let put_back = |inner| {
                    let mut items = items.clone();
                    items[index] = inner;
                    Value::Array(items)
                };
                spoilt.extend(with_a_key_too_many(inner).into_iter().map(put_back));
            }
        }
        _ => {}
    }
    spoilt
}
