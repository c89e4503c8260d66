//! The files of a receiver that merges the chunks of the content into one file.
//!
//! Each chunk has a file in the run directory while it arrives. Once all have arrived they are concatenated, in order,
//! to one file, which is read back and hashed. All these files are removed.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use netwarp_core::clock::Moment;
use netwarp_transport::error::{Context as _, Result};
use netwarp_wire::content::hash;
use netwarp_wire::job::{self, Content};
use netwarp_wire::record::{MergedRecord, Record};

use super::Bulk;

/// Returns how the merged files differ from the content; `None` if they are equal, or if the job does not ask for
/// merged files. The content is read again, from beginning to end.
pub(super) fn difference(deliveries: &[Record], bulk: &job::Bulk) -> anyhow::Result<Option<String>> {
    if !bulk.merge {
        return Ok(None);
    }
    let original = hash(&bulk.content, bulk.content.whole())?;
    Ok(difference_from(deliveries, bulk.transfers, bulk.content.size_bytes(), &original))
}

fn difference_from(deliveries: &[Record], transfers: u32, original_bytes: u64, original: &str) -> Option<String> {
    let merged = |record: &Record| if let Record::Merged(file) = record { Some(file.clone()) } else { None };
    let files: Vec<MergedRecord> = deliveries.iter().filter_map(merged).collect();
    if files.iter().map(|file| file.transfer).ne(0..transfers) {
        return Some(format!("{} files were put together from the chunks of {transfers} transfers", files.len()));
    }
    files.into_iter().find_map(|MergedRecord { transfer, bytes, sha256, .. }| {
        let is_original = bytes == original_bytes && sha256 == original;
        let of_original = format!("{original_bytes} bytes, SHA-256 {original}");
        (!is_original).then(|| {
            format!("transfer {transfer}: the chunks put together are {bytes} bytes, SHA-256 {sha256}, not the original's {of_original}")
        })
    })
}

impl Bulk {
    /// Creates the file for a chunk of a transfer, if the job asks for merged files.
    pub(super) fn chunk_file(&self, transfer: u32, chunk: u32) -> Result<Option<File>> {
        let create = || {
            let path = self.chunk_path(transfer, chunk);
            File::create(&path).with_context(|| format!("creating {}", path.display()))
        };
        self.requested.merge.then(create).transpose()
    }

    /// Merges the chunks of a transfer into one file, and returns its record; `None` if the job does not ask for that.
    pub(super) fn merge(&self, transfer: u32) -> Result<Option<Record>> {
        if !self.requested.merge {
            return Ok(None);
        }
        let path = self.run.directory.join(format!("transfer-{transfer}"));
        let mut file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
        let mut bytes = 0;
        for chunk in 0..self.requested.chunks {
            let part = self.chunk_path(transfer, chunk);
            let mut source = File::open(&part).with_context(|| format!("opening {}", part.display()))?;
            bytes += io::copy(&mut source, &mut file).with_context(|| format!("appending {}", part.display()))?;
            fs::remove_file(&part).with_context(|| format!("removing {}", part.display()))?;
        }
        drop(file);
        let merged_ns = Moment::now().since(self.run.epoch_ns);
        let content = Content::File { path: path.to_string_lossy().into_owned(), size_bytes: bytes };
        let sha256 = hash(&content, content.whole())?;
        fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        let chunks = self.requested.chunks;
        Ok(Some(Record::Merged(MergedRecord { transfer, chunks, merged_ns, bytes, sha256 })))
    }

    fn chunk_path(&self, transfer: u32, chunk: u32) -> PathBuf {
        self.run.directory.join(format!("transfer-{transfer}-chunk-{chunk}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(transfer: u32, bytes: u64, sha256: &str) -> Record {
        Record::Merged(MergedRecord { transfer, chunks: 3, merged_ns: 5, bytes, sha256: sha256.to_owned() })
    }

    #[test]
    fn a_file_that_is_not_the_original_is_a_difference() {
        let difference = |files: &[Record]| difference_from(files, 2, 10, "ab");
        assert_eq!(difference(&[merged(0, 10, "ab"), merged(1, 10, "ab")]), None);
        for (files, expected) in [
            (vec![merged(0, 10, "ab")], "1 files were put together"),
            (vec![], "0 files were put together"),
            (vec![merged(0, 10, "ab"), merged(0, 10, "ab")], "2 files were put together"),
            (vec![merged(0, 10, "ab"), merged(1, 9, "ab")], "transfer 1: the chunks put together are 9 bytes"),
            (vec![merged(0, 10, "ba"), merged(1, 10, "ab")], "SHA-256 ba, not the original's 10 bytes, SHA-256 ab"),
        ] {
            let message = difference(&files).expect("there is a difference");
            assert!(message.contains(expected), "{message}");
        }
    }
}
