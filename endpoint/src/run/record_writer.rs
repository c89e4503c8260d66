//! Writes `records.jsonl`: appends records as they arrive, in complete lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use netwarp_core::clock::Moment;
use netwarp_wire::record::{EndRecord, Failure, Record};

/// The name of the records file in the run directory.
pub(crate) const FILE_NAME: &str = "records.jsonl";

/// The open file of one run's records, and the run's epoch.
#[derive(Debug)]
pub(crate) struct RecordWriter {
    file: File,
    epoch_ns: Option<u64>,
}

impl RecordWriter {
    /// Opens the records file of a run directory for appending.
    pub(crate) fn open(run_directory: &Path) -> Result<Self> {
        let path = run_directory.join(FILE_NAME);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        Ok(Self { file: file.with_context(|| format!("open {}", path.display()))?, epoch_ns: None })
    }

    /// Sets the run's epoch to the current time, and returns it in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) fn start_clock(&mut self) -> u64 {
        *self.epoch_ns.insert(Moment::now().since(0))
    }

    /// Returns the time since the run's epoch, in nanoseconds; 0 before it.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.epoch_ns.map_or(0, |epoch_ns| Moment::now().since(epoch_ns))
    }

    /// Appends a record, by one write call.
    pub(crate) fn write(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(record).context("encode a record")?;
        line.push(b'\n');
        self.file.write_all(&line).with_context(|| format!("append to {FILE_NAME}"))
    }

    /// Appends the last record, `end`, and makes sure that this kernel has written all records to the disk.
    pub(crate) fn end(mut self, failure: Option<Failure>) -> Result<()> {
        let virtual_ns = self.elapsed_ns();
        self.write(&Record::End(EndRecord { virtual_ns, failure }))?;
        self.file.sync_all().with_context(|| format!("flush {FILE_NAME}"))
    }
}
