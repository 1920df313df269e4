//! The seek API: `lseek`, then `read` or `write`.
//! The position moves only where it is not there already, so that a file read in order
//! is read by `read` alone.

use super::Transfer;
use super::file::TargetFile;
use mileage_workload::{Op, Sync};
use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// An open file and its current position, if known.
#[derive(Debug)]
pub(crate) struct Seek {
    file: TargetFile,
    position_bytes: Option<u64>,
}

impl Seek {
    /// `file` is at an unknown position.
    pub(crate) fn new(file: TargetFile) -> Self {
        Self { file, position_bytes: None }
    }

    /// Be at `offset_bytes`. Until a call has moved bytes the position counts as unknown: an error may leave it
    /// anywhere.
    #[inline]
    fn go(&mut self, offset_bytes: u64) -> Result<(), Errno> {
        if self.position_bytes.take() != Some(offset_bytes) {
            rustix::fs::seek(&self.file, SeekFrom::Start(offset_bytes))?;
        }
        Ok(())
    }
}

impl Transfer for Seek {
    const CALLS: u64 = 1;

    #[inline]
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.go(offset_bytes)?;
        let count = rustix::io::read(&self.file, into)?;
        self.position_bytes = Some(offset_bytes + count as u64);
        Ok(count)
    }

    #[inline]
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        self.go(offset_bytes)?;
        let count = rustix::io::write(&self.file, from)?;
        self.position_bytes = Some(offset_bytes + count as u64);
        Ok(count)
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
