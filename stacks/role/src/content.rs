//! The content of a transfer: a file, or bytes made from a seed as they are read.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use anyhow::{Context as _, Result, ensure};

use crate::job::Content;

const WORD_BYTES: usize = 8;

/// Reads a part of a content front to back.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    position: u64,
    end: u64,
}

#[derive(Debug)]
enum Source {
    Seeded(u64),
    File(File),
}

impl Reader {
    /// Opens a content to read a part of it.
    ///
    /// # Errors
    /// The file does not exist, or its size has changed.
    pub fn open(content: &Content, (offset_bytes, length_bytes): (u64, u64)) -> Result<Self> {
        let source = match content {
            Content::Seeded { seed, .. } => Source::Seeded(*seed),
            Content::File { path, size_bytes } => {
                let file = File::open(path).with_context(|| format!("open {path} to send it"))?;
                let found = file.metadata().with_context(|| format!("read the size of {path}"))?.len();
                ensure!(found == *size_bytes, "{path} has {found} bytes, not the {size_bytes} that were planned");
                Source::File(file)
            }
        };
        Ok(Self { source, position: offset_bytes, end: offset_bytes + length_bytes })
    }

    /// Returns how many bytes have not been read.
    pub fn left_bytes(&self) -> u64 {
        self.end - self.position
    }

    /// Reads as many of the next bytes as fit into the buffer, and returns them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read<'a>(&mut self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        let length = self.left_bytes().min(buffer.len() as u64) as usize;
        let block = &mut buffer[..length];
        match &self.source {
            Source::Seeded(seed) => fill(*seed, self.position, block),
            Source::File(file) => file.read_exact_at(block, self.position).context("read what is sent")?,
        }
        self.position += length as u64;
        Ok(block)
    }
}

/// Fills a block with the bytes from this offset on: word i is splitmix64's i-th output, little endian.
fn fill(seed: u64, position: u64, block: &mut [u8]) {
    let (mut index, within) = (position / WORD_BYTES as u64, position as usize % WORD_BYTES);
    let first_bytes = (WORD_BYTES - within).min(block.len());
    let (first, rest) = block.split_at_mut(first_bytes);
    first.copy_from_slice(&splitmix64(seed, index).to_le_bytes()[within..within + first_bytes]);
    for word in rest.chunks_mut(WORD_BYTES) {
        index += 1;
        word.copy_from_slice(&splitmix64(seed, index).to_le_bytes()[..word.len()]);
    }
}

/// Returns any output of Steele, Lea and Flood's generator (OOPSLA 2014), without computing those before.
fn splitmix64(seed: u64, index: u64) -> u64 {
    let word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index.wrapping_add(1)));
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the reference implementation for seed 1234567 (prng.di.unimi.it/splitmix64.c).
    #[test]
    fn words_are_splitmix64() {
        let words = [0, 1, 2].map(|index| splitmix64(1_234_567, index));
        assert_eq!(words, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn bytes_do_not_depend_on_how_they_are_read() {
        let content = Content::Seeded { seed: 7, size_bytes: 1001 };
        let read = |part, block: usize| {
            let mut reader = Reader::open(&content, part).unwrap();
            let (mut all, mut buffer) = (Vec::new(), vec![0; block]);
            while reader.left_bytes() > 0 {
                all.extend_from_slice(reader.read(&mut buffer).unwrap());
            }
            all
        };
        let whole = read((0, 1001), 2000);
        assert_eq!(whole.len(), 1001);
        for block in [1, 7, 8, 64] {
            assert_eq!([read((0, 333), block), read((333, 668), block)].concat(), whole);
        }
    }
}
