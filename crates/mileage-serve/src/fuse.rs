//! A file system with one file, the drive: a loop device over it is a block device of the kernel.

use crate::monitor::DriveMonitor;
use crate::request::{Answer, Failure, HostRequest, HostRequestKind};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, Session, SessionACL, TimeOrNow, WriteFlags,
};
use rustix::process::{getgid, getuid};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Name of the file.
pub const FILE_NAME: &str = "drive";
const FILE: INodeNo = INodeNo(2);
/// Nothing changes while it is mounted.
const VALID: Duration = Duration::from_secs(86400);
const REQUEST_BYTES: u32 = 1 << 20;
const BACKGROUND: u16 = 1024;
const PUNCH_HOLE: i32 = 2;
const ZERO_RANGE: i32 = 16;
const KEEP_SIZE: i32 = 1;

/// Where the answer of a request of the file system goes.
#[derive(Debug)]
pub(crate) enum FuseAnswer {
    Data(ReplyData),
    Written(ReplyWrite, u32),
    Empty(ReplyEmpty),
}

fn errno(failure: Failure) -> Errno {
    match failure {
        Failure::Io => Errno::EIO,
        Failure::Unsupported => Errno::EOPNOTSUPP,
        Failure::Invalid => Errno::EINVAL,
        Failure::NoSpace => Errno::ENOSPC,
    }
}

impl Answer for FuseAnswer {
    fn give(self: Box<Self>, result: Result<Vec<u8>, Failure>) {
        match (*self, result) {
            (Self::Data(reply), Ok(data)) => reply.data(&data),
            (Self::Written(reply, bytes), Ok(_)) => reply.written(bytes),
            (Self::Empty(reply), Ok(_)) => reply.ok(),
            (Self::Data(reply), Err(failure)) => reply.error(errno(failure)),
            (Self::Written(reply, _), Err(failure)) => reply.error(errno(failure)),
            (Self::Empty(reply), Err(failure)) => reply.error(errno(failure)),
        }
    }
}

struct DriveFileSystem {
    shared: Arc<DriveMonitor>,
    block_bytes: u32,
}

/// Mount the file system and serve it in threads of its own; the one that is returned ends when it is unmounted.
pub(crate) fn mount(shared: &Arc<DriveMonitor>, at: &Path, block_bytes: u32) -> io::Result<JoinHandle<io::Result<()>>> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("mileage-drive".to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoSuid,
        MountOption::NoDev,
    ];
    // The kernel's worker of a loop device is root, whoever made the device.
    config.acl = if getuid().is_root() { SessionACL::All } else { SessionACL::Owner };
    let session = Session::new(DriveFileSystem { shared: Arc::clone(shared), block_bytes }, at, &config)?;
    std::thread::Builder::new().name("mileage-fuse".to_owned()).spawn(move || session.run())
}

impl DriveFileSystem {
    fn attributes(&self, ino: INodeNo) -> FileAttr {
        let is_directory = ino == INodeNo::ROOT;
        let size = if is_directory { 0 } else { self.shared.capacity_bytes };
        FileAttr {
            ino,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_directory { FileType::Directory } else { FileType::RegularFile },
            perm: if is_directory { 0o700 } else { 0o600 },
            nlink: 1,
            uid: getuid().as_raw(),
            gid: getgid().as_raw(),
            rdev: 0,
            flags: 0,
            blksize: self.block_bytes,
        }
    }

    fn submit(&self, kind: HostRequestKind, range: (u64, u64), data: &[u8], answer: FuseAnswer) {
        let (offset_bytes, length_bytes) = range;
        let answer = Box::new(answer);
        self.shared.submit(HostRequest { kind, fua: false, offset_bytes, length_bytes, data: data.to_vec(), answer });
    }
}

impl Filesystem for DriveFileSystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // The kernel takes less where it does not offer these; each of them is a limit.
        let _ = config.set_max_write(REQUEST_BYTES);
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(BACKGROUND);
        // Without it the kernel waits for each direct request before it sends the next, whatever the depth.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE_NAME {
            reply.entry(&VALID, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&VALID, &self.attributes(ino));
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changes = mode.is_some() || uid.is_some() || gid.is_some();
        if changes || size.is_some_and(|size| size != self.attributes(ino).size) {
            reply.error(Errno::EPERM);
        } else {
            reply.attr(&VALID, &self.attributes(ino));
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags | FopenFlags::FOPEN_NOFLUSH);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length_bytes = u64::from(size).min(self.shared.capacity_bytes.saturating_sub(offset));
        if length_bytes == 0 {
            reply.data(&[]);
            return;
        }
        self.submit(HostRequestKind::Read, (offset, length_bytes), &[], FuseAnswer::Data(reply));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length_bytes = data.len() as u64;
        if offset.saturating_add(length_bytes) > self.shared.capacity_bytes {
            reply.error(Errno::ENOSPC);
            return;
        }
        let answer = FuseAnswer::Written(reply, data.len() as u32);
        self.submit(HostRequestKind::Write, (offset, length_bytes), data, answer);
    }

    /// Closing a file, which is no flush of the drive.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.submit(HostRequestKind::Flush, (0, 0), &[], FuseAnswer::Empty(reply));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let kind = match mode & !KEEP_SIZE {
            PUNCH_HOLE => HostRequestKind::Discard,
            ZERO_RANGE => HostRequestKind::WriteZeroes,
            _ => {
                reply.error(Errno::EOPNOTSUPP);
                return;
            }
        };
        self.submit(kind, (offset, length), &[], FuseAnswer::Empty(reply));
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (ino, FileType::Directory, "."),
            (ino, FileType::Directory, ".."),
            (FILE, FileType::RegularFile, FILE_NAME),
        ];
        for (number, (ino, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(ino, number, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = self.shared.capacity_bytes / u64::from(self.block_bytes);
        reply.statfs(blocks, 0, 0, 2, 0, self.block_bytes, 255, self.block_bytes);
    }
}
