//! Open the target of a run; refuse requests that it cannot fulfil before any I/O.

use crate::api::file::TargetFile;
use crate::error::{Error, failed};
use crate::identity::Identity;
use crate::options::{Api, Options};
use mileage_workload::{Files, Workload};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, Stat, StatxFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A file that exists only because of this call, removed again unless the call succeeds.
struct CreatedFile<'a>(Option<(&'a Path, Identity)>);

impl Drop for CreatedFile<'_> {
    fn drop(&mut self) {
        if let Some((path, own)) = self.0 {
            own.remove(path);
        }
    }
}

/// Open the target for `count` threads of the workload from `first` on, or nothing at all. Once for each thread:
/// threads that share an open file contend for its reference count. `None` for an API that makes no call.
pub(crate) fn open(
    workload: &Workload,
    options: &Options,
    (first, count): (u32, u32),
) -> Result<Vec<Option<TargetFile>>, Error> {
    if options.api == Api::Null {
        return Ok((0..count).map(|_| None).collect());
    }
    let flags = flags_of(workload, options);
    if workload.files == Files::PerThread && is_block_device(&options.path) {
        return Err(Error::DeviceForEach { path: options.path.clone() });
    }
    let paths: Vec<PathBuf> = match workload.files {
        Files::Shared => vec![options.path.clone()],
        Files::PerThread => {
            (first..first + count).map(|thread| path_of(&options.path, workload.file_of(thread))).collect()
        }
    };
    let (mut files, mut created) = (Vec::with_capacity(count as usize), Vec::new());
    for (path, thread) in paths.iter().zip(first..) {
        let number = if workload.files == Files::Shared { 0 } else { workload.file_of(thread) };
        let spot = OpenAt::of(options, path, number)?;
        let (file, made) = open_one(workload, options, &spot, flags, first == 0)?;
        created.push(made);
        files.push(Some(file));
        for _ in 1..if workload.files == Files::Shared { count } else { 1 } {
            let first = files[0].as_ref().expect("opened above");
            let again = open_again(first, &spot, flags)?;
            let block_device = first.is_block_device();
            files.push(Some(TargetFile::new(again, block_device)));
        }
    }
    for file in files.iter().flatten() {
        file.advise(options.advice).map_err(failed("advise the kernel on", &options.path))?;
    }
    created.iter_mut().for_each(|created| created.0 = None);
    Ok(files)
}

/// Where to open a file: at its path, or by its name in a directory whose identity was compared.
pub(crate) struct OpenAt<'a> {
    path: &'a Path,
    directory: Option<OwnedFd>,
    expected: Option<Identity>,
}

impl<'a> OpenAt<'a> {
    /// Whatever file is at this path.
    #[cfg(test)]
    pub(crate) fn at(path: &'a Path) -> Self {
        Self { path, directory: None, expected: None }
    }

    /// File `number` of a run, as its options describe it.
    fn of(options: &Options, path: &'a Path, number: u32) -> Result<Self, Error> {
        let expected = options.expects.get(number as usize).copied();
        Ok(Self { expected, ..Self::in_directory(path, options.directory)? })
    }

    /// A file in its directory, which is compared if it is known.
    pub(crate) fn in_directory(path: &'a Path, directory: Option<Identity>) -> Result<Self, Error> {
        let open = |own: Identity| {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            open_directory(parent, own)
        };
        Ok(Self { path, directory: directory.map(open).transpose()?, expected: None })
    }

    /// Require that the file has this identity; `None` accepts any.
    pub(crate) fn expecting(self, expected: Option<Identity>) -> Self {
        Self { expected, ..self }
    }

    fn named(&self) -> (BorrowedFd<'_>, &Path) {
        match (&self.directory, self.path.file_name()) {
            (Some(directory), Some(name)) => (directory.as_fd(), Path::new(name)),
            _ => (rustix::fs::CWD, self.path),
        }
    }

    /// Whether the identity is required: then no link is followed.
    fn is_known(&self) -> bool {
        self.directory.is_some() || self.expected.is_some()
    }

