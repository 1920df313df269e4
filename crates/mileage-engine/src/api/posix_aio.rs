//! POSIX asynchronous I/O of the C library (`aio_read`, `aio_write`), one record at a time: reads ahead of the caller and
//! writes behind it, up to a depth.
//!
//! The C library does the requests of a file in order, by `pread` and `pwrite` in a thread of its own, which has the
//! descriptor table of the thread that asked first: callers must share the process's.

use super::last_errno;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::collections::VecDeque;

const PAGE_BYTES: usize = 4096;

/// A file whose records are read ahead and written behind.
#[derive(Debug)]
pub(crate) struct AsyncFile {
    file: OwnedFd,
    depth: usize,
    /// Bytes from one record that is read to the next; 0 to read nothing ahead.
    ahead_bytes: i64,
    end_bytes: u64,
    /// Whether what was read is copied to the caller.
    copied: bool,
    reads: VecDeque<Box<Request>>,
    writes: VecDeque<Box<Request>>,
}

/// One request and its buffer, which the library uses until it is finished. Boxed, as the library keeps its address.
struct Request {
    block: libc::aiocb,
    memory: Vec<u8>,
    lead: usize,
    in_flight: bool,
}

// SAFETY: a `Request` owns its buffer and its control block alone; the library's thread is the only other user, and
// `drop` waits for it.
unsafe impl Send for Request {}

impl std::fmt::Debug for Request {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Request at {} of {} bytes", self.block.aio_offset, self.block.aio_nbytes)
    }
}

impl Request {
    /// Ask for a transfer of `length` bytes at `offset_bytes`: a write of `from`, or a read.
    fn submit(file: &OwnedFd, offset_bytes: u64, length: usize, from: Option<&[u8]>) -> Result<Box<Self>, Errno> {
        // Written in full before it is read: by the copy here, or by the read that was waited for.
        let mut memory = vec![0; length + PAGE_BYTES];
        let lead = memory.as_ptr().align_offset(PAGE_BYTES);
        if let Some(bytes) = from {
            memory[lead..lead + length].copy_from_slice(bytes);
        }
        // SAFETY: an `aiocb` is numbers and pointers, of which all zeros is one.
        let block: libc::aiocb = unsafe { std::mem::zeroed() };
        let mut request = Box::new(Self { block, memory, lead, in_flight: false });
        request.block.aio_fildes = file.as_raw_fd();
        request.block.aio_offset = offset_bytes.cast_signed();
        request.block.aio_nbytes = length;
        request.block.aio_buf = request.memory[lead..].as_mut_ptr().cast();
        request.block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        let block = &raw mut request.block;
        // SAFETY: block and buffer stay at their addresses, in the box and in the vector, until `wait` saw the end.
        let asked = unsafe { if from.is_some() { libc::aio_write(block) } else { libc::aio_read(block) } };
        if asked == 0 {
            request.in_flight = true;
            Ok(request)
        } else {
            Err(last_errno())
        }
    }

    fn is_at(&self, offset_bytes: u64, length: usize) -> bool {
        self.block.aio_offset == offset_bytes.cast_signed() && self.block.aio_nbytes == length
    }

    /// Wait for the end; how many bytes were moved.
    fn wait(&mut self) -> Result<usize, Errno> {
        let block = &raw mut self.block;
        let error = loop {
            // SAFETY: the block is one that was submitted and is still ours.
            match unsafe { libc::aio_error(block) } {
                libc::EINPROGRESS => {
                    let list = [block.cast_const()];
                    // SAFETY: a list of one block that was submitted; the loop asks `aio_error` whatever this call returns.
                    unsafe { libc::aio_suspend(list.as_ptr(), 1, std::ptr::null()) };
                }
                other => break other,
            }
        };
        self.in_flight = false;
        // SAFETY: the request is finished, and its result is taken once.
        let moved = unsafe { libc::aio_return(block) };
        if error == 0 { usize::try_from(moved).map_err(|_| Errno::IO) } else { Err(Errno::from_raw_os_error(error)) }
    }

    fn bytes(&self, count: usize) -> &[u8] {
        &self.memory[self.lead..self.lead + count]
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.in_flight {
            let _ = self.wait();
        }
    }
}

impl AsyncFile {
    /// Records of a file of `end_bytes`, `depth` of them in flight; what is read is copied to the caller if `copied`.
    pub(crate) fn new(file: OwnedFd, depth: u32, ahead_bytes: i64, end_bytes: u64, copied: bool) -> Self {
        let depth = depth as usize;
        Self { file, depth, ahead_bytes, end_bytes, copied, reads: VecDeque::new(), writes: VecDeque::new() }
    }

