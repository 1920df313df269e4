//! Prepare the workers of one IOzone test: open each worker's file before the timed part.

use super::calls::{OpenFile, TestFile, TestTimes};
use super::manner::Transport;
use super::record_extras::RecordExtras;
use super::steps::{Access, Action, Moves, Step, TestEnd};
use super::suite::{Group, Iozone, Test};
use crate::api::file::TargetFile;
use crate::api::mmap::MappedWindow;
use crate::api::posix_aio::AsyncFile;
use crate::api::stream::Stream;
use crate::descriptor_table;
use crate::error::Error;
use crate::error::failed;
use crate::identity::Identity;
use crate::memory::Pages;
use crate::options::{Api, Options};
use crate::run_handle::{Handle, start_tests};
use crate::target::OpenAt;
use crate::thread_range::ThreadRange;
use crate::time_limit::within;
use crate::worker::{Part, SharedState, WorkerFiles, work_by_calls};
use mileage_workload::{Execution, PatternKind, Step as Turn, Workload};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State that the workers of one test share.
#[derive(Debug)]
pub(crate) struct Workers {
    pub(super) suite: Arc<Iozone>,
    pub(super) step: Step,
    /// The files, one for each worker.
    pub(super) paths: Vec<PathBuf>,
    pub(super) ends: Arc<TestTimes>,
    pub(super) known: Arc<OpenedFiles>,
}

/// The files that the tests opened so far, where their directory was compared: a later test works on the same ones.
#[derive(Debug, Default)]
pub(super) struct OpenedFiles(Mutex<BTreeMap<PathBuf, Identity>>);

impl OpenedFiles {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Identity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of(&self, path: &Path) -> Option<Identity> {
        self.lock().get(path).copied()
    }

    pub(super) fn these(known: impl IntoIterator<Item = (PathBuf, Identity)>) -> Self {
        Self(Mutex::new(known.into_iter().collect()))
    }

    pub(super) fn all(&self) -> Vec<(PathBuf, Identity)> {
        self.lock().iter().map(|(path, own)| (path.clone(), *own)).collect()
    }

    pub(super) fn forget(&self, path: &Path) {
        self.lock().remove(path);
    }
}

impl WorkerFiles for Workers {
    fn path_of(&self, worker: u32) -> PathBuf {
        self.paths[worker as usize].clone()
    }

    /// In a mix the workload of a worker is not that of the others.
    fn workload_of(&self, worker: u32) -> Workload {
        self.step.workload_for(&self.suite, worker)
    }

    fn work(self: Arc<Self>, shared: &SharedState, worker: u32) -> Result<Part, Error> {
        work_by_calls(shared, worker, || Self::open_in_time(&self, worker))
    }
}

impl Workers {
    /// Start the workers of this range.
    pub(super) fn start(self, thread_range: ThreadRange) -> Result<Handle, Error> {
        let (workload, options) = (self.workload().clone(), self.options());
        start_tests(self, workload, options, thread_range)
    }

    /// The workload of all of them.
    pub(crate) fn workload(&self) -> &Workload {
        &self.step.workload
    }

    /// The engine's options, as far as this test has them.
    pub(crate) fn options(&self) -> Options {
        let api = match self.step.moves {
            Moves::Positioned => Api::Positioned,
            Moves::Stream => Api::Stdio { buffer_bytes: 0 },
            _ => Api::Seek,
        };
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let from = |first: u32| (0..processors).map(|next| (first + next) % processors).collect();
        Options {
            api,
            direct: self.is_direct(),
            dsync: (self.suite.dsync || self.suite.osync) && self.step.moves != Moves::Stream,
            timeout_ns: self.suite.timeout_ns,
            pin_cpus: self.suite.manner.first_cpu.map(from).unwrap_or_default(),
            ..Options::new(self.path_of(0))
        }
    }

    fn is_direct(&self) -> bool {
        self.suite.direct && self.step.moves != Moves::Stream
    }

    /// Do what comes before the clock, within the time-out; the worker's file, ready for its first record.
    pub(crate) fn open_in_time(workers: &Arc<Self>, worker: u32) -> Result<TestFile, Error> {
        let (its, timeout_ns) = (Arc::clone(workers), workers.suite.timeout_ns);
        let in_pool = matches!(workers.suite.manner.transport, Transport::Posix { .. });
        if timeout_ns == 0 && !in_pool {
            // Without a time-out no helper thread opens the file, so that this thread can have a descriptor table of its own.
            descriptor_table::leave();
        }
        let opened = within(timeout_ns, move || its.open(worker));
        let late = || Err(failed("open", &workers.path_of(worker))(Errno::TIMEDOUT));
        opened.or_else(|missed| missed.if_late(late))?
    }

