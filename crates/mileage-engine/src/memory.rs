//! Page-aligned buffers, mapped apart from the heap.

use crate::error::Error;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ops::Range;
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

/// A page-aligned buffer: zeroed, and already present in physical memory.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: `Pages` owns its mapping alone and gives out only borrows of itself, as a boxed slice would.
unsafe impl Send for Pages {}

impl Pages {
    pub(crate) fn new(bytes: usize) -> Result<Self, Error> {
        let length = bytes.next_multiple_of(PAGE_BYTES);
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases no memory of this process.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags) };
        let start = mapped.ok().and_then(|address| NonNull::new(address.cast::<u8>()));
        start.map(|start| Self { start, length }).ok_or(Error::NoMemory { bytes: length as u64 })
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is `length` readable, initialised (zeroed) bytes and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; the exclusive borrow of `self` is the only way to the mapping.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Address of byte `at`, for calls that use the memory while no reference to it exists.
    ///
    /// # Panics
    /// When there is no such byte.
    #[inline]
    pub(crate) fn address(&self, at: usize) -> *mut u8 {
        assert!(at < self.length, "byte {at} of {}", self.length);
        self.start.as_ptr().wrapping_add(at)
    }

    /// Some of the bytes, without touching the others.
    ///
    /// # Panics
    /// When they are not all there.
    #[inline]
    pub(crate) fn part_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.length, "{range:?} of {}", self.length);
        // SAFETY: a range of the mapping, as in `bytes_mut`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(range.start), range.len()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `start` and `length` are those of the mapping made in `new`; every borrow of it has ended.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of our own can always be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    #[test]
    fn pages_are_zero_aligned_and_whole() {
        let mut pages = Pages::new(5000).unwrap();
        assert_eq!(pages.bytes().len(), 8192);
        assert_eq!(pages.bytes().as_ptr() as usize % 4096, 0);
        assert!(pages.bytes().iter().all(|byte| *byte == 0));
        pages.bytes_mut()[8191] = 1;
    }
}
