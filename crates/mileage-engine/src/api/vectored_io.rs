//! `preadv` and `pwritev`: the record as an array of equal buffers.

use super::Transfer;
use super::file::TargetFile;
use mileage_workload::{Op, Sync};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;

/// An open file and the `iovec` array for its calls.
#[derive(Debug)]
pub(crate) struct VectoredFile {
    file: TargetFile,
    parts: usize,
    vectors: Vec<libc::iovec>,
}

// SAFETY: the pointers in `vectors` are written before each call from the buffer of that call, and read by nobody
// afterwards.
unsafe impl Send for VectoredFile {}

impl VectoredFile {
    /// Every record is cut into `parts` buffers (1 to 1024) of equal length.
    pub(crate) fn new(file: TargetFile, parts: u32) -> Self {
        let parts = parts as usize;
        Self { file, parts, vectors: Vec::with_capacity(parts) }
    }

    /// Describe `length` bytes at `start` as equal parts, the last one shorter after a short count.
    #[inline]
    fn cut(&mut self, start: *mut u8, length: usize) -> (*const libc::iovec, libc::c_int) {
        let part = length.div_ceil(self.parts);
        self.vectors.clear();
        let mut done = 0;
        while done < length {
            let this = part.min(length - done);
            self.vectors.push(libc::iovec { iov_base: start.wrapping_add(done).cast(), iov_len: this });
            done += this;
        }
        (self.vectors.as_ptr(), (self.vectors.len() as u16).into())
    }
}

#[inline]
fn moved(answer: isize) -> Result<usize, Errno> {
    usize::try_from(answer).map_err(|_| super::last_errno())
}

impl Transfer for VectoredFile {
    const CALLS: u64 = 1;

    #[inline]
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let (vectors, count) = self.cut(into.as_mut_ptr(), into.len());
        let fd = self.file.as_fd().as_raw_fd();
        // SAFETY: the `count` vectors lie one after the other inside `into`, which is borrowed exclusively.
        moved(unsafe { libc::preadv64(fd, vectors, count, offset_bytes.cast_signed()) })
    }

    #[inline]
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        let (vectors, count) = self.cut(from.as_ptr().cast_mut(), from.len());
        let fd = self.file.as_fd().as_raw_fd();
        // SAFETY: the `count` vectors lie one after the other inside `from`, and the kernel only reads them.
        moved(unsafe { libc::pwritev64(fd, vectors, count, offset_bytes.cast_signed()) })
    }

    fn sync(&mut self, how: Sync) -> Result<(), Errno> {
        self.file.sync(how)
    }

    fn command(&mut self, op: &Op) -> Result<(), Errno> {
        self.file.command(op)
    }

    fn drop_cache(&mut self) -> Result<(), Errno> {
        self.file.drop_cache()
    }
}