    /// Look at the path without opening it. A link where there must be none, and another file than the one that must
    /// be there, are refused.
    pub(crate) fn look(&self) -> Result<Result<Stat, Errno>, Error> {
        let (at, name) = self.named();
        let follow = if self.is_known() { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
        let found = rustix::fs::statat(at, name, follow);
        if let Ok(stat) = &found {
            let kind = FileType::from_raw_mode(stat.st_mode);
            let own = self.expected.unwrap_or_default();
            if self.is_known() && kind == FileType::Symlink || self.expected.is_some() && !own.may_be(stat) {
                return Err(own.replaced_by(kind, self.path));
            }
        }
        Ok(found)
    }

    /// Open it, and compare what was opened.
    pub(crate) fn open(&self, flags: OFlags, mode: Mode) -> Result<Result<OwnedFd, Errno>, Error> {
        let (at, name) = self.named();
        let follow = if self.is_known() { OFlags::NOFOLLOW } else { OFlags::empty() };
        let file = match rustix::fs::openat(at, name, flags | follow, mode) {
            Err(Errno::LOOP) if self.is_known() => {
                return Err(self.expected.unwrap_or_default().replaced_by(FileType::Symlink, self.path));
            }
            Err(error) => return Ok(Err(error)),
            Ok(file) => file,
        };
        match self.expected {
            Some(own) => own.check(&file, self.path)?,
            None if self.directory.is_some() && flags.intersects(OFlags::WRONLY | OFlags::RDWR) => {
                refuse_other_names(&file, self.path)?;
            }
            None => {}
        }
        Ok(Ok(file))
    }

    /// Remove the name.
    pub(crate) fn remove(&self) -> Result<(), Errno> {
        let (at, name) = self.named();
        rustix::fs::unlinkat(at, name, AtFlags::empty())
    }
}

/// Open a directory that must be this one.
pub(crate) fn open_directory(path: &Path, own: Identity) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty()).map_err(failed("open the directory", path))?;
    own.check(&directory, path)?;
    Ok(directory)
}

/// A file that a run made, or may write, has one name alone: another would be somebody else's.
fn refuse_other_names(file: &OwnedFd, path: &Path) -> Result<(), Error> {
    let stat = rustix::fs::fstat(file).map_err(failed("examine", path))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink > 1 {
        return Err(Error::Replaced {
            path: path.to_owned(),
            found: "a file with other names (hard links)",
            expected: "file of this run",
        });
    }
    Ok(())
}

/// The file of one thread, where each has its own: `PATH.0`, `PATH.1` and so on.
pub(crate) fn path_of(path: &Path, thread: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{thread}"));
    PathBuf::from(name)
}

/// The file that thread `first` works on.
pub(crate) fn first_path(workload: &Workload, options: &Options, first: u32) -> PathBuf {
    match workload.files {
        Files::Shared => options.path.clone(),
        Files::PerThread => path_of(&options.path, workload.file_of(first)),
    }
}

fn flags_of(workload: &Workload, options: &Options) -> OFlags {
    let changes = workload.changes();
    let access = match (workload.reads(), changes) {
        (false, true) if options.api == Api::Mmap => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (true, true) => OFlags::RDWR,
        (_, false) => OFlags::RDONLY,
    };
    let direct = if options.direct { OFlags::DIRECT } else { OFlags::empty() };
    // The bits of O_DSYNC alone: `OFlags::DSYNC` has those of O_SYNC.
    let dsync = if options.dsync { OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned()) } else { OFlags::empty() };
    access | direct | dsync
}

/// Open one file or device and check it against the workload; `claims` if this process claims a device for writing.
fn open_one<'a>(
    workload: &Workload,
    options: &Options,
    spot: &OpenAt<'a>,
    flags: OFlags,
    claims: bool,
) -> Result<(TargetFile, CreatedFile<'a>), Error> {
    let may_create = options.create && !workload.reads();
    let path = spot.path;
    let (fd, created) = open_first(spot, flags, may_create, claims)?;
    let stat = rustix::fs::fstat(&fd).map_err(failed("examine", path))?;
    let block_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    check_size(workload, &fd, path, may_create && !block_device)?;
    if options.direct {
        check_direct(workload, options, &fd, path)?;
    }
    let file = TargetFile::new(fd, block_device);
    if workload.discards() {
        file.check_discard().map_err(failed("discard on", path))?;
    }
    Ok((file, created))
}

fn is_block_device(path: &Path) -> bool {
    rustix::fs::stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice)
}

/// Open for the first time: looks before it opens (a FIFO would block), creates if allowed, and claims a block device
/// that will be written, which the kernel refuses while it is mounted or held.
fn open_first<'a>(
    spot: &OpenAt<'a>,
    flags: OFlags,
    may_create: bool,
    claims: bool,
) -> Result<(OwnedFd, CreatedFile<'a>), Error> {
    let (path, flags) = (spot.path, flags | OFlags::CLOEXEC | OFlags::NOCTTY);
    let opened = match spot.look()? {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice if claims && flags.intersects(OFlags::WRONLY | OFlags::RDWR) => {
                spot.open(flags | OFlags::EXCL, Mode::empty())?
            }
            FileType::RegularFile | FileType::BlockDevice => spot.open(flags, Mode::empty())?,
            other => return Err(not_storage(path, other)),
        },
        Err(Errno::NOENT) if may_create => {
            return match spot.open(flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o644))? {
                Ok(file) => {
                    let own = Identity::of(&file).map_err(failed("examine", path))?;
                    Ok((file, CreatedFile(Some((path, own)))))
                }
                Err(Errno::INVAL) if flags.contains(OFlags::DIRECT) => {
                    // The kernel creates the file before it finds that it cannot open it so. There is no descriptor
                    // that would show its identity.
                    let _ = spot.remove();
                    Err(Error::NoDirect { path: path.to_owned() })
                }
                // Another process of the same run has created the file first: open that one.
                Err(Errno::EXIST) => open_first(spot, flags, false, claims),
                Err(error) => Err(failed("create", path)(error)),
            };
        }
        Err(error) => return Err(failed("open", path)(error)),
    };
    match opened {
        Ok(file) => Ok((file, CreatedFile(None))),
        Err(Errno::INVAL) if flags.contains(OFlags::DIRECT) => Err(Error::NoDirect { path: path.to_owned() }),
        Err(error) => Err(failed("open", path)(error)),
    }
}

