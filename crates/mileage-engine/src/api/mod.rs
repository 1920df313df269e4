//! I/O APIs: the system or library calls that read and write the target. An API of one operation at a time implements
//! [`Transfer`]; the loop `worker::sync_loop` is compiled once for each.

pub(crate) mod cache_drop;
#[expect(unsafe_code, reason = "calls ioctl")]
mod discard;
#[expect(clippy::disallowed_methods, reason = "discards a range of an open file")]
pub(crate) mod file;
#[expect(unsafe_code, reason = "maps the target and copies to and from the mapping")]
pub(crate) mod mmap;
pub(crate) mod null;
pub(crate) mod positioned_io;
#[expect(unsafe_code, reason = "hands buffers to the C library's threads")]
pub(crate) mod posix_aio;
pub(crate) mod seek;
#[expect(unsafe_code, reason = "handles SIGBUS")]
mod sigbus;
#[expect(unsafe_code, reason = "calls the C library's streams")]
pub(crate) mod stream;
#[expect(unsafe_code, reason = "lends its buffers to the kernel")]
pub(crate) mod uring;
#[expect(unsafe_code, reason = "hands arrays of buffers to the kernel")]
pub(crate) mod vectored_io;

use mileage_workload::{Op, Sync};
use rustix::io::Errno;

/// Moves bytes between a thread's buffers and the target, one call at a time. Short counts, interruptions and errors
/// are the caller's to handle: an implementation makes one call and returns its result.
pub(crate) trait Transfer {
    /// Read and write calls that one [`Transfer::read`] or [`Transfer::write`] makes.
    const CALLS: u64;
    /// Whether written bytes may still be in a buffer after [`Transfer::write`] has returned.
    const KEEPS_BACK: bool = false;
    /// Whether [`Transfer::finish`] always belongs to the run's time.
    const ENDS_IN_TIME: bool = false;
    /// Whether [`Transfer::compute_ns`] may be more than 0.
    const COMPUTES: bool = false;

    /// Read at `offset_bytes`; how many bytes came, 0 at the end of the target.
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno>;

    /// Write at `offset_bytes`; how many bytes were taken.
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno>;

    /// Make all completed writes durable.
    fn sync(&mut self, how: Sync) -> Result<(), Errno>;

    /// Do an operation that moves no bytes and is no sync.
    fn command(&mut self, op: &Op) -> Result<(), Errno>;

    /// Time for which the processor is kept busy before each operation; no latency includes it.
    fn compute_ns(&mut self) -> u64 {
        0
    }

    /// Drop the target from the page cache, where this API goes through it and can.
    fn drop_cache(&mut self) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    /// Hand over what is still kept back in a buffer, before the run's time ends.
    fn finish(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

/// The error that the C library's last call left.
fn last_errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}
