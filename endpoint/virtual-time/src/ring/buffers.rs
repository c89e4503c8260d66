//! The buffers into which the kernel puts received datagrams, one for each (`io_uring_register_buf_ring(3)`).

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The number by which operations of the ring name the buffer group.
pub(crate) const GROUP: u16 = 0;

/// The number of buffers, a power of two: more than the datagrams that are received in one wait.
const COUNT: u16 = 256;

/// The memory page with the group's entries, which must begin on a page boundary.
#[repr(C, align(4096))]
struct Page([u8; COUNT as usize * size_of::<BufRingEntry>()]);

/// A group of buffers for received datagrams. The kernel may write to its memory for as long as the ring exists, and a
/// program cannot see when that ends, so the memory is never freed.
pub(crate) struct Buffers {
    entries: *mut BufRingEntry,
    memory: *mut u8,
    each_bytes: usize,
    tail: u16,
}

impl Buffers {
    /// Registers buffers of this size with a ring.
    pub(crate) fn register(submitter: &Submitter<'_>, each_bytes: usize) -> io::Result<Self> {
        let page = Box::leak(Box::new(Page([0; COUNT as usize * size_of::<BufRingEntry>()])));
        let memory = Vec::leak(vec![0_u8; usize::from(COUNT) * each_bytes]);
        let entries = page.0.as_mut_ptr().cast::<BufRingEntry>();
        // SAFETY: the page has COUNT entries, and is valid forever.
        unsafe { submitter.register_buf_ring_with_flags(entries as u64, COUNT, GROUP, 0)? };
        let mut buffers = Self { entries, memory: memory.as_mut_ptr(), each_bytes, tail: 0 };
        (0..COUNT).for_each(|id| buffers.give(id));
        Ok(buffers)
    }

    /// Returns the bytes that the kernel has written to a buffer. The kernel does not write to the buffer again until
    /// it is given back.
    ///
    /// # Panics
    /// There is no such buffer.
    pub(crate) fn contents(&mut self, id: u16, length: usize) -> &mut [u8] {
        assert!(id < COUNT && length <= self.each_bytes, "buffer {id} has no {length} bytes");
        // SAFETY: those bytes lie in the memory, which is valid forever and was initialised when it was made; there is
        // no other reference into it while this one to all of it is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.memory.add(usize::from(id) * self.each_bytes), length) }
    }

    /// Gives a buffer to the kernel for receiving, for the first time or again.
    ///
    /// # Panics
    /// There is no such buffer.
    pub(crate) fn give(&mut self, id: u16) {
        assert!(id < COUNT, "there is no buffer {id}");
        // SAFETY: the index lies in the page. The kernel reads an entry only once the tail has passed it, and no more
        // than COUNT of them are given at a time. The first entry's reserved bytes are the tail (`struct
        // io_uring_buf_ring`), which this thread alone writes.
        unsafe {
            let entry = &mut *self.entries.add(usize::from(self.tail % COUNT));
            entry.set_addr(self.memory.add(usize::from(id) * self.each_bytes) as u64);
            entry.set_len(self.each_bytes as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}
