//! A pool of memory blocks for content that is sent. Blocks are lent to quinn, which keeps the data it may have to
//! retransmit, and reused when it has released them. So content is not copied, and memory is not allocated and freed
//! for each block.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

/// A pool of blocks of one size.
#[derive(Debug)]
pub(crate) struct Blocks {
    each_bytes: usize,
    idle: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Blocks {
    /// Creates an empty pool for blocks of `each_bytes`.
    pub(crate) fn new(each_bytes: usize) -> Self {
        Self { each_bytes, idle: Arc::default() }
    }

    /// Takes a block out of the pool, to be filled. It still has its previous content.
    pub(crate) fn take(&self) -> Vec<u8> {
        lock(&self.idle).pop().unwrap_or_else(|| vec![0; self.each_bytes])
    }

    /// Returns the first `length` bytes of a block as shared bytes. The block returns to the pool when the last
    /// reference to it is dropped.
    pub(crate) fn lend(&self, block: Vec<u8>, length: usize) -> Bytes {
        Bytes::from_owner(Lent { block, home: self.idle.clone() }).split_to(length)
    }
}

struct Lent {
    block: Vec<u8>,
    home: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.block
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        lock(&self.home).push(std::mem::take(&mut self.block));
    }
}

fn lock(blocks: &Mutex<Vec<Vec<u8>>>) -> MutexGuard<'_, Vec<Vec<u8>>> {
    blocks.lock().expect("no holder panics")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_with_the_last_of_its_bytes() {
        let blocks = Blocks::new(4);
        let mut block = blocks.take();
        block.copy_from_slice(b"abcd");
        let mut lent = blocks.lend(block, 3);
        assert_eq!(&lent[..], b"abc");
        let last = lent.split_off(2);
        drop(lent);
        assert_eq!(blocks.take(), [0; 4], "quinn still needs the other");
        drop(last);
        assert_eq!(blocks.take(), b"abcd");
    }
}
