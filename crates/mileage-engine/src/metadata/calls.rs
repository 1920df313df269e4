//! The system calls of a metadata run, one method for each operation.

use super::work_directories::Place;
use crate::clock;
use crate::errno;
use crate::error::Error;
use crate::memory::Pages;
use mileage_measure::RunError;
use mileage_workload::{CreateCall, Metadata, MetadataOp, MetadataPaths};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::path::Path;

/// Largest piece in which a file is written or read, in bytes.
const PIECE_BYTES: usize = 1 << 20;
const BLOCK_BYTES: usize = 4096;
/// Buffer size for reading a directory in bytes, as in the C library.
const LISTING_BYTES: usize = 32_768;

/// Reason why a call failed.
#[derive(Debug)]
pub(super) struct Failure {
    call: &'static str,
    /// `None` when the kernel moved nothing and gave no reason.
    pub(super) errno: Option<Errno>,
}

fn failed(call: &'static str) -> impl Fn(Errno) -> Failure {
    move |errno| Failure { call, errno: Some(errno) }
}

/// Again, as long as a signal came between.
#[inline]
fn again<T>(call: &'static str, mut ask: impl FnMut() -> rustix::io::Result<T>) -> Result<T, Failure> {
    loop {
        match ask() {
            Err(Errno::INTR) => {}
            answer => return answer.map_err(failed(call)),
        }
    }
}

impl Failure {
    #[cold]
    pub(super) fn describe(&self, when: &str, path: &Path) -> RunError {
        let what = format!("{when}{} of {}", self.call, path.display());
        let Some(errno) = self.errno else {
            let (kind, why) = match self.call {
                "read" => ("EOF", "the file ends before its size"),
                _ => ("EIO", "the kernel took nothing and gave no reason"),
            };
            return RunError { kind: kind.to_owned(), message: format!("{what}: {why}") };
        };
        let advice = match errno {
            Errno::NOSPC => ": no space or no inodes are left there (see `df -i`); fewer or smaller files need less",
            Errno::DQUOT => ": the quota is used up; fewer or smaller files need less",
            Errno::EXIST => ": it was there before the run; choose place = \"fresh\", or remove it",
            Errno::NOENT => ": it is not there; did an earlier run keep these files, under these names?",
            Errno::MFILE | Errno::NFILE => ": raise `ulimit -n`",
            Errno::MLINK => ": the directory holds as many directories as this file system allows; use a tree",
            other => errno::advice(other),
        };
        let (kind, sentence) = (errno::name(errno), errno::sentence(errno));
        RunError { message: format!("{what}: {sentence} ({kind}){advice}"), kind }
    }
}

/// Number of bytes that one operation read or wrote.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ByteCount {
    /// Bytes.
    pub(super) read: u64,
    /// Bytes.
    pub(super) written: u64,
    /// Names found in a directory.
    pub(super) entries: u64,
    /// Nanoseconds of the sync of a file that was created; `None` where it was not synced.
    pub(super) sync_ns: Option<u64>,
}

/// Calls of one worker, with the data they need.
pub(super) struct Calls<'a> {
    /// Directory relative to which calls name files, opened by this worker alone; `None` when they use whole paths.
    directory: Option<OwnedFd>,
    metadata: &'a Metadata,
    flags: OFlags,
    /// `O_NOFOLLOW`, where the run's directory was compared.
    follow: OFlags,
    mode: Mode,
    /// Buffer from which files are written and into which they are read; `None` when they are empty.
    buffer: Option<Pages>,
    listing: Vec<MaybeUninit<u8>>,
    transfers: u64,
}