    fn open(&self, worker: u32) -> Result<TestFile, Error> {
        let (step, path) = (&self.step, self.path_of(worker));
        let mut opened = None;
        for action in step.before_of(&self.suite, worker) {
            self.act(action, &path, &mut opened)?;
        }
        let file = opened.ok_or(Errno::BADF).map_err(failed("open", &path))?;
        let workload = self.workload_of(worker);
        let opened = if step.moves == Moves::Stream {
            let (reads, writes) = (workload.reads(), workload.writes());
            let buffer_bytes = workload.record_bytes as usize;
            let stream = Stream::new(TargetFile::new(file, false), buffer_bytes, reads, writes);
            OpenFile::Stream(stream.map_err(failed("open a stream on", &path))?.at_start(reads))
        } else {
            self.moved(file, &workload, &path)?
        };
        Ok(TestFile {
            opened,
            path,
            moves: step.moves,
            record_bytes: u64::from(workload.record_bytes),
            last_seek_bytes: offset_after(&workload, worker)?,
            ending: TestEnd { flush_reads: step.ending.flush_reads && !workload.writes(), ..step.ending },
            ends: Arc::clone(&self.ends),
            compute_ns: self.suite.manner.compute_ns,
            extras: RecordExtras::of(&self.suite, step.test, worker)?.map(Box::new),
            sought: None,
            began: false,
            finished: false,
        })
    }

    /// The opened file as the manner's transport moves its records.
    fn moved(&self, file: OwnedFd, workload: &Workload, path: &Path) -> Result<OpenFile, Error> {
        let suite = &self.suite;
        if matches!(self.step.test.group(), Group::Pwrite | Group::Pread) {
            return Ok(OpenFile::File(file));
        }
        Ok(match suite.manner.transport {
            Transport::Calls => OpenFile::File(file),
            Transport::Mapping { flush } => {
                // IOzone maps for writing in both passes of its random test.
                let writes = workload.writes() || self.step.test == Test::RandomRead && suite.workers.is_none();
                let window = MappedWindow::whole(TargetFile::new(file, false), suite.file_bytes, writes);
                OpenFile::Mapped(window.map_err(failed("map", path))?, flush)
            }
            Transport::Posix { depth, copied } => {
                let record = i64::from(workload.record_bytes);
                let ahead_bytes = match self.step.test {
                    Test::RandomRead | Test::Mix => 0,
                    Test::BackwardRead => -record,
                    Test::StrideRead => record.saturating_mul(suite.stride_records.cast_signed()),
                    _ => record,
                };
                OpenFile::Async(AsyncFile::new(file, depth, ahead_bytes, suite.file_bytes, copied || suite.compare))
            }
        })
    }

    /// Write as far as a mapping needs; the file's position is at the start after it.
    fn extend(&self, file: &OwnedFd) -> Result<(), Errno> {
        let record_bytes = u64::from(self.suite.record_bytes);
        let zeros = Pages::new(record_bytes as usize).map_err(|_| Errno::NOMEM)?;
        let last = self.suite.file_bytes - record_bytes;
        let from = if self.suite.direct { 0 } else { last };
        rustix::fs::seek(file, SeekFrom::Start(from))?;
        for _ in 0..=(last - from) / record_bytes {
            rustix::io::write(file, &zeros.bytes()[..record_bytes as usize])?;
        }
        rustix::fs::seek(file, SeekFrom::Start(0)).map(drop)
    }

