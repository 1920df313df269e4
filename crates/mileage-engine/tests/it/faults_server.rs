//! A file system with one file whose server answers as a test says: well, wrongly, late or never.
//!
//! The server is a process of its own and dies with the thread that started it: a request that it never answers would
//! otherwise hold this process for ever, even a killed one.

use crate::scratch::folder;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, MountOption,
    OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, SessionACL, WriteFlags,
};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tempfile::TempDir;

/// What is asked of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerCall {
    Open,
    Read,
    Write,
    Sync,
    /// Closing a descriptor.
    Flush,
}

/// How it answers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Answer {
    Well,
    /// With this error number.
    Error(i32),
    /// This number of bytes at most.
    Short(u32),
    /// Correctly, after this number of milliseconds in which the server does nothing else.
    Late(u64),
    Never,
}

/// One exception from answering well. Requests of a kind are counted from 0.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rule {
    pub asked: ServerCall,
    pub from: u64,
    pub until: u64,
    /// Of every three requests, the last is answered well all the same.
    pub two_of_three: bool,
    /// Only this long after the first request, in milliseconds.
    pub after_ms: u64,
    /// Only once a request of this kind has come.
    pub behind: Option<ServerCall>,
    /// Only so often.
    pub times: u64,
    pub answer: Answer,
}

/// Every request of a kind is answered so.
pub fn every(asked: ServerCall, answer: Answer) -> Rule {
    Rule { asked, from: 0, until: u64::MAX, two_of_three: false, after_ms: 0, behind: None, times: u64::MAX, answer }
}

/// Only the n-th.
pub fn nth(asked: ServerCall, nth: u64, answer: Answer) -> Rule {
    Rule { from: nth, until: nth + 1, ..every(asked, answer) }
}

/// The n-th and all later ones.
pub fn from(asked: ServerCall, nth: u64, answer: Answer) -> Rule {
    Rule { from: nth, ..every(asked, answer) }
}

/// A server's rules: the first that fits counts.
#[derive(Debug, Serialize, Deserialize)]
struct Script {
    rules: Vec<Rule>,
    /// The page cache is between, or else reads and writes reach the server one by one.
    cached: bool,
}

pub const FILE_BYTES: u64 = 64 << 20;
const TTL: Duration = Duration::from_secs(3600);
const DATA: INodeNo = INodeNo(2);

struct Faulty {
    script: Script,
    began: Instant,
    asked: [AtomicU64; 5],
    applied: Vec<AtomicU64>,
    withheld: Mutex<Vec<Box<dyn Any + Send>>>,
}

fn config() -> Config {
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("mileage-test".to_owned()), MountOption::DefaultPermissions];
    config.acl = SessionACL::All;
    config
}

/// Whether this process has a descriptor or a mapping of anything under `folder`.
pub fn is_open(folder: &Path) -> bool {
    let folder = folder.to_str().unwrap();
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let mut open = links.filter(|link| link.to_string_lossy().starts_with(folder));
    open.next().is_some() || std::fs::read_to_string("/proc/self/maps").unwrap().contains(folder)
}

pub fn is_mounted(folder: &Path) -> bool {
    std::fs::read_to_string("/proc/self/mounts").unwrap().contains(folder.to_str().unwrap())
}

