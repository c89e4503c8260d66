//! Reads the content of a transfer: a file, or bytes made from a seed.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use anyhow::{Context as _, Result, ensure};
/// A SHA-256 computation.
pub use ring::digest::Context as Hasher;
use ring::digest::SHA256;

use crate::job::{Bulk, Content};
use crate::seeded;

/// A part of the content of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Offset of the part in the content, in bytes.
    pub offset_bytes: u64,
    /// Length of the part, in bytes.
    pub length_bytes: u64,
}

impl Content {
    /// Returns the part that consists of the whole content.
    pub fn whole(&self) -> Part {
        Part { offset_bytes: 0, length_bytes: self.size_bytes() }
    }
}

impl Bulk {
    /// Returns the part of the content that is this chunk.
    pub fn part(&self, chunk: u32) -> Part {
        Part::of_chunk(self.content.size_bytes(), self.chunks, chunk)
    }
}

impl Part {
    /// Returns one of the chunks into which content is divided: they have equal sizes, and the last also takes the
    /// remainder.
    pub fn of_chunk(size_bytes: u64, chunks: u32, chunk: u32) -> Self {
        let each_bytes = size_bytes / u64::from(chunks);
        let offset_bytes = u64::from(chunk) * each_bytes;
        let is_last = chunk + 1 == chunks;
        Self { offset_bytes, length_bytes: if is_last { size_bytes - offset_bytes } else { each_bytes } }
    }

    /// Returns the offset of the part's end in the content, in bytes.
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes + self.length_bytes
    }

    /// Returns the rest of the part after its first `bytes`.
    pub fn after(&self, bytes: u64) -> Self {
        Self { offset_bytes: self.offset_bytes + bytes, length_bytes: self.length_bytes - bytes }
    }
}

/// Reads a part of a [`Content`] from front to back, and can hash it.
pub struct Reader {
    source: Source,
    end: u64,
    position: u64,
    hasher: Option<Hasher>,
}

/// The size of the blocks in which content is copied or hashed, in bytes.
const BLOCK_BYTES: usize = 1 << 20;

enum Source {
    Seeded { seed: u64 },
    File { file: File, name: String },
}

impl Reader {
    /// Opens the content for reading this part of it, which is hashed if `verify`.
    ///
    /// # Errors
    /// The file cannot be opened, or its size is no longer the job's.
    pub fn open(content: &Content, part: Part, verify: bool) -> Result<Self> {
        let source = match content {
            Content::Seeded { seed, .. } => Source::Seeded { seed: *seed },
            Content::File { path, size_bytes } => open_file(path, *size_bytes, part.offset_bytes)?,
        };
        Ok(Self { source, end: part.end_bytes(), position: part.offset_bytes, hasher: verify.then(new_hasher) })
    }

    /// Returns the number of bytes not read yet.
    pub fn remaining_bytes(&self) -> u64 {
        self.end - self.position
    }

    /// Reads as many of the next bytes as fit into the buffer, and returns them.
    ///
    /// # Errors
    /// The file cannot be read, or ends early.
    pub fn read<'a>(&mut self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        let length = self.remaining_bytes().min(buffer.len() as u64) as usize;
        let block = &mut buffer[..length];
        match &self.source {
            Source::Seeded { seed } => seeded::fill(*seed, self.position, block),
            Source::File { file, name } => file
                .read_exact_at(block, self.position)
                .with_context(|| format!("reading {length} bytes at {} of {name}", self.position))?,
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(block);
        }
        self.position += length as u64;
        Ok(block)
    }

    /// Writes all bytes that have not been read yet to `out`.
    ///
    /// # Errors
    /// As [`Self::read`], and as writing to `out`.
    pub fn copy_to(&mut self, out: &mut impl Write) -> Result<()> {
        let mut buffer = vec![0; self.remaining_bytes().min(BLOCK_BYTES as u64) as usize];
        while self.remaining_bytes() > 0 {
            out.write_all(self.read(&mut buffer)?)?;
        }
        Ok(())
    }

    /// Returns the file if `sendfile(2)` can send the rest directly from its current position: if the content is a file
    /// and is not hashed.
    pub fn sendable_file(&self) -> Option<&File> {
        match &self.source {
            Source::File { file, .. } if self.hasher.is_none() => Some(file),
            _ => None,
        }
    }

    /// Counts bytes that were sent directly from [`Self::sendable_file`] as read.
    pub fn advance(&mut self, bytes: u64) {
        self.position += bytes;
    }

    /// Returns the hex SHA-256 of the bytes read; `None` if the reader does not hash.
    pub fn into_sha256(self) -> Option<String> {
        self.hasher.map(hex_digest)
    }
}

/// Returns the hex SHA-256 of a part of the content.
///
/// # Errors
/// As [`Reader::open`] and [`Reader::read`].
pub fn hash(content: &Content, part: Part) -> Result<String> {
    let mut original = Reader::open(content, part, true)?;
    original.copy_to(&mut io::sink())?;
    original.into_sha256().context("nobody asked for a hash")
}

