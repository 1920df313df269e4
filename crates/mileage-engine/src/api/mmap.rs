//! The target mapped into memory: a read copies from the mapping, a write to it, a sync is `msync` of the whole.
//!
//! A page that cannot be had (the file was shortened, the medium fails, the file system is full) ends the operation
//! with the error that a system call would have given, see [`super::sigbus`].

use super::Transfer;
use super::file::TargetFile;
use super::sigbus::{self, PAGE_BYTES};
use crate::options::Advice;
use mileage_workload::{Op, Sync};
use rustix::fd::AsFd;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::mm::{Advice as MadviseAdvice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};
use std::ptr::NonNull;

/// The part of the target that is mapped into memory at present.
#[derive(Debug)]
pub(crate) struct MappedWindow {
    file: TargetFile,
    start: NonNull<u8>,
    length: usize,
    /// Where in the target the mapping starts.
    offset_bytes: u64,
    /// The first operation that met a missing page, and its error. From then on the pages of the mapping are no longer
    /// the target's.
    broken: Option<Result<usize, Errno>>,
}

// SAFETY: a `MappedWindow` owns its mapping alone.
unsafe impl Send for MappedWindow {}

impl MappedWindow {
    /// Map `length_bytes` of `file` from `offset_bytes` on, for writing as well if `writes`.
    pub(crate) fn new(file: TargetFile, offset_bytes: u64, length_bytes: u64, writes: bool) -> Result<Self, Errno> {
        Self::with(file, offset_bytes, length_bytes, writes, MapFlags::SHARED)
    }

    /// Map the first `length_bytes` of `file` as IOzone does: shared where it writes, else private.
    pub(crate) fn whole(file: TargetFile, length_bytes: u64, writes: bool) -> Result<Self, Errno> {
        Self::with(file, 0, length_bytes, writes, if writes { MapFlags::SHARED } else { MapFlags::PRIVATE })
    }

    fn with(
        file: TargetFile,
        offset_bytes: u64,
        length_bytes: u64,
        writes: bool,
        flags: MapFlags,
    ) -> Result<Self, Errno> {
        if !sigbus::handle() {
            return Err(Errno::NOSYS);
        }
        let lead = offset_bytes % PAGE_BYTES as u64;
        let length = usize::try_from(length_bytes + lead).map_err(|_| Errno::NOMEM)?;
        let access = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice aliases no memory of this process; what others do
        // to the file is seen only through raw copies.
        let mapped = unsafe { mmap(std::ptr::null_mut(), length, access, flags, &file, offset_bytes - lead) };
        let start = NonNull::new(mapped?.cast::<u8>()).ok_or(Errno::NOMEM)?;
        Ok(Self { file, start, length, offset_bytes: offset_bytes - lead, broken: None })
    }

    /// Advise the kernel on the order in which the mapping is read.
    pub(crate) fn advise(&self, advice: Advice) -> Result<(), Errno> {
        let advice = match advice {
            Advice::None => return Ok(()),
            Advice::Sequential => MadviseAdvice::Sequential,
            Advice::Random => MadviseAdvice::Random,
        };
        // SAFETY: the range is this mapping, and neither advice changes what is in it.
        unsafe { madvise(self.start.as_ptr().cast(), self.length, advice) }
    }

    /// The address of `length` bytes of the target at `offset_bytes`, which must lie in the mapping.
    #[inline]
    fn address(&self, offset_bytes: u64, length: usize) -> *mut u8 {
        let from = (offset_bytes - self.offset_bytes) as usize;
        assert!(from + length <= self.length, "an operation outside the span");
        self.start.as_ptr().wrapping_add(from)
    }

    /// Write a range out, from the start of its first page on: and wait for it if `waits`.
    pub(crate) fn flush(&mut self, offset_bytes: u64, length: usize, waits: bool) -> Result<(), Errno> {
        let lead = (offset_bytes - self.offset_bytes) as usize % PAGE_BYTES;
        let from = self.address(offset_bytes, length).wrapping_sub(lead);
        let flags = if waits { MsyncFlags::SYNC } else { MsyncFlags::ASYNC };
        // SAFETY: the range lies in the mapping, checked by `address`; `msync` only writes its pages out.
        unsafe { msync(from.cast(), length + lead, flags) }
    }

    fn extent(&self) -> (usize, usize) {
        (self.start.as_ptr() as usize, self.length)
    }

    /// Result that a system call would have had where the page at `missing` is unavailable: the bytes before it, then
    /// the end of the file or the error.
    #[cold]
    fn blame(&mut self, missing: usize, offset_bytes: u64, writing: bool) -> Result<usize, Errno> {
        let missing_bytes = self.offset_bytes + (missing - self.start.as_ptr() as usize) as u64;
        let page_bytes = missing_bytes - missing_bytes % PAGE_BYTES as u64;
        let answer = match rustix::fs::seek(&self.file, SeekFrom::End(0)) {
            Ok(end_bytes) if missing_bytes >= end_bytes => Ok(0),
            Ok(_) => Err(self.reason(page_bytes, writing)),
            Err(errno) => Err(errno),
        };
        self.broken = Some(answer);
        match page_bytes.checked_sub(offset_bytes) {
            Some(before) if before > 0 => Ok(before as usize),
            _ => answer,
        }
    }

    fn reason(&self, page_bytes: u64, writing: bool) -> Errno {
        if let Err(errno) = rustix::io::pread(&self.file, &mut [0_u8; 1], page_bytes) {
            return errno;
        }
        let full = rustix::fs::fstatvfs(self.file.as_fd()).is_ok_and(|facts| facts.f_bavail == 0);
        if writing && full { Errno::NOSPC } else { Errno::IO }
    }
}

impl AsFd for MappedWindow {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for MappedWindow {
    fn drop(&mut self) {
        // SAFETY: `start` and `length` are those of the mapping made in `new`, with at most some of its pages replaced.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of our own can always be unmapped");
    }
}

impl Transfer for MappedWindow {
    const CALLS: u64 = 0;

    #[inline]
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        if let Some(answer) = self.broken {
            return answer;
        }
        let from = self.address(offset_bytes, into.len());
        // SAFETY: `from` has `into.len()` bytes of the mapping, checked by `address`; `into` is memory of its own.
        let missing = unsafe { sigbus::copy(from, into.as_mut_ptr(), into.len(), self.extent()) };
        missing.map_or(Ok(into.len()), |missing| self.blame(missing, offset_bytes, false))
    }

    #[inline]
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        if let Some(answer) = self.broken {
            return answer;
        }
        let to = self.address(offset_bytes, from.len());
        // SAFETY: `to` has `from.len()` bytes of a mapping that was opened for writing, checked by `address`.
        let missing = unsafe { sigbus::copy(from.as_ptr(), to, from.len(), self.extent()) };
        missing.map_or(Ok(from.len()), |missing| self.blame(missing, offset_bytes, true))
    }

    fn sync(&mut self, _how: Sync) -> Result<(), Errno> {
        // SAFETY: the mapping is whole and shared; `msync` only writes its pages out.
        unsafe { msync(self.start.as_ptr().cast(), self.length, MsyncFlags::SYNC) }
    }

    fn command(&mut self, op: &Op) -> Result<(), Errno> {
        self.file.command(op)
    }
}
