//! `pread` and `pwrite`.

use super::Transfer;
use mileage_workload::Sync;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// An open file that has no position.
#[derive(Debug)]
pub(crate) struct Positioned(pub(crate) OwnedFd);

impl Transfer for Positioned {
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
        match how {
            Sync::None => Ok(()),
            Sync::Fsync => rustix::fs::fsync(&self.0),
            Sync::Fdatasync => rustix::fs::fdatasync(&self.0),
        }
    }
}
