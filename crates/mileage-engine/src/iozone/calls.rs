//! The calls of one worker in one test: those that move records, those that end the test inside its clock, and those
//! that come after.

use super::manner::MappedFlush;
use super::record_extras::RecordExtras;
use super::steps::{Moves, TestEnd};
use crate::api::Transfer;
use crate::api::mmap::MappedWindow;
use crate::api::posix_aio::AsyncFile;
use crate::api::stream::Stream;
use crate::clock;
use crate::errno;
use mileage_measure::RunError;
use mileage_workload::{Op, Sync};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Start and end of each worker of a test, and its error; not part of the record.
#[derive(Debug)]
pub(super) struct TestTimes {
    began_ns: AtomicU64,
    ended_ns: AtomicU64,
    error: Mutex<Option<RunError>>,
}

impl Default for TestTimes {
    fn default() -> Self {
        Self { began_ns: AtomicU64::new(u64::MAX), ended_ns: AtomicU64::new(0), error: Mutex::default() }
    }
}

impl TestTimes {
    /// From the first call of any worker to the last close of any, in nanoseconds: what IOzone's parent waits for.
    pub(super) fn whole_ns(&self) -> u64 {
        let (began_ns, ended_ns) = self.span_ns();
        ended_ns.saturating_sub(began_ns)
    }

    /// The first call of any worker and the last close of any, on the engine's clock; `u64::MAX` and 0 without one.
    pub(super) fn span_ns(&self) -> (u64, u64) {
        (self.began_ns.load(Ordering::Relaxed), self.ended_ns.load(Ordering::Relaxed))
    }

    /// Error that occurred after the timed part.
    pub(super) fn error(&self) -> Option<RunError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Open file or stream through which records are moved.
#[derive(Debug)]
pub(super) enum OpenFile {
    File(OwnedFd),
    Stream(Stream),
    Mapped(MappedWindow, MappedFlush),
    Async(AsyncFile),
    Closed,
}

impl OpenFile {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::File(file) => Some(file.as_fd()),
            Self::Mapped(window, _) => Some(window.as_fd()),
            Self::Async(file) => Some(file.as_fd()),
            Self::Stream(_) | Self::Closed => None,
        }
    }
}

/// One worker's file in a test.
#[derive(Debug)]
pub(crate) struct TestFile {
    pub(super) opened: OpenFile,
    pub(super) path: PathBuf,
    pub(super) moves: Moves,
    pub(super) record_bytes: u64,
    /// Position to seek to after the last record.
    pub(super) last_seek_bytes: u64,
    pub(super) ending: TestEnd,
    pub(super) ends: Arc<TestTimes>,
    pub(super) extras: Option<Box<RecordExtras>>,
    /// Compute cycle before each record.
    pub(super) compute_ns: u64,
    /// The record for which the position was moved last; a call that is made again does not move it again.
    pub(super) sought: Option<u64>,
    pub(super) began: bool,
    pub(super) finished: bool,
}

impl TestFile {
    /// Move the file position to a record, in the way of the test (for example, two records back from the current one).
    #[inline]
    fn go(&mut self, offset_bytes: u64) -> Result<(), Errno> {
        let inside = !offset_bytes.is_multiple_of(self.record_bytes);
        if self.sought == Some(offset_bytes) || inside {
            return Ok(());
        }
        let first = !self.began;
        self.begin();
        let back = -2 * self.record_bytes.cast_signed();
        let to = match self.moves {
            Moves::SeekFirst => SeekFrom::Start(offset_bytes),
            Moves::SeekAfter if !first => SeekFrom::Start(offset_bytes),
            Moves::StepBack if first => SeekFrom::End(-self.record_bytes.cast_signed()),
            Moves::StepBack => SeekFrom::Current(back),
            _ => return Ok(()),
        };
        self.seek(to)?;
        self.sought = Some(offset_bytes);
        Ok(())
    }

    fn seek(&self, to: SeekFrom) -> Result<(), Errno> {
        match &self.opened {
            OpenFile::File(file) => rustix::fs::seek(file, to).map(drop),
            _ => Ok(()),
        }
    }

    #[inline]
    fn begin(&mut self) {
        if !self.began {
            self.began = true;
            self.ends.began_ns.fetch_min(clock::now_ns(), Ordering::Relaxed);
        }
    }

    /// What is done before a record of `length` bytes, where there is anything.
    #[inline]
    fn approach(&mut self, offset_bytes: u64, length: usize) -> Result<(), Errno> {
        if let Some(extras) = &mut self.extras
            && offset_bytes.is_multiple_of(self.record_bytes)
        {
            extras.before(self.opened.fd(), length)?;
        }
        self.go(offset_bytes)
    }

    #[inline]
    fn leave(&mut self, offset_bytes: u64, length: usize) -> Result<(), Errno> {
        self.sought = None;
        self.extras.as_mut().map_or(Ok(()), |extras| extras.after(offset_bytes, length))
    }