fn attributes(ino: INodeNo) -> FileAttr {
    let directory = ino == INodeNo::ROOT;
    FileAttr {
        ino,
        size: if directory { 0 } else { FILE_BYTES },
        blocks: FILE_BYTES / 512,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if directory { FileType::Directory } else { FileType::RegularFile },
        perm: if directory { 0o755 } else { 0o644 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

impl Faulty {
    fn new(script: Script) -> Self {
        let applied = script.rules.iter().map(|_| AtomicU64::new(0)).collect();
        Self { script, began: Instant::now(), asked: Default::default(), applied, withheld: Mutex::default() }
    }

    fn answer(&self, asked: ServerCall) -> Answer {
        let nth = self.asked[asked as usize].fetch_add(1, Ordering::Relaxed);
        let after_ms = self.began.elapsed().as_millis() as u64;
        let fits = |rule: &Rule| {
            let placed = rule.asked == asked && (rule.from..rule.until).contains(&nth) && after_ms >= rule.after_ms;
            let come = rule.behind.is_none_or(|other| self.asked[other as usize].load(Ordering::Relaxed) > 0);
            placed && come && !(rule.two_of_three && nth % 3 == 2)
        };
        let mut rules = self.script.rules.iter().zip(&self.applied);
        let found = rules.find(|(rule, applied)| fits(rule) && applied.fetch_add(1, Ordering::Relaxed) < rule.times);
        let answer = found.map_or(Answer::Well, |(rule, _)| rule.answer);
        if let Answer::Late(wait_ms) = answer {
            std::thread::sleep(Duration::from_millis(wait_ms));
        }
        answer
    }

    fn withhold(&self, reply: impl Any + Send) {
        self.withheld.lock().unwrap().push(Box::new(reply));
    }

    fn empty(&self, asked: ServerCall, reply: ReplyEmpty) {
        match self.answer(asked) {
            Answer::Error(errno) => reply.error(Errno::from_i32(errno)),
            Answer::Never => self.withhold(reply),
            _ => reply.ok(),
        }
    }
}

impl Filesystem for Faulty {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "data" { reply.entry(&TTL, &attributes(DATA), Generation(0)) } else { reply.error(Errno::ENOENT) }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attributes(ino));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = if self.script.cached { FopenFlags::FOPEN_KEEP_CACHE } else { FopenFlags::FOPEN_DIRECT_IO };
        match self.answer(ServerCall::Open) {
            Answer::Error(errno) => reply.error(Errno::from_i32(errno)),
            Answer::Never => self.withhold(reply),
            _ => reply.opened(FileHandle(0), flags),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.answer(ServerCall::Read) {
            Answer::Error(errno) => reply.error(Errno::from_i32(errno)),
            Answer::Never => self.withhold(reply),
            Answer::Short(most) => reply.data(&vec![7; size.min(most) as usize]),
            Answer::Well | Answer::Late(_) => reply.data(&vec![7; size as usize]),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = data.len() as u32;
        match self.answer(ServerCall::Write) {
            Answer::Error(errno) => reply.error(Errno::from_i32(errno)),
            Answer::Never => self.withhold(reply),
            Answer::Short(most) => reply.written(length.min(most)),
            Answer::Well | Answer::Late(_) => reply.written(length),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.empty(ServerCall::Sync, reply);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.empty(ServerCall::Flush, reply);
    }
}

const AT: &str = "MILEAGE_TEST_SERVE_AT";
const SCRIPT: &str = "MILEAGE_TEST_SERVE_SCRIPT";

/// The mounted file system and its server; both are removed when it is dropped.
pub struct Server {
    at: TempDir,
    process: Child,
}

impl Server {
    /// Serve by `rules`. `None`, and said, where this is not possible.
    pub fn mount(test: &str, cached: bool, rules: &[Rule]) -> Option<Self> {
        let at = folder();
        let script = serde_json::to_string(&Script { rules: rules.to_vec(), cached }).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "faults_server::serve_in_a_process_of_its_own"]);
        command.env(AT, at.path()).env(SCRIPT, script).stdin(Stdio::null()).stdout(Stdio::null());
        let mut server = Self { at, process: command.spawn().unwrap() };
        while !is_mounted(server.at.path()) {
            if server.process.try_wait().unwrap().is_some() {
                eprintln!("skipped {test}: FUSE cannot be mounted here");
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Some(server)
    }

    pub fn file(&self) -> PathBuf {
        self.at.path().join("data")
    }

    /// The server dies, and pending calls fail.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // Threads that were left behind let go now; the file system is busy until they have.
        let done = Instant::now() + Duration::from_secs(20);
        let at = self.at.path();
        let unmount = || Command::new("umount").arg(at).output().is_ok_and(|output| output.status.success());
        while is_mounted(at) && !unmount() && Instant::now() < done {
            std::thread::sleep(Duration::from_millis(5));
        }
        let left = is_mounted(at);
        assert!(!left || std::thread::panicking(), "{} is still mounted, or in use", at.display());
    }
}

#[test]
#[ignore = "started by other tests, as a process of its own"]
fn serve_in_a_process_of_its_own() {
    let (Some(at), Ok(script)) = (std::env::var_os(AT), std::env::var(SCRIPT)) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() == 1) {
        return;
    }
    fuser::mount(Faulty::new(serde_json::from_str(&script).unwrap()), at, &config()).unwrap();
}
