//! Buffers: page-aligned memory, and the pool from which writes take their bytes.
//!
//! # Written content
//! Filling a buffer for every write would time the generator. Each thread fills a pool of seeded random bytes before
//! the run, and every write takes the next window of it: windows follow one another through the pool, and each
//! further lap starts one sector later, so that blocks of equal alignment differ between laps. The limit: a sector
//! repeats after one lap (8 MiB or four records, less with hundreds of threads), a 4 KiB block after eight. A target
//! that deduplicates in units of 512 bytes would see it; compression sees nothing inside a record. The cost: a pool does
//! not fit in the processor's inner caches, so that a write that ends in the page cache copies from further away than
//! one that repeats a single buffer (the bench `pread_loop` shows by how much).

use crate::error::Error;
use mileage_workload::{Content, Workload};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ops::Range;
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;
const POOL_BYTES_MIN: usize = 8 << 20;
const POOLS_BYTES_MAX: usize = 1 << 30;
/// Room to move for a window when the pool is hardly larger than the record.
const POOL_SLACK_BYTES: usize = 64 << 10;

/// Zeroed, page-aligned, already present memory of its own.
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

    /// Where byte `at` lies, for calls that use the memory while no reference to it exists.
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

/// Where a thread's writes take their bytes.
#[derive(Debug)]
pub(crate) struct Pool {
    pages: Pages,
    record: usize,
    usable: usize,
    /// Distance of the windows of one lap from those of the one before.
    step: usize,
    cursor: usize,
    lap_start: usize,
}

impl Pool {
    /// The pool of `thread`, with windows at multiples of `align_bytes`.
    pub(crate) fn new(workload: &Workload, thread: u32, align_bytes: usize) -> Result<Self, Error> {
        let record = workload.record_bytes as usize;
        let usable = match workload.content {
            Content::Zeros => record,
            _ => pool_bytes(record, workload.threads as usize),
        };
        let mut pages = Pages::new(usable)?;
        if workload.content == Content::Incompressible {
            let mixed = workload.seed ^ (u64::from(thread) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            Xoshiro256PlusPlus::seed_from_u64(mixed).fill_bytes(pages.bytes_mut());
        }
        Ok(Self { pages, record, usable, step: align_bytes, cursor: 0, lap_start: 0 })
    }

    /// The bytes of the next write.
    #[inline]
    pub(crate) fn next(&mut self) -> &[u8] {
        if self.cursor + self.record > self.usable {
            self.next_lap();
        }
        let start = self.cursor;
        self.cursor += self.record;
        &self.pages.bytes()[start..start + self.record]
    }

    #[cold]
    fn next_lap(&mut self) {
        self.lap_start += self.step;
        if self.lap_start >= self.record || self.lap_start + self.record > self.usable {
            self.lap_start = 0;
        }
        self.cursor = self.lap_start;
    }
}

/// Eight MiB or four records, the threads together at most 1 GiB, and always room for a window to move.
fn pool_bytes(record: usize, threads: usize) -> usize {
    let wanted = POOL_BYTES_MIN.max(4 * record).min(POOLS_BYTES_MAX / threads);
    wanted.max(record + POOL_SLACK_BYTES).next_multiple_of(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::{POOL_BYTES_MIN, Pages, Pool, pool_bytes};
    use mileage_workload::{Content, PatternKind, Stop, Sync, Workload};
    use std::collections::HashSet;

    fn writes(record_bytes: u32, content: Content) -> Workload {
        Workload {
            pattern: PatternKind::Sequential,
            read_percent: 0,
            record_bytes,
            span_start_bytes: 0,
            span_bytes: 1 << 30,
            depth: 1,
            threads: 1,
            stop: Stop { operations: Some(1), ..Stop::default() },
            seed: 3,
            content,
            sync: Sync::None,
            sync_timed: false,
            ..Workload::default()
        }
    }

    #[test]
    fn pages_are_zero_aligned_and_whole() {
        let mut pages = Pages::new(5000).unwrap();
        assert_eq!(pages.bytes().len(), 8192);
        assert_eq!(pages.bytes().as_ptr() as usize % 4096, 0);
        assert!(pages.bytes().iter().all(|byte| *byte == 0));
        pages.bytes_mut()[8191] = 1;
    }

    #[test]
    fn pools_stay_within_the_memory_that_is_promised() {
        assert_eq!(pool_bytes(4096, 1), POOL_BYTES_MIN);
        assert_eq!(pool_bytes(4 << 20, 1), 16 << 20);
        assert_eq!(pool_bytes(4096, 1024), 1 << 20);
        assert_eq!(pool_bytes(1 << 30, 1), (1 << 30) + (64 << 10));
    }

    #[test]
    fn a_block_repeats_only_after_eight_laps() {
        let mut pool = Pool::new(&writes(4096, Content::Incompressible), 0, 512).unwrap();
        let laps = 8 * (POOL_BYTES_MIN / 4096) - 8;
        let mut seen = HashSet::new();
        assert!((0..laps).all(|_| seen.insert(pool.next().to_vec())), "a block came twice");
    }

    #[test]
    fn windows_stay_inside_the_pool_and_aligned_for_any_record() {
        for record_bytes in [512, 1536, 4096, 12_800, 1 << 20, 12 << 20, 96 << 20] {
            let mut pool = Pool::new(&writes(record_bytes, Content::Incompressible), 1, 512).unwrap();
            for _ in 0..(20_000_000_000 / u64::from(record_bytes)).min(50_000) {
                let window = pool.next();
                assert_eq!((window.len(), window.as_ptr() as usize % 512), (record_bytes as usize, 0));
            }
        }
    }

    #[test]
    fn zeros_are_zeros() {
        let mut pool = Pool::new(&writes(8192, Content::Zeros), 0, 512).unwrap();
        assert!((0..3).all(|_| pool.next().iter().all(|byte| *byte == 0)));
    }
}
