//! The buffers of a ring: one slot of page-aligned memory for each operation that may be outstanding.

use crate::error::Error;
use crate::memory::Pages;
use std::ops::Range;

const PAGE_BYTES: usize = 4096;

/// Buffers of equal size, each on pages of its own.
#[derive(Debug)]
pub(super) struct Slots {
    pages: Pages,
    /// Size of one buffer.
    length: usize,
    /// Distance between two.
    stride: usize,
    count: usize,
}

impl Slots {
    /// `count` buffers of `length` bytes.
    pub(super) fn new(count: u32, length: usize) -> Result<Self, Error> {
        let (count, stride) = (count as usize, length.next_multiple_of(PAGE_BYTES));
        let bytes = count.checked_mul(stride).ok_or(Error::NoMemory { bytes: u64::MAX })?;
        Ok(Self { pages: Pages::new(bytes)?, length, stride, count })
    }

    /// What the kernel is given when the buffers are registered.
    pub(super) fn vectors(&self) -> Vec<libc::iovec> {
        let vector = |slot| libc::iovec { iov_base: self.address(slot, 0).cast(), iov_len: self.length };
        (0..self.count).map(vector).collect()
    }

    /// Where byte `skip` of a slot lies.
    ///
    /// # Panics
    /// When the slot has no such byte.
    #[inline]
    pub(super) fn address(&self, slot: usize, skip: usize) -> *mut u8 {
        assert!(slot < self.count && skip < self.length, "byte {skip} of slot {slot}");
        self.pages.address(slot * self.stride + skip)
    }

    /// The bytes of a slot.
    ///
    /// # Panics
    /// When there is no such slot, or it is shorter.
    #[inline]
    pub(super) fn bytes_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        assert!(slot < self.count && length <= self.length, "{length} bytes of slot {slot}");
        let start = slot * self.stride;
        self.pages.part_mut(Range { start, end: start + length })
    }
}
