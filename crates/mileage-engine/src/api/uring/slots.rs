//! The buffers of a ring: one slot of page-aligned memory for each operation that may be outstanding, and, where data is
//! written past the page cache, some more: they are filled while the device works on the others.

use crate::error::Error;
use crate::memory::Pages;
use mileage_workload::Workload;
use std::ops::Range;

const PAGE_BYTES: usize = 4096;
/// Most slots beyond the depth: chosen, as more than a device is thought to complete at one time.
const SPARE_MAX: u32 = 64;
/// Most memory of these slots, where one alone does not need more: chosen, so that they stay in a processor's cache.
const SPARE_BYTES: u32 = 4 << 20;

/// Number of slots of each thread of the workload.
pub(crate) fn slots_of(workload: &Workload, direct: bool) -> u32 {
    let room = (SPARE_BYTES / workload.length_bytes_max().max(1)).clamp(1, SPARE_MAX);
    workload.depth + if direct && workload.writes() { room.min(workload.depth) } else { 0 }
}

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

    /// Vectors for the registration of the buffers with the kernel.
    pub(super) fn vectors(&self) -> Vec<libc::iovec> {
        let vector = |slot| libc::iovec { iov_base: self.address(slot, 0).cast(), iov_len: self.length };
        (0..self.count).map(vector).collect()
    }

    /// Address of byte `skip` of a slot.
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

#[cfg(test)]
mod tests {
    use super::slots_of;
    use mileage_workload::Workload;

    #[test]
    fn some_more_slots_than_the_depth_where_data_is_written_past_the_page_cache() {
        let writes = Workload { read_percent: 0, depth: 32, ..Workload::default() };
        let of = |depth, record_bytes, direct| slots_of(&Workload { depth, record_bytes, ..writes.clone() }, direct);
        assert_eq!([of(1, 4096, true), of(32, 4096, true), of(4096, 4096, true)], [2, 64, 4160]);
        assert_eq!([of(32, 1 << 20, true), of(32, 16 << 20, true)], [36, 33]);
        assert_eq!(of(32, 4096, false), 32);
        assert_eq!(slots_of(&Workload { read_percent: 100, ..writes }, true), 32);
    }
}