/// Returns the hex SHA-256 of each part of the content, which is read once from front to back.
///
/// # Arguments
/// * `parts` - in order, without gaps, from the content's first byte to its last.
///
/// # Errors
/// As [`Reader::open`] and [`Reader::read`].
pub fn hash_parts(content: &Content, parts: &[Part]) -> Result<Vec<String>> {
    let mut original = Reader::open(content, content.whole(), false)?;
    let mut buffer = vec![0; BLOCK_BYTES];
    let mut hashes = Vec::new();
    for part in parts {
        let mut hasher = new_hasher();
        let mut left_bytes = part.length_bytes;
        while left_bytes > 0 {
            let length = left_bytes.min(BLOCK_BYTES as u64) as usize;
            let block = original.read(&mut buffer[..length])?;
            ensure!(!block.is_empty(), "the parts are longer than the content");
            hasher.update(block);
            left_bytes -= block.len() as u64;
        }
        hashes.push(hex_digest(hasher));
    }
    ensure!(original.remaining_bytes() == 0, "the parts are shorter than the content");
    Ok(hashes)
}

fn open_file(name: &str, size_bytes: u64, offset_bytes: u64) -> Result<Source> {
    let mut file = File::open(name).with_context(|| format!("opening {name} to send it"))?;
    let found = file.metadata().with_context(|| format!("reading the size of {name}"))?.len();
    ensure!(
        found == size_bytes,
        "{name} has {found} bytes, but had {size_bytes} when the run was planned: leave it unchanged, or plan again"
    );
    file.seek(SeekFrom::Start(offset_bytes)).with_context(|| format!("going to byte {offset_bytes} of {name}"))?;
    Ok(Source::File { file, name: name.to_owned() })
}

/// Creates a SHA-256 hasher without input.
pub fn new_hasher() -> Hasher {
    Hasher::new(&SHA256)
}

/// Returns the digest of a hasher, in hex.
pub fn hex_digest(hasher: Hasher) -> String {
    hex::encode(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in_blocks(content: &Content, block_bytes: usize) -> (Vec<u8>, Option<String>) {
        let mut reader = Reader::open(content, content.whole(), true).unwrap();
        let mut buffer = vec![0; block_bytes];
        let mut all = Vec::new();
        while reader.remaining_bytes() > 0 {
            all.extend_from_slice(reader.read(&mut buffer).unwrap());
        }
        (all, reader.into_sha256())
    }

    #[test]
    fn seeded_content_does_not_depend_on_the_block_size() {
        let content = Content::Seeded { seed: 7, size_bytes: 10_001 };
        let whole = read_in_blocks(&content, 20_000);
        assert_eq!(whole.0.len(), 10_001);
        for block_bytes in [1, 7, 8, 9, 4096] {
            assert_eq!(read_in_blocks(&content, block_bytes), whole, "blocks of {block_bytes}");
        }
        assert_ne!(read_in_blocks(&Content::Seeded { seed: 8, size_bytes: 10_001 }, 64), whole);
    }

    #[test]
    fn parts_read_apart_are_the_parts_of_the_whole() {
        let content = Content::Seeded { seed: 7, size_bytes: 1001 };
        let parts =
            [(0, 333), (333, 333), (666, 335)].map(|(offset_bytes, length_bytes)| Part { offset_bytes, length_bytes });
        let read = |part| {
            let mut reader = Reader::open(&content, part, true).unwrap();
            let mut buffer = [0; 400];
            let bytes = reader.read(&mut buffer).unwrap().to_vec();
            assert_eq!(reader.remaining_bytes(), 0);
            (bytes, reader.into_sha256().unwrap())
        };
        let (bytes, hashes): (Vec<_>, Vec<_>) = parts.map(read).into_iter().unzip();
        assert_eq!(bytes.concat(), read_in_blocks(&content, 64).0);
        assert_eq!(hash_parts(&content, &parts).unwrap(), hashes);
        assert!(hash_parts(&content, &parts[..2]).is_err());
    }

    #[test]
    fn a_file_that_changed_is_refused() {
        let path = std::env::temp_dir().join(format!("netwarp-content-{}", std::process::id()));
        std::fs::write(&path, b"four").unwrap();
        let wrong = Content::File { path: path.display().to_string(), size_bytes: 5 };
        let refused = Reader::open(&wrong, wrong.whole(), false).err().unwrap();
        let right = Content::File { path: path.display().to_string(), size_bytes: 4 };
        assert_eq!(read_in_blocks(&right, 3).0, b"four");
        std::fs::remove_file(&path).unwrap();
        let message = format!("{refused:#}");
        assert!(message.contains("has 4 bytes, but had 5") && message.contains(path.to_str().unwrap()), "{message}");
    }
}
