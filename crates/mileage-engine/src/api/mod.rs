//! The calls by which bytes are moved. An API of one operation at a time implements [`Transfer`]; the loop
//! `worker::sync_loop` is compiled once for each.

pub(crate) mod null;
pub(crate) mod positioned;
#[expect(unsafe_code, reason = "lends its buffers to the kernel")]
pub(crate) mod uring;

use mileage_workload::Sync;
use rustix::io::Errno;

/// Moves bytes between a thread's buffers and the target, one call at a time. Short counts, interruptions and errors
/// are the caller's to handle: an implementation makes one call and tells what came of it.
pub(crate) trait Transfer {
    /// Read and write system calls that one call of [`Transfer::read`] or [`Transfer::write`] makes.
    const CALLS: u64;

    /// Read at `offset_bytes`; how many bytes came, 0 at the end of the target.
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno>;

    /// Write at `offset_bytes`; how many bytes were taken.
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno>;

    /// Make all completed writes durable.
    fn sync(&mut self, how: Sync) -> Result<(), Errno>;
}
