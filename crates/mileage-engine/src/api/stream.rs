//! C streams: `fread` and `fwrite` of the C library with a buffer of settable size, at offsets by `fseeko`.
//!
//! The library decides which system calls are made: glibc moves whole buffers past its own when a record is at least
//! as long, and gathers shorter ones. `fseeko` is called only where the stream is not there already, and between a
//! read and a write, as the C standard asks.

use super::Transfer;
use super::file::TargetFile;
use mileage_workload::{Op, Sync};
use rustix::fd::IntoRawFd;
use rustix::io::Errno;
use std::ptr::NonNull;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Reading,
    Writing,
}

/// A C stream (`FILE`), its position, and its latest operation.
#[derive(Debug)]
pub(crate) struct Stream {
    handle: NonNull<libc::FILE>,
    /// The stream's own, open as long as the stream is.
    descriptor: libc::c_int,
    at: Option<(Direction, u64)>,
    /// The stream's buffer: it must outlive the stream, which `drop` closes.
    _buffer: Box<[u8]>,
}

// SAFETY: a `Stream` owns its FILE and its buffer alone.
unsafe impl Send for Stream {}

impl Stream {
    /// A fully buffered stream over `file` with a buffer of `buffer_bytes`; `reads` and `writes` as it was opened.
    pub(crate) fn new(file: TargetFile, buffer_bytes: usize, reads: bool, writes: bool) -> Result<Self, Errno> {
        let mode = match (reads, writes) {
            (true, false) => c"r",
            (false, _) => c"w",
            (true, true) => c"r+",
        };
        let number = file.into_fd().into_raw_fd();
        // SAFETY: the descriptor is open and from here on the stream's; `fdopen` with "w" truncates nothing.
        let opened = unsafe { libc::fdopen(number, mode.as_ptr()) };
        let Some(handle) = NonNull::new(opened) else {
            let errno = super::last_errno();
            // SAFETY: no stream took the descriptor, so that it is still ours to close.
            drop(unsafe { <rustix::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(number) });
            return Err(errno);
        };
        let mut buffer = vec![0; buffer_bytes].into_boxed_slice();
        // SAFETY: nothing was done with the stream yet, and the buffer lives until it is closed.
        let set = unsafe { libc::setvbuf(handle.as_ptr(), buffer.as_mut_ptr().cast(), libc::_IOFBF, buffer.len()) };
        let stream = Self { handle, descriptor: number, at: None, _buffer: buffer };
        if set == 0 { Ok(stream) } else { Err(Errno::INVAL) }
    }

    /// The stream of a file that was just opened: it is at the start, ready to read or to write.
    pub(crate) fn at_start(mut self, reads: bool) -> Self {
        self.at = Some((if reads { Direction::Reading } else { Direction::Writing }, 0));
        self
    }

    /// Be at `offset_bytes`, ready for `direction`.
    #[inline]
    fn go(&mut self, direction: Direction, offset_bytes: u64) -> Result<(), Errno> {
        if self.at.take() == Some((direction, offset_bytes)) {
            return Ok(());
        }
        // SAFETY: the stream is open as long as `self`.
        let answer = unsafe { libc::fseeko(self.handle.as_ptr(), offset_bytes.cast_signed(), libc::SEEK_SET) };
        if answer == 0 { Ok(()) } else { Err(super::last_errno()) }
    }

    /// Result of a call that moved `count` of `length` bytes.
    #[inline]
    fn moved(&mut self, direction: Direction, offset_bytes: u64, count: usize, length: usize) -> Result<usize, Errno> {
        if count == length {
            self.at = Some((direction, offset_bytes + count as u64));
            return Ok(count);
        }
        let errno = super::last_errno();
        // SAFETY: the stream is open as long as `self`.
        let failed = unsafe { libc::ferror(self.handle.as_ptr()) } != 0;
        // SAFETY: likewise; the next call finds a stream without a mark of this error.
        unsafe { libc::clearerr(self.handle.as_ptr()) };
        if count == 0 && failed { Err(errno) } else { Ok(count) }
    }

    fn flush(&mut self) -> Result<(), Errno> {
        // SAFETY: the stream is open as long as `self`.
        if unsafe { libc::fflush(self.handle.as_ptr()) } == 0 { Ok(()) } else { Err(super::last_errno()) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and nobody else has it. What it still held back and cannot write now belonged to
        // a run that failed or was stopped: `finish` came before in every other.
        let _ = unsafe { libc::fclose(self.handle.as_ptr()) };
    }
}

impl Transfer for Stream {
    const CALLS: u64 = 1;
    const KEEPS_BACK: bool = true;

    #[inline]
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.go(Direction::Reading, offset_bytes)?;
        let length = into.len();
        // SAFETY: `into` has room for `length` items of one byte; the stream is open as long as `self`.
        let count = unsafe { libc::fread(into.as_mut_ptr().cast(), 1, length, self.handle.as_ptr()) };
        self.moved(Direction::Reading, offset_bytes, count, length)
    }

    #[inline]
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        self.go(Direction::Writing, offset_bytes)?;
        // SAFETY: `from` holds that many items of one byte; the stream is open as long as `self`.
        let count = unsafe { libc::fwrite(from.as_ptr().cast(), 1, from.len(), self.handle.as_ptr()) };
        self.moved(Direction::Writing, offset_bytes, count, from.len())
    }

    fn sync(&mut self, how: Sync) -> Result<(), Errno> {
        self.flush()?;
        // SAFETY: the stream keeps the descriptor open as long as `self`.
        let fd = unsafe { rustix::fd::BorrowedFd::borrow_raw(self.descriptor) };
        match how {
            Sync::None | Sync::Fua => Ok(()),
            Sync::Fsync => rustix::fs::fsync(fd),
            Sync::Fdatasync => rustix::fs::fdatasync(fd),
        }
    }

    fn command(&mut self, _op: &Op) -> Result<(), Errno> {
        // Refused before the run: the stream's buffer would not know of it.
        Err(Errno::OPNOTSUPP)
    }

    fn finish(&mut self) -> Result<(), Errno> {
        self.flush()
    }
}