    fn act(&self, action: Action, path: &Path, opened: &mut Option<OwnedFd>) -> Result<(), Error> {
        let current = || opened.as_ref().ok_or(Errno::BADF).map_err(failed("examine", path));
        match action {
            Action::Empty => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                let file = self.reach(path, flags, 0)?.map_err(failed("open", path))?;
                rustix::fs::ftruncate(&file, 0).map_err(failed("truncate", path))?;
            }
            Action::Unlink => self.unlink(path)?,
            Action::Create => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC;
                self.reach(path, flags, 0o640)?.map_err(failed("create", path))?;
            }
            Action::Extend => self.extend(current()?).map_err(failed("extend", path))?,
            Action::Open(access) => *opened = Some(self.open_as(access, path)?),
            Action::Fsync => rustix::fs::fsync(current()?).map_err(failed("fsync", path))?,
            Action::DropCache => rustix::fs::fadvise(current()?, 0, None, rustix::fs::Advice::DontNeed)
                .map_err(failed("fadvise", path))?,
            Action::ReadFirst => {
                let mut buffer = Pages::new(self.suite.record_bytes as usize)?;
                rustix::io::read(current()?, buffer.bytes_mut()).map_err(failed("read", path))?;
                rustix::fs::seek(current()?, SeekFrom::Start(0)).map_err(failed("seek in", path))?;
            }
            Action::FsyncBeside => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let second = self.reach(path, flags, 0)?.map_err(failed("open", path))?;
                rustix::fs::fsync(&second).map_err(failed("fsync", path))?;
            }
        }
        Ok(())
    }

    fn open_as(&self, access: Access, path: &Path) -> Result<OwnedFd, Error> {
        let (flags, mode) = match access {
            Access::Read => (OFlags::RDONLY, 0),
            Access::ReadWrite => (OFlags::RDWR, 0),
            Access::Create => (OFlags::RDWR | OFlags::CREATE, 0o640),
            Access::Stream if path.exists() => (OFlags::RDWR, 0),
            Access::Stream => (OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC, 0o666),
        };
        let suite = &self.suite;
        let streamed = self.step.moves == Moves::Stream;
        let mut flags = flags | OFlags::CLOEXEC;
        let writes = access != Access::Read;
        let wanted =
            [(suite.direct, OFlags::DIRECT), (suite.osync && writes, OFlags::SYNC), (suite.dsync && writes, DSYNC)];
        for (_, flag) in wanted.into_iter().filter(|(wanted, _)| *wanted && !streamed) {
            flags |= flag;
        }
        match self.reach(path, flags, mode)? {
            Err(Errno::INVAL) if flags.contains(OFlags::DIRECT) => Err(Error::NoDirect { path: path.to_owned() }),
            opened => opened.map_err(failed("open", path)),
        }
    }

    /// Open a file by its name in its directory, and compare it with the one that an earlier test opened there. It is
    /// emptied only then. Where the directory is not known: whatever is at the path.
    fn reach(&self, path: &Path, flags: OFlags, mode: u32) -> Result<Result<OwnedFd, Errno>, Error> {
        if self.suite.directory.is_none() {
            return Ok(rustix::fs::open(path, flags, Mode::from_raw_mode(mode)));
        }
        let spot = OpenAt::in_directory(path, self.suite.directory)?.expecting(self.known.of(path));
        let opened = spot.open(flags.difference(OFlags::TRUNC), Mode::from_raw_mode(mode))?;
        if let Ok(file) = &opened {
            let own = Identity::of(file).map_err(failed("examine", path))?;
            let moves = self.suite.manner.remount.is_some();
            self.known.lock().insert(path.to_owned(), if moves { own.on_any_device() } else { own });
            if flags.contains(OFlags::TRUNC) {
                rustix::fs::ftruncate(file, 0).map_err(failed("truncate", path))?;
            }
        }
        Ok(opened)
    }

    fn unlink(&self, path: &Path) -> Result<(), Error> {
        let spot = OpenAt::in_directory(path, self.suite.directory)?.expecting(self.known.of(path));
        if self.suite.directory.is_some() {
            let _ = spot.look()?;
        }
        self.known.forget(path);
        match spot.remove() {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(failed("remove", path)(error)),
        }
    }
}

/// `O_DSYNC` alone, from the kernel's `fcntl.h`: the library's flag of that name is `O_SYNC`.
const DSYNC: OFlags = OFlags::from_bits_retain(0o10_000);

/// Offset that would follow a worker's last record, for tests that move the position there.
fn offset_after(workload: &Workload, worker: u32) -> Result<u64, Error> {
    match workload.pattern {
        PatternKind::IozoneStride { .. } => {
            let mut further = workload.clone();
            further.threads = 1;
            further.files = mileage_workload::Files::Shared;
            let operations = workload.operations_of(worker);
            further.stop = mileage_workload::Stop { operations: Some(operations + 1), ..Default::default() };
            let mut execution = Execution::new(&further, 0)?;
            let mut out = Vec::with_capacity(1);
            let mut last = 0;
            while execution.next(0, &mut out) == Turn::Issue {
                last = out[0].offset_bytes;
                out.clear();
                execution.complete(0);
            }
            Ok(last)
        }
        _ => Ok(0),
    }
}
