//! Reads the jobs of `tests/golden`, for the tests of every crate.

use std::fs;
use std::path::Path;

use crate::job::{Job, Page, Stream, Workload};

/// Returns the text of the golden file `job-NAME.json`.
pub fn text(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/golden/job-{name}.json"));
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the golden job of this name.
pub fn job(name: &str) -> Job {
    serde_json::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the `page` workload of a golden job.
pub fn page(name: &str) -> Page {
    let Workload::Page(page) = job(name).only().workload.clone() else { panic!("{name} is no page") };
    page
}

/// Returns the `stream` workload of a golden job.
pub fn stream(name: &str) -> Stream {
    let Workload::Stream(stream) = job(name).only().workload.clone() else { panic!("{name} is no stream") };
    stream
}
