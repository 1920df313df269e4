//! Which file a path or a descriptor means: its device and inode.
//!
//! # Invariant
//! A file is removed only while its path still means the file that this process made: what another program has put
//! there since stays. Between the look and the removal a gap of some microseconds is left, because the kernel has no
//! call that removes by inode. *Guard:* the tests below and those of [`crate::target`] and [`crate::log`].

use rustix::fd::AsFd;
use rustix::fs::Stat;
use rustix::io::Errno;
use std::path::Path;

/// Device and inode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The identity of an open file.
    ///
    /// # Errors
    /// The kernel's, which is rare: an open file can be examined.
    pub(crate) fn of(file: impl AsFd) -> Result<Self, Errno> {
        rustix::fs::fstat(file).map(|stat| Self::from(&stat))
    }

    /// Remove the file at `path` if it still is this one. A symbolic link is not followed.
    pub(crate) fn remove(self, path: &Path) {
        if rustix::fs::lstat(path).is_ok_and(|stat| Self::from(&stat) == self) {
            let _ = rustix::fs::unlink(path);
        }
    }
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
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
