//! The `pread` and `pwrite` API.

use super::Transfer;
use super::file::TargetFile;
use mileage_workload::{Op, Sync};
use rustix::io::Errno;

/// An open file that is read and written at explicit offsets (`pread`, `pwrite`).
#[derive(Debug)]
pub(crate) struct PositionedFile(pub(crate) TargetFile);

impl Transfer for PositionedFile {
    const CALLS: u64 = 1;

    #[inline]
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::pread(&self.0, into, offset_bytes)
    }

    #[inline]
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        rustix::io::pwrite(&self.0, from, offset_bytes)
    }

    fn sync(&mut self, how: Sync) -> Result<(), Errno> {
        self.0.sync(how)
    }

    fn command(&mut self, op: &Op) -> Result<(), Errno> {
        self.0.command(op)
    }

    fn drop_cache(&mut self) -> Result<(), Errno> {
        self.0.drop_cache()
    }
}
