//! The null API: it makes no system call, so that a run with it measures the engine's own cost.

use super::Transfer;
use mileage_workload::{Op, Sync};
use rustix::io::Errno;

/// Everything succeeds at once and touches neither the target nor the buffers.
#[derive(Debug)]
pub(crate) struct Null;

impl Transfer for Null {
    const CALLS: u64 = 0;

    #[inline]
    fn read(&mut self, _offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        Ok(into.len())
    }

    #[inline]
    fn write(&mut self, _offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        Ok(from.len())
    }

    fn sync(&mut self, _how: Sync) -> Result<(), Errno> {
        Ok(())
    }

    fn command(&mut self, _op: &Op) -> Result<(), Errno> {
        Ok(())
    }
}
