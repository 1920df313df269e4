//! One thread's open file or device, and the operations that all APIs do on it alike: sync, discard and close.

use crate::descriptor_table;
use crate::options::Advice;
use mileage_workload::{Op, OpKind, Sync};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::sync::mpsc::{SendError, Sender};

/// One thread's own open file or device.
#[derive(Debug)]
pub(crate) struct TargetFile {
    fd: OwnedFd,
    block_device: bool,
}

/// Any length at any offset: where a hole is tried to learn whether the file system makes them. Far beyond every file.
const NOWHERE_BYTES: u64 = 1 << 52;

impl TargetFile {
    pub(crate) fn new(fd: OwnedFd, block_device: bool) -> Self {
        Self { fd, block_device }
    }

    pub(crate) fn is_block_device(&self) -> bool {
        self.block_device
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Move the file into a descriptor table of the calling thread's own. What was in the process's table is given
    /// back to be closed by a thread that still has that table.
    pub(crate) fn into_own_table(self, give_back: &Sender<OwnedFd>) -> Result<Self, Errno> {
        let Self { fd, block_device } = self;
        let own = descriptor_table::take(&fd);
        if let Err(SendError(fd)) = give_back.send(fd) {
            // Forget the descriptor: this thread's table may have another file under the number, and nobody else will
            // close it.
            std::mem::forget(fd);
        }
        Ok(Self { fd: own?, block_device })
    }

    /// The descriptor alone, for an API that owns it.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }

    pub(crate) fn sync(&self, how: Sync) -> Result<(), Errno> {
        match how {
            Sync::None | Sync::Fua => Ok(()),
            Sync::Fsync => rustix::fs::fsync(&self.fd),
            Sync::Fdatasync => rustix::fs::fdatasync(&self.fd),
        }
    }

    /// Drop the whole file or device from the page cache; what is not written back yet stays.
    pub(crate) fn drop_cache(&self) -> Result<(), Errno> {
        rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::DontNeed)
    }

    /// Advise the kernel on the order in which the whole file or device is read.
    pub(crate) fn advise(&self, advice: Advice) -> Result<(), Errno> {
        match advice {
            Advice::None => Ok(()),
            Advice::Sequential => rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::Sequential),
            Advice::Random => rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::Random),
        }
    }

    /// Do an operation that moves no bytes and is no sync.
    pub(crate) fn command(&self, op: &Op) -> Result<(), Errno> {
        match op.kind {
            OpKind::Discard => self.discard(op.offset_bytes, u64::from(op.length_bytes)),
            OpKind::Read | OpKind::Write | OpKind::Sync => Err(Errno::OPNOTSUPP),
        }
    }

    /// Give up a range: `BLKDISCARD` on a block device, a hole of a file.
    fn discard(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), Errno> {
        if self.block_device {
            super::discard::block_device(self.fd.as_fd(), offset_bytes, length_bytes)
        } else {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(&self.fd, hole, offset_bytes, length_bytes)
        }
    }

    /// Whether [`TargetFile::discard`] can succeed here; changes nothing.
    pub(crate) fn check_discard(&self) -> Result<(), Errno> {
        if self.block_device {
            return super::discard::check_block_device(self.fd.as_fd());
        }
        match self.discard(NOWHERE_BYTES, 4096) {
            // The trial is beyond the largest file: this error shows that the file system can make holes.
            Err(Errno::FBIG) => Ok(()),
            tried => tried,
        }
    }
}

impl AsFd for TargetFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