impl<'a> Calls<'a> {
    pub(super) fn new(metadata: &'a Metadata, place: &Place, worker: u32) -> Result<Self, Error> {
        let bytes = (metadata.file_bytes as usize).min(PIECE_BYTES);
        let mut buffer = (bytes > 0).then(|| Pages::new(bytes)).transpose()?;
        if let Some(buffer) = &mut buffer {
            let mut content = Xoshiro256PlusPlus::seed_from_u64(metadata.seed ^ u64::from(worker) << 40);
            content.fill_bytes(buffer.bytes_mut());
        }
        let (access, mode) = match metadata.create_with {
            CreateCall::Exclusive => (OFlags::WRONLY | OFlags::EXCL, 0o644),
            CreateCall::Truncating => (OFlags::WRONLY | OFlags::TRUNC, 0o666),
            CreateCall::ReadWrite => (OFlags::RDWR, 0o664),
        };
        let listing = if metadata.operation == MetadataOp::Readdir { LISTING_BYTES } else { 0 };
        let follow = if place.follows() { OFlags::empty() } else { OFlags::NOFOLLOW };
        Ok(Self {
            directory: place.open(metadata.paths)?,
            metadata,
            flags: OFlags::CREATE | access | follow,
            follow,
            mode: Mode::from_raw_mode(mode),
            buffer,
            listing: vec![MaybeUninit::uninit(); listing],
            transfers: 0,
        })
    }

    /// Read and write calls made on files.
    pub(super) fn transfers(&self) -> u64 {
        self.transfers
    }

