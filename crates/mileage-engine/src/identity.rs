//! Identity of the file, directory or block device behind a path or a descriptor.
//!
//! # Invariants
//! A file is removed only while its path still means the file that this process made: what another program has put
//! there since stays. Between the look and the removal a gap of some microseconds is left, because the kernel has no
//! call that removes by inode. *Guard:* the tests below and those of [`crate::target`] and [`crate::log`].
//!
//! What a run is asked to use is compared on the descriptor that it then uses. *Guard:* `tests/it/replaced_target.rs`.

use crate::error::{Error, failed};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Stat, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `BLKGETDISKSEQ` of linux/fs.h: `_IOR(0x12, 128, u64)`. Linux 5.15 and later.
const BLKGETDISKSEQ: libc::Ioctl = 0x8008_1280;

/// Device and inode numbers (or the like) by which a file, a directory or a block device is recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Number of the file system's device (`st_dev`); of a block device its own number (`st_rdev`). `None` where it is
    /// not compared: another machine counts its file systems otherwise.
    device: Option<u64>,
    /// Inode; 0 for a block device, whose node may be made again.
    inode: u64,
    /// The kernel's sequence number of a disk, which no other disk gets until the machine is started again; 0 for a
    /// file, and where the kernel has none.
    #[serde(default)]
    disk_sequence: u64,
}

impl Identity {
    /// The identity of an open file.
    ///
    /// # Errors
    /// The kernel's, which is rare: an open file can be examined.
    pub(crate) fn of(file: impl AsFd) -> Result<Self, Errno> {
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
            return Ok(Self::from(&stat));
        }
        Ok(Self { device: Some(stat.st_rdev), inode: 0, disk_sequence: disk_sequence(file.as_fd()) })
    }

    /// The same file where its file system may get another device number: one that is mounted anew from a loop device.
    pub(crate) fn on_any_device(self) -> Self {
        Self { device: None, ..self }
    }

    /// Whether the object at a path may be this one: all but the disk's sequence number agrees, which only an open
    /// device shows.
    pub(crate) fn may_be(self, stat: &Stat) -> bool {
        let found = match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => (stat.st_rdev, 0),
            _ => (stat.st_dev, stat.st_ino),
        };
        self.device.is_none_or(|device| device == found.0) && self.inode == found.1
    }

    /// Refuse an open file, directory or device that is another one than this.
    ///
    /// # Errors
    /// [`Error::Replaced`].
    pub(crate) fn check(self, file: impl AsFd, path: &Path) -> Result<(), Error> {
        let found = Self::of(&file).map_err(failed("examine", path))?;
        if (Self { device: self.device.and(found.device), ..found }) == self {
            return Ok(());
        }
        let stat = rustix::fs::fstat(file).map_err(failed("examine", path))?;
        Err(self.replaced_by(FileType::from_raw_mode(stat.st_mode), path))
    }

    /// The error for something else that has taken the place of this.
    pub(crate) fn replaced_by(self, kind: FileType, path: &Path) -> Error {
        let expected = if self.inode == 0 { "device" } else { "file or directory" };
        let found = match kind {
            FileType::RegularFile => "another file",
            FileType::Directory => "another directory",
            FileType::BlockDevice => "another block device",
            FileType::Symlink => "a symbolic link",
            _ => "something else",
        };
        Error::Replaced { path: path.to_owned(), found, expected }
    }

    /// Remove the file at `path` if it still is this one. A symbolic link is not followed.
    pub(crate) fn remove(self, path: &Path) {
        if self.is_at(path) {
            let _ = rustix::fs::unlink(path);
        }
    }

    /// Whether a path means this file. A symbolic link is not followed.
    pub(crate) fn is_at(self, path: &Path) -> bool {
        rustix::fs::lstat(path).is_ok_and(|stat| self.may_be(&stat))
    }
}

/// When an open file came into being, in nanoseconds since 1970; `None` where the file system does not record it. A file
/// that gets the inode of a removed one has another.
pub fn birth_time_ns(file: impl AsFd) -> Option<i64> {
    let found = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    known.then(|| found.stx_btime.tv_sec * 1_000_000_000 + i64::from(found.stx_btime.tv_nsec))
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Self { device: Some(stat.st_dev), inode: stat.st_ino, disk_sequence: 0 }
    }
}

fn disk_sequence(device: BorrowedFd<'_>) -> u64 {
    let mut sequence = 0_u64;
    // SAFETY: the descriptor is open, and BLKGETDISKSEQ writes one 64-bit number at the pointer.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), BLKGETDISKSEQ, &raw mut sequence) };
    if answer == 0 { sequence } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::Identity;
    use std::fs::{File, rename, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_removed_under_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own");
        let own = Identity::of(File::create(&path).unwrap()).unwrap();
        own.remove(&path);
        assert!(!path.exists());
        own.remove(&path);
    }

    #[test]
    fn a_file_that_replaced_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("own"), folder.path().join("moved"));
        let own = Identity::of(File::create(&path).unwrap()).unwrap();
        rename(&path, &moved).unwrap();
        write(&path, b"of somebody else").unwrap();
        own.remove(&path);
        assert_eq!(std::fs::read(&path).unwrap(), b"of somebody else");

        std::fs::remove_file(&path).unwrap();
        symlink(&moved, &path).unwrap();
        own.remove(&path);
        assert!(path.is_symlink() && moved.exists());
    }
}
