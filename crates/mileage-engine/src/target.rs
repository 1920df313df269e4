//! Opens the target, and refuses what it cannot honour before anything is done.

use crate::errno;
use crate::error::Error;
use crate::options::Options;
use mileage_workload::Workload;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;
use std::path::Path;

/// The opened target, once for each thread: threads that share an open file contend for its reference count.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) files: Vec<OwnedFd>,
    /// Where buffers may start, in bytes.
    pub(crate) align_bytes: usize,
}

/// A file that exists only because of this call, removed again unless the call succeeds.
struct Created<'a>(Option<&'a Path>);

impl Drop for Created<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            let _ = rustix::fs::unlink(path);
        }
    }
}

pub(crate) fn failed<'a>(what: &'static str, path: &'a Path) -> impl Fn(Errno) -> Error + 'a {
    move |error| Error::Target {
        what,
        path: path.to_owned(),
        kind: errno::name(error),
        reason: errno::sentence(error),
        advice: match error {
            Errno::NOENT => ": lay the file out first, or let the run create it",
            Errno::BUSY => ": it is mounted, or held by swap, md, dm or another program",
            Errno::ACCESS | Errno::PERM => ": run as a user who may open it",
            Errno::MFILE => ": each thread opens the target for itself; raise `ulimit -n`",
            _ => "",
        },
    }
}

pub(crate) fn open(workload: &Workload, options: &Options) -> Result<Target, Error> {
    let path = options.path.as_path();
    let access = match workload.read_percent {
        0 => OFlags::WRONLY,
        100 => OFlags::RDONLY,
        _ => OFlags::RDWR,
    };
    let may_create = options.create && workload.read_percent == 0;
    let direct = if options.direct { OFlags::DIRECT } else { OFlags::empty() };
    let (first, mut created) = open_first(path, access | direct, may_create)?;
    let grows = may_create && is_regular(&first, path)?;
    check_size(workload, &first, path, grows)?;
    let align_bytes = if options.direct { check_direct(workload, &first, path)? } else { 512 };
    let mut files = vec![first];
    for _ in 1..workload.threads {
        files.push(open_again(&files[0], path, access | direct)?);
    }
    created.0 = None;
    Ok(Target { files, align_bytes })
}

/// Open for the first time: looks before it opens (a FIFO would block), creates if allowed, and claims a block device
/// that will be written, which the kernel refuses while it is mounted or held.
fn open_first(path: &Path, flags: OFlags, may_create: bool) -> Result<(OwnedFd, Created<'_>), Error> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = match rustix::fs::stat(path) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice if flags.intersects(OFlags::WRONLY | OFlags::RDWR) => {
                rustix::fs::open(path, flags | OFlags::EXCL, Mode::empty())
            }
            FileType::RegularFile | FileType::BlockDevice => rustix::fs::open(path, flags, Mode::empty()),
            other => return Err(not_storage(path, other)),
        },
        Err(Errno::NOENT) if may_create => {
            let opened = rustix::fs::open(path, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o644));
            return match opened {
                Ok(file) => Ok((file, Created(Some(path)))),
                Err(Errno::INVAL) if flags.contains(OFlags::DIRECT) => {
                    // The kernel creates the file before it finds that it cannot open it so.
                    drop(Created(Some(path)));
                    Err(Error::NoDirect { path: path.to_owned() })
                }
                Err(error) => Err(failed("create", path)(error)),
            };
        }
        Err(error) => return Err(failed("open", path)(error)),
    };
    match opened {
        Ok(file) => Ok((file, Created(None))),
        Err(Errno::INVAL) if flags.contains(OFlags::DIRECT) => Err(Error::NoDirect { path: path.to_owned() }),
        Err(error) => Err(failed("open", path)(error)),
    }
}

/// The same file once more, for another thread.
fn open_again(first: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Error> {
    let again = rustix::fs::open(path, flags | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty());
    let again = again.map_err(failed("open", path))?;
    let stats = (rustix::fs::fstat(first), rustix::fs::fstat(&again));
    let (one, other) = (stats.0.map_err(failed("examine", path))?, stats.1.map_err(failed("examine", path))?);
    if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) {
        Ok(again)
    } else {
        Err(failed("open twice (it was replaced meanwhile)", path)(Errno::STALE))
    }
}

fn is_regular(file: &OwnedFd, path: &Path) -> Result<bool, Error> {
    let stat = rustix::fs::fstat(file).map_err(failed("examine", path))?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

fn not_storage(path: &Path, found: FileType) -> Error {
    let found = match found {
        FileType::Directory => "a directory",
        FileType::CharacterDevice => "a character device",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "of an unknown kind",
    };
    Error::NotStorage { path: path.to_owned(), found }
}

fn check_size(workload: &Workload, file: &OwnedFd, path: &Path, grows: bool) -> Result<(), Error> {
    let found = rustix::fs::seek(file, SeekFrom::End(0)).map_err(failed("examine", path))?;
    let needed = workload.span_start_bytes + workload.span_bytes;
    if grows || found >= needed { Ok(()) } else { Err(Error::TooSmall { path: path.to_owned(), found, needed }) }
}

/// The alignment that direct I/O asks of buffers, after checking sizes and offsets against it: what the kernel says of
/// this file (Linux 6.1 and later), or one sector. The stricter of its two figures is asked of both, so that every
/// window of the pool is aligned.
fn check_direct(workload: &Workload, file: &OwnedFd, path: &Path) -> Result<usize, Error> {
    let facts = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    let facts = facts.ok().filter(|facts| facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    let align_bytes = match facts {
        Some(facts) if facts.stx_dio_offset_align == 0 => return Err(Error::NoDirect { path: path.to_owned() }),
        Some(facts) => facts.stx_dio_offset_align.max(facts.stx_dio_mem_align).max(Workload::SECTOR_BYTES),
        None => Workload::SECTOR_BYTES,
    };
    let of = u64::from(align_bytes);
    let sizes = [("record_bytes", u64::from(workload.record_bytes)), ("span_start_bytes", workload.span_start_bytes)];
    match sizes.into_iter().find(|(_, found)| !found.is_multiple_of(of)) {
        Some((what, found)) => Err(Error::Misaligned { what, found, of, path: path.to_owned() }),
        None => Ok(align_bytes as usize),
    }
}

/// Write a few bytes at the very end of a file that is being laid out, through the page cache, durably.
pub(crate) fn write_tail(path: &Path, offset_bytes: u64, bytes: &[u8]) -> Result<(), Error> {
    let (file, mut created) = open_first(path, OFlags::WRONLY, true)?;
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pwrite(&file, &bytes[done..], offset_bytes + done as u64) {
            Ok(0) => return Err(failed("lay out the end of", path)(Errno::IO)),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("lay out the end of", path)(error)),
        }
    }
    rustix::fs::fdatasync(&file).map_err(failed("lay out the end of", path))?;
    created.0 = None;
    Ok(())
}