/// Open the same file once more, for another thread.
fn open_again(first: &TargetFile, spot: &OpenAt<'_>, flags: OFlags) -> Result<OwnedFd, Error> {
    let path = spot.path;
    let again = spot.open(flags | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())?.map_err(failed("open", path))?;
    let (one, other) = (Identity::of(first), Identity::of(&again));
    if one.map_err(failed("examine", path))? == other.map_err(failed("examine", path))? {
        Ok(again)
    } else {
        Err(failed("open twice (it was replaced meanwhile)", path)(Errno::STALE))
    }
}

pub(crate) fn not_storage(path: &Path, found: FileType) -> Error {
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

/// Check that sizes and offsets have the alignment that direct I/O requires: as the kernel reports for this file
/// (Linux 6.1 and later), or one sector. The stricter of its two figures, for offsets and for memory, is required of
/// both, so that an operation can be continued in the middle; buffers begin with a page.
fn check_direct(workload: &Workload, options: &Options, file: &OwnedFd, path: &Path) -> Result<(), Error> {
    let facts = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    let facts = facts.ok().filter(|facts| facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    let align_bytes = match facts {
        Some(facts) if facts.stx_dio_offset_align == 0 => return Err(Error::NoDirect { path: path.to_owned() }),
        Some(facts) => facts.stx_dio_offset_align.max(facts.stx_dio_mem_align).max(Workload::SECTOR_BYTES),
        None => Workload::SECTOR_BYTES,
    };
    let of = u64::from(align_bytes);
    let sizes = [("record_bytes", u64::from(workload.record_bytes)), ("span_start_bytes", workload.span_start_bytes)];
    let misaligned = |what, found| Err(Error::Misaligned { what, found, of, path: path.to_owned() });
    if let Some((what, found)) = sizes.into_iter().find(|(_, found)| !found.is_multiple_of(of)) {
        return misaligned(what, found);
    }
    if !workload.is_aligned_to(align_bytes) {
        return misaligned("the unit of sizes and places", u64::from(workload.operations_unit_bytes()));
    }
    let parts = if let Api::Vectored { parts } = options.api { parts } else { 1 };
    if !workload.lengths_are_multiples_of(parts.saturating_mul(align_bytes)) {
        return misaligned("one of the parts of a record", u64::from(workload.record_bytes / parts));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CreatedFile, Identity, OpenAt, TargetFile, open_again, open_first};
    use crate::error::Error;
    use rustix::fs::OFlags;
    use std::fs::{read, rename, write};

    #[test]
    fn a_file_made_for_a_call_that_fails_is_removed_unless_another_has_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        drop(open_first(&OpenAt::at(&path), OFlags::WRONLY, true, true).unwrap());
        assert!(!path.exists());

        let (_file, created) = open_first(&OpenAt::at(&path), OFlags::WRONLY, true, true).unwrap();
        rename(&path, folder.path().join("moved")).unwrap();
        write(&path, b"of somebody else").unwrap();
        drop(created);
        assert_eq!(read(&path).unwrap(), b"of somebody else");
    }

    #[test]
    fn a_further_thread_opens_the_file_of_the_first_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("data"), folder.path().join("other"));
        write(&path, b"the first").unwrap();
        write(&other, b"another").unwrap();
        let (file, CreatedFile(None)) = open_first(&OpenAt::at(&path), OFlags::RDONLY, false, true).unwrap() else {
            panic!("it was there before");
        };
        let first = TargetFile::new(file, false);
        let again = open_again(&first, &OpenAt::at(&path), OFlags::RDONLY).unwrap();
        assert_eq!(Identity::of(&again), Identity::of(&first));

        rename(&other, &path).unwrap();
        let refused = open_again(&first, &OpenAt::at(&path), OFlags::RDONLY);
        assert!(matches!(&refused, Err(Error::Target { kind, .. }) if kind == "ESTALE"), "{refused:?}");
    }
}