    /// Read a record: one that was asked for before, or this one now, and ask for those that follow.
    pub(crate) fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let known = self.reads.iter().position(|request| request.is_at(offset_bytes, into.len()));
        if let Some(at) = known {
            let request = self.reads.remove(at).ok_or(Errno::IO)?;
            let answer = Self::take(self.copied, request, into);
            self.read_ahead(offset_bytes, into.len(), self.reads.len() > 1);
            return answer;
        }
        self.reads.clear();
        let request = loop {
            match Request::submit(&self.file, offset_bytes, into.len(), None) {
                Err(Errno::AGAIN) => {}
                asked => break asked?,
            }
        };
        self.read_ahead(offset_bytes, into.len(), false);
        Self::take(self.copied, request, into)
    }

    fn take(copied: bool, mut request: Box<Request>, into: &mut [u8]) -> Result<usize, Errno> {
        let count = request.wait()?;
        if copied {
            into[..count].copy_from_slice(request.bytes(count));
        }
        Ok(count)
    }

    /// Ask for the records that follow, or for the last of them alone where the others were asked for before.
    fn read_ahead(&mut self, offset_bytes: u64, length: usize, only_last: bool) {
        if self.ahead_bytes == 0 {
            return;
        }
        let first = if only_last { self.depth.saturating_sub(1) } else { 0 };
        for number in first..self.depth {
            let step = i64::try_from(number + 1).unwrap_or(i64::MAX).saturating_mul(self.ahead_bytes);
            let Some(to) = offset_bytes.checked_add_signed(step) else { continue };
            if to + length as u64 > self.end_bytes || self.reads.iter().any(|request| request.is_at(to, length)) {
                continue;
            }
            match Request::submit(&self.file, to, length, None) {
                Ok(request) => self.reads.push_back(request),
                Err(_) => break,
            }
        }
    }

    /// Write a record behind the caller; one that is refused for want of room waits for the oldest.
    pub(crate) fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        if self.writes.len() > self.depth {
            self.end_oldest()?;
        }
        loop {
            match Request::submit(&self.file, offset_bytes, from.len(), Some(from)) {
                Err(Errno::AGAIN) => self.end_oldest()?,
                Ok(request) => {
                    self.writes.push_back(request);
                    return Ok(from.len());
                }
                Err(errno) => return Err(errno),
            }
        }
    }

    fn end_oldest(&mut self) -> Result<(), Errno> {
        let Some(mut oldest) = self.writes.pop_front() else { return Ok(()) };
        // The library's thread writes what is left of a short count no more: a record that is not whole is an error.
        if oldest.wait()? < oldest.block.aio_nbytes { Err(Errno::NOSPC) } else { Ok(()) }
    }

    /// Wait for all writes, and give up what was read ahead.
    pub(crate) fn finish(&mut self) -> Result<(), Errno> {
        self.reads.clear();
        while !self.writes.is_empty() {
            self.end_oldest()?;
        }
        Ok(())
    }
}

impl AsFd for AsyncFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for AsyncFile {
    /// Wait for what is in flight before the file is closed.
    fn drop(&mut self) {
        self.reads.clear();
        self.writes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::AsyncFile;

    fn file() -> std::fs::File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 10).unwrap();
        file
    }

    #[test]
    fn records_written_behind_are_read_ahead_whatever_the_depth_and_direction() {
        for depth in [0, 1, 3, 40] {
            let own = file();
            let mut written = AsyncFile::new(own.try_clone().unwrap().into(), depth, 0, 64 << 10, true);
            for record in 0..16_u8 {
                assert_eq!(written.write(u64::from(record) * 4096, &[record + 1; 4096]), Ok(4096));
            }
            written.finish().unwrap();
            for ahead in [4096_i64, -4096, 8192, 0] {
                let mut read = AsyncFile::new(own.try_clone().unwrap().into(), depth, ahead, 64 << 10, true);
                let mut order: Vec<u8> = (0..16).collect();
                if ahead < 0 {
                    order.reverse();
                }
                for record in order {
                    let mut into = [0; 4096];
                    assert_eq!(read.read(u64::from(record) * 4096, &mut into), Ok(4096));
                    assert_eq!(into, [record + 1; 4096], "depth {depth}, ahead {ahead}");
                }
            }
        }
    }

    #[test]
    fn a_failed_write_is_an_error_at_the_end_at_the_latest() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut written = AsyncFile::new(full.into(), 4, 0, 4096, true);
        let _ = written.write(0, &[1; 4096]);
        assert_eq!(written.finish(), Err(rustix::io::Errno::NOSPC));
    }
}
