//! A workload on files of a host: by the loop that runs workloads on drives, with system calls instead of block requests.
//!
//! Each thread opens the file itself, so that each has its own read-ahead. A write with FUA is one to a file that was opened
//! with `O_DSYNC`; a flush is `fsync` or `fdatasync`; a discard punches a hole.

use crate::call::{Call, CallError, HandleId, OpenHow};
use crate::counters::{GAUGES, NAMES};
use crate::host::Host;
use crate::page_cache::PAGE_BYTES;
use mileage_drive::counter_name_lists::joined;
use mileage_drive::{Completion, Misuse, PageSizes, Refusal, Request, RequestKind, RunnerDevice, Status, run_driven};
use mileage_measure::RunRecord;
use mileage_workload::{Observer, Op, Sync, Workload};

/// Where the work file lies.
pub const WORK_FILE: &str = "work";
/// A record of the program that makes the work file.
const MADE_BYTES: u64 = 1 << 20;
/// The first handle of threads; those below are for single calls.
pub const FIRST_HANDLE: HandleId = 16;

/// How the threads of a run open the work file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMode {
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_DSYNC`.
    pub dsync: bool,
}

/// Why a workload cannot run on a file of a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkFileError {
    /// What the loop refuses.
    #[error(transparent)]
    Run(#[from] mileage_drive::Error),
    /// A call failed.
    #[error("{call}: {error}")]
    Call {
        /// Which.
        call: &'static str,
        /// Why.
        error: CallError,
    },
    /// The file system has no room.
    #[error("the file system has {free_bytes} bytes free: expected the {wanted_bytes} bytes of the work file")]
    NoRoom {
        /// What is free.
        free_bytes: u64,
        /// What is asked for.
        wanted_bytes: u64,
    },
    /// Direct I/O that no kernel does.
    #[error(
        "record_bytes is {record_bytes}: expected a multiple of the drive's sector of {sector_bytes} bytes for direct I/O"
    )]
    NotSectors {
        /// The record.
        record_bytes: u32,
        /// The sector.
        sector_bytes: u32,
    },
}

fn call_failed(call: &'static str) -> impl Fn(CallError) -> WorkFileError {
    move |error| WorkFileError::Call { call, error }
}

impl Host {
    /// Bytes that the file system has free for data.
    pub fn free_bytes(&self) -> u64 {
        let files = self.files();
        files.allocator.free_blocks().saturating_sub(files.delayed) * PAGE_BYTES
    }

    /// Make the work file at least so long: what is missing is written in sequence and does not compress, then everything is
    /// synced and the cache emptied.
    ///
    /// # Errors
    /// No room, or the drive fails.
    pub fn make_work_file(&mut self, bytes: u64) -> Result<(), WorkFileError> {
        let found = self.files().resolve(WORK_FILE).ok().and_then(|(_, _, file)| file);
        let have = found.map_or(0, |file| self.files().inode(file).size);
        if bytes <= have {
            return Ok(());
        }
        let free_bytes = self.free_bytes();
        if bytes - have > free_bytes {
            return Err(WorkFileError::NoRoom { free_bytes, wanted_bytes: bytes - have });
        }
        self.change_content(PageSizes::default()).map_err(call_failed("sync"))?;
        let how = OpenHow { create: true, ..OpenHow::default() };
        self.call(Call::Open { path: WORK_FILE.to_owned(), handle: 0, how }).map_err(call_failed("open"))?;
        let mut offset = have;
        while offset < bytes {
            let length = MADE_BYTES.min(bytes - offset);
            self.call(Call::Write { handle: 0, offset, length }).map_err(call_failed("write"))?;
            offset += length;
        }
        self.call(Call::Sync { handle: 0, data_only: false }).map_err(call_failed("fsync"))?;
        self.call(Call::Close { handle: 0 }).map_err(call_failed("close"))?;
        self.empty_caches().map(|_| ())
    }

    /// Read the work file from end to end through the cache.
    ///
    /// # Errors
    /// There is none, or the drive fails.
    pub fn fill_cache(&mut self) -> Result<(), WorkFileError> {
        let how = OpenHow::default();
        self.call(Call::Open { path: WORK_FILE.to_owned(), handle: 0, how }).map_err(call_failed("open"))?;
        let found = self.files().resolve(WORK_FILE).ok().and_then(|(_, _, file)| file);
        let size = found.map_or(0, |file| self.files().inode(file).size);
        for offset in (0..size).step_by(MADE_BYTES as usize) {
            self.call(Call::Read { handle: 0, offset, length: MADE_BYTES }).map_err(call_failed("read"))?;
        }
        self.call(Call::Close { handle: 0 }).map(|_| ()).map_err(call_failed("close"))
    }

    /// Write everything that is dirty, and empty the cache.
    ///
    /// # Errors
    /// The drive fails.
    pub fn empty_caches(&mut self) -> Result<u64, WorkFileError> {
        self.call(Call::SyncAll).map_err(call_failed("sync"))?;
        self.call(Call::DropCaches).map_err(call_failed("drop_caches"))
    }
}

/// Run a workload on the work file, which is long enough. `poll` is as in [`mileage_drive::run()`].
///
/// # Errors
/// The workload cannot run on it. What the drive or the file system refuses during the run ends it with `error` set in the
/// record.
pub fn run<O: Observer>(
    host: &mut Host,
    workload: &Workload,
    opening: OpenMode,
    observer: &mut O,
    poll: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<RunRecord, WorkFileError> {
    workload.check().map_err(mileage_drive::Error::from)?;
    host.make_work_file(workload.span_start_bytes + workload.span_bytes)?;
    let sector_bytes = host.device().sector_bytes();
    if opening.direct && !workload.is_aligned_to(sector_bytes) {
        return Err(WorkFileError::NotSectors { record_bytes: workload.record_bytes, sector_bytes });
    }
    if let Some(content) = host.content_of(workload) {
        host.change_content(content).map_err(call_failed("sync"))?;
    }
    let dsync = opening.dsync || workload.sync == Sync::Fua;
    let how = OpenHow { direct: opening.direct, dsync, ..OpenHow::default() };
    for handle in (FIRST_HANDLE..).take(workload.threads as usize) {
        host.call(Call::Open { path: WORK_FILE.to_owned(), handle, how }).map_err(call_failed("open"))?;
    }
    let data_only = workload.sync == Sync::Fdatasync;
    let driven = WorkFileDriver {
        host,
        data_only,
        dsync,
        ended: Vec::new(),
        sector_bytes: if opening.direct { sector_bytes } else { 1 },
    };
    let outcome = run_driven(driven, workload, observer, poll);
    for handle in (FIRST_HANDLE..).take(workload.threads as usize) {
        host.call(Call::Close { handle }).map_err(call_failed("close"))?;
    }
    Ok(outcome?)
}

/// The work file as the loop sees it.
struct WorkFileDriver<'a> {
    host: &'a mut Host,
    data_only: bool,
    dsync: bool,
    sector_bytes: u32,
    ended: Vec<(u32, u64, Result<(), CallError>)>,
}

impl WorkFileDriver<'_> {
    fn completion(&self, end_ns: u64, result: &Result<(), CallError>) -> Completion {
        let status = match result {
            Ok(()) => Status::Done,
            Err(_) => self.host.status.unwrap_or(Status::Refused(Refusal::DroppedOff { at_ns: end_ns })),
        };
        Completion { complete_ns: end_ns, status }
    }
}

impl RunnerDevice for WorkFileDriver<'_> {
    const AT_ONCE: bool = false;

    fn capacity_bytes(&self) -> u64 {
        let found = self.host.files().resolve(WORK_FILE).ok().and_then(|(_, _, file)| file);
        found.map_or(0, |file| self.host.files().inode(file).pages().into()) * PAGE_BYTES
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn writes_durably(&self) -> bool {
        self.dsync
    }

    fn now_ns(&self) -> u64 {
        self.host.now_ns()
    }

    fn advance_to(&mut self, now_ns: u64) {
        self.host.advance_to(now_ns);
    }

    #[inline]
    fn submit(&mut self, request: &Request, place: u32, thread: u32) -> Option<Completion> {
        let handle = FIRST_HANDLE + thread;
        let (offset, length) = (request.offset_bytes, request.length_bytes);
        let call = match request.kind {
            RequestKind::Read => Call::Read { handle, offset, length },
            RequestKind::Write => Call::Write { handle, offset, length },
            RequestKind::Flush => Call::Sync { handle, data_only: self.data_only },
            RequestKind::Discard => Call::Punch { handle, offset, length },
        };
        let (end_ns, result) = self.host.begin(place, call, request.submit_ns)?;
        Some(self.completion(end_ns, &result))
    }

    fn collect(&mut self, before_ns: u64, ended: &mut Vec<(u32, Completion)>) -> bool {
        if before_ns == u64::MAX && self.host.pending() == 0 {
            return false;
        }
        let was_any = self.host.run_next(before_ns);
        if !self.host.done.is_empty() {
            std::mem::swap(&mut self.ended, &mut self.host.done);
            ended.extend(self.ended.iter().map(|(place, end_ns, result)| (*place, self.completion(*end_ns, result))));
            self.ended.clear();
        }
        was_any
    }

    fn misuse(&self) -> Option<Misuse> {
        self.host.misuse()
    }

    fn prefetch(&mut self, _: &[Op], _: &[Op]) {}

    fn look_at_content(&mut self, _: Option<&Workload>) -> bool {
        false
    }

    fn begin_lap(&mut self, _: u32) {}

    fn counter_names(&self) -> &'static [&'static str] {
        self.host.counter_names()
    }

    fn counters(&self, out: &mut [u64]) {
        self.host.counters(out);
    }

    fn gauges(&self, out: &mut [u64]) {
        self.host.gauges(out);
    }

    fn series_names(&self) -> &'static [&'static str] {
        joined(&[self.host.counter_names(), self.host.gauge_names()])
    }
}

impl Host {
    /// Names of the host's counters, and behind them those of the drive.
    pub fn counter_names(&self) -> &'static [&'static str] {
        joined(&[NAMES, self.device.counter_names()])
    }

    /// The counters, in the order of their names.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    pub fn counters(&self, out: &mut [u64]) {
        let (own, of_drive) = out.split_at_mut(NAMES.len());
        own.copy_from_slice(&self.own_counters());
        self.device.counters(of_drive);
    }

    /// Names of the host's gauges, and behind them those of the drive.
    pub fn gauge_names(&self) -> &'static [&'static str] {
        joined(&[GAUGES, self.device.gauge_names()])
    }

    /// The gauges, in the order of their names.
    ///
    /// # Panics
    /// When `out` has another length than the names: a programmer's mistake.
    pub fn gauges(&self, out: &mut [u64]) {
        let (own, of_drive) = out.split_at_mut(GAUGES.len());
        own.copy_from_slice(&self.own_gauges());
        self.device.gauges(of_drive);
    }

    /// Counters with their names.
    pub fn named_counters(&self) -> Vec<(&'static str, u64)> {
        let mut values = vec![0; self.counter_names().len()];
        self.counters(&mut values);
        self.counter_names().iter().copied().zip(values).collect()
    }

    /// Gauges with their names.
    pub fn named_gauges(&self) -> Vec<(&'static str, u64)> {
        let mut values = vec![0; self.gauge_names().len()];
        self.gauges(&mut values);
        self.gauge_names().iter().copied().zip(values).collect()
    }
}