    fn fsync(&mut self) -> Result<(), Errno> {
        match &mut self.opened {
            OpenFile::Mapped(window, _) => window.sync(Sync::Fsync),
            OpenFile::Async(file) => {
                file.finish()?;
                rustix::fs::fsync(file)
            }
            OpenFile::File(file) => rustix::fs::fsync(file),
            OpenFile::Stream(stream) => stream.sync(Sync::Fsync),
            OpenFile::Closed => Ok(()),
        }
    }

    #[cold]
    fn close(&mut self) {
        self.opened = OpenFile::Closed;
    }
}

impl Transfer for TestFile {
    const CALLS: u64 = 1;
    const ENDS_IN_TIME: bool = true;
    const COMPUTES: bool = true;

    #[inline]
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.approach(offset_bytes, into.len())?;
        let read = match (&mut self.opened, self.moves) {
            (OpenFile::Mapped(window, _), _) => window.read(offset_bytes, into),
            (OpenFile::Async(file), _) => file.read(offset_bytes, into),
            (OpenFile::File(file), Moves::Positioned) => rustix::io::pread(file, into, offset_bytes),
            (OpenFile::File(file), _) => rustix::io::read(file, into),
            (OpenFile::Stream(stream), _) => stream.read(offset_bytes, into),
            (OpenFile::Closed, _) => Err(Errno::BADF),
        }?;
        self.leave(offset_bytes, read)?;
        Ok(read)
    }

    #[inline]
    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        self.approach(offset_bytes, from.len())?;
        let written = match (&mut self.opened, self.moves) {
            (OpenFile::Mapped(window, flush), _) => {
                let flush = *flush;
                window.write(offset_bytes, from).and_then(|count| {
                    if flush != MappedFlush::None {
                        window.flush(offset_bytes, count, flush == MappedFlush::Wait)?;
                    }
                    Ok(count)
                })
            }
            (OpenFile::Async(file), _) => file.write(offset_bytes, from),
            (OpenFile::File(file), Moves::Positioned) => rustix::io::pwrite(file, from, offset_bytes),
            (OpenFile::File(file), _) => rustix::io::write(file, from),
            (OpenFile::Stream(stream), _) => stream.write(offset_bytes, from),
            (OpenFile::Closed, _) => Err(Errno::BADF),
        }?;
        self.leave(offset_bytes, written)?;
        Ok(written)
    }

    fn sync(&mut self, _how: Sync) -> Result<(), Errno> {
        self.last_seek()?;
        self.fsync()
    }

    fn command(&mut self, _op: &Op) -> Result<(), Errno> {
        // IOzone has no test that discards; only the trait asks for this method.
        Err(Errno::OPNOTSUPP)
    }

    #[inline]
    fn compute_ns(&mut self) -> u64 {
        if self.compute_ns > 0 && !self.began {
            self.ends.began_ns.fetch_min(clock::now_ns(), Ordering::Relaxed);
        }
        self.compute_ns
    }

    fn finish(&mut self) -> Result<(), Errno> {
        self.last_seek()?;
        match &mut self.opened {
            OpenFile::Stream(stream) => stream.finish()?,
            OpenFile::Async(file) => file.finish()?,
            _ => {}
        }
        if let Some(extras) = &mut self.extras {
            extras.finish()?;
        }
        if self.ending.flush_reads {
            self.fsync()?;
        }
        if self.ending.close_inside {
            self.close();
        }
        self.finished = true;
        Ok(())
    }
}

impl TestFile {
    /// The move that follows the last record, once.
    #[cold]
    fn last_seek(&mut self) -> Result<(), Errno> {
        let moved = match self.moves {
            Moves::SeekAfter => self.seek(SeekFrom::Start(self.last_seek_bytes)),
            Moves::StepBack => match self.seek(SeekFrom::Current(-2 * self.record_bytes.cast_signed())) {
                // Ignore EINVAL: after the last record of a backward test the position would be before the start of the
                // file.
                Err(Errno::INVAL) => Ok(()),
                moved => moved,
            },
            _ => return Ok(()),
        };
        moved?;
        self.moves = Moves::InOrder;
        Ok(())
    }
}

impl Drop for TestFile {
    /// Finish the file at the end of a test: after a successful test do its untimed last steps (such as `fsync`), after a
    /// failed or stopped one only close the file.
    fn drop(&mut self) {
        if self.finished
            && self.ending.flush_after
            && let Err(error) = self.fsync()
        {
            let (kind, sentence, advice) = (errno::name(error), errno::sentence(error), errno::advice(error));
            let message = format!("fsync of {} after the test: {sentence} ({kind}){advice}", self.path.display());
            let mut slot = self.ends.error.lock().unwrap_or_else(PoisonError::into_inner);
            slot.get_or_insert(RunError { kind, message });
        }
        self.close();
        self.ends.ended_ns.fetch_max(clock::now_ns(), Ordering::Relaxed);
    }
}