    #[inline]
    fn at(&self) -> BorrowedFd<'_> {
        self.directory.as_ref().map_or(CWD, AsFd::as_fd)
    }

    /// Do one operation on an item of an owner; `made` counts the items that exist.
    #[inline]
    pub(super) fn operate(
        &mut self,
        operation: MetadataOp,
        (owner, item): (u32, u64),
        paths: &mut MetadataPaths,
        made: &mut u64,
    ) -> Result<ByteCount, Failure> {
        match operation {
            MetadataOp::Create => {
                let mut exists = false;
                let written = self.create(paths.path_of(item), (owner, item), &mut exists);
                *made += u64::from(exists);
                return written;
            }
            MetadataOp::Open => self.open(paths.path_of(item))?,
            MetadataOp::Read => return Ok(ByteCount { read: self.read(paths.path_of(item))?, ..ByteCount::default() }),
            MetadataOp::Stat => self.stat(paths.path_of(item))?,
            MetadataOp::Utime => self.utime(paths.path_of(item))?,
            MetadataOp::Rename => {
                let (from, to) = paths.pair_of(item);
                self.rename(from, to)?;
            }
            MetadataOp::Unlink => self.remove(paths.path_of(item), AtFlags::empty())?,
            MetadataOp::Mkdir => {
                self.mkdir(paths.path_of(item))?;
                *made += 1;
            }
            MetadataOp::Rmdir => self.remove(paths.path_of(item), AtFlags::REMOVEDIR)?,
            MetadataOp::Readdir => {
                return Ok(ByteCount { entries: self.list(paths.directory(item as usize))?, ..ByteCount::default() });
            }
        }
        Ok(ByteCount::default())
    }

    /// Create a file, fill it, sync it if asked, close it; the bytes written and the time of the sync. `exists` says whether the file is there
    /// by this call, even if filling it failed.
    #[inline]
    pub(super) fn create(&mut self, path: &CStr, owner: (u32, u64), exists: &mut bool) -> Result<ByteCount, Failure> {
        let file = again("create", || rustix::fs::openat(self.at(), path, self.flags, self.mode))?;
        *exists = true;
        let written = if self.metadata.file_bytes > 0 { self.fill(&file, owner)? } else { 0 };
        let mut sync_ns = None;
        if self.metadata.fsync {
            let began_ns = clock::now_ns();
            again("fsync", || rustix::fs::fsync(&file))?;
            sync_ns = Some(clock::now_ns().saturating_sub(began_ns));
        }
        Ok(ByteCount { written, sync_ns, ..ByteCount::default() })
    }

    /// Write a file such that no two blocks of any two files of a run are equal: each begins with its owner and item.
    fn fill(&mut self, file: &OwnedFd, (owner, item): (u32, u64)) -> Result<u64, Failure> {
        let total = self.metadata.file_bytes as usize;
        let buffer = self.buffer.as_mut().expect("files with bytes have a buffer").bytes_mut();
        let mut done = 0;
        while done < total {
            let length = (total - done).min(PIECE_BYTES);
            for (index, block) in buffer[..length].chunks_mut(BLOCK_BYTES).enumerate() {
                let number = (done / BLOCK_BYTES + index) as u64;
                let stamp = item.wrapping_mul(1 << 20).wrapping_add(number) ^ u64::from(owner) << 52;
                let length = block.len().min(8);
                block[..length].copy_from_slice(&stamp.to_le_bytes()[..length]);
            }
            let mut piece = 0;
            while piece < length {
                self.transfers += 1;
                match again("write", || rustix::io::write(file, &buffer[piece..length]))? {
                    0 => return Err(Failure { call: "write", errno: None }),
                    count => piece += count,
                }
            }
            done += length;
        }
        Ok(total as u64)
    }

    #[inline]
    pub(super) fn open(&self, path: &CStr) -> Result<(), Failure> {
        self.open_to_read(path).map(drop)
    }

    fn open_to_read(&self, path: &CStr) -> Result<OwnedFd, Failure> {
        again("open", || rustix::fs::openat(self.at(), path, OFlags::RDONLY | self.follow, Mode::empty()))
    }

    /// Open, read the size that the workload says, close; the bytes read.
    #[inline]
    pub(super) fn read(&mut self, path: &CStr) -> Result<u64, Failure> {
        let file = self.open_to_read(path)?;
        let total = self.metadata.file_bytes as usize;
        let buffer = self.buffer.as_mut().expect("files with bytes have a buffer").bytes_mut();
        let mut done = 0;
        while done < total {
            let length = (total - done).min(PIECE_BYTES);
            self.transfers += 1;
            match again("read", || rustix::io::read(&file, &mut buffer[..length]))? {
                0 => return Err(Failure { call: "read", errno: None }),
                count => done += count,
            }
        }
        Ok(total as u64)
    }

    #[inline]
    pub(super) fn stat(&self, path: &CStr) -> Result<(), Failure> {
        again("stat", || rustix::fs::statat(self.at(), path, AtFlags::empty())).map(drop)
    }

    #[inline]
    pub(super) fn utime(&self, path: &CStr) -> Result<(), Failure> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        let follow = if self.follow.is_empty() { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        again("utime", || rustix::fs::utimensat(self.at(), path, &times, follow))
    }

    #[inline]
    pub(super) fn rename(&self, from: &CStr, to: &CStr) -> Result<(), Failure> {
        again("rename", || rustix::fs::renameat(self.at(), from, self.at(), to))
    }

    /// Remove a file, or with `REMOVEDIR` an empty directory.
    #[inline]
    pub(super) fn remove(&self, path: &CStr, kind: AtFlags) -> Result<(), Failure> {
        let call = if kind.is_empty() { "unlink" } else { "rmdir" };
        again(call, || rustix::fs::unlinkat(self.at(), path, kind))
    }

    #[inline]
    pub(super) fn mkdir(&self, path: &CStr) -> Result<(), Failure> {
        again("mkdir", || rustix::fs::mkdirat(self.at(), path, Mode::from_raw_mode(0o755)))
    }

    /// Read a whole directory; how many names it holds besides its own and its parent's.
    #[inline]
    pub(super) fn list(&mut self, path: &CStr) -> Result<u64, Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = again("opendir", || rustix::fs::openat(self.at(), path, flags, Mode::empty()))?;
        let mut entries = RawDir::new(&directory, &mut self.listing);
        let mut names = 0;
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => names += u64::from(!matches!(entry.file_name().to_bytes(), b"." | b"..")),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed("readdir")(errno)),
            }
        }
        Ok(names)
    }
}
