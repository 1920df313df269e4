//! State that the threads of a run share.

use super::failure::Failure;
use super::interim::InterimParts;
use super::thread_result::Part;
use crate::data::Laps;
use crate::error::Error;
use crate::identity::Identity;
use crate::in_flight::HandOver;
use crate::log::Log;
use crate::options::{Api, Options};
use crate::run_context::RunContext;
use crate::start_gate::Gate;
use crate::target;
use crate::thread_range::ThreadRange;
use crate::thread_signals::{CacheAligned, Signals};
use mileage_measure::RunError;
use mileage_workload::{Files, Workload};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Operations and bytes that a thread has completed so far, for the progress display.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: AtomicU64,
    pub(crate) operations: AtomicU64,
}

/// Files that the workers of a run open themselves, before the clock, each with a workload of its own.
pub(crate) trait WorkerFiles: std::fmt::Debug + Send + Sync {
    /// The file of a worker.
    fn path_of(&self, worker: u32) -> PathBuf;

    /// The workload of a worker.
    fn workload_of(&self, worker: u32) -> Workload;

    /// Open the worker's file and do its part of the run, by [`super::work_by_calls`].
    fn work(self: Arc<Self>, shared: &SharedState, worker: u32) -> Result<Part, Error>;
}

/// State that the threads of a run share.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) workload: Workload,
    pub(crate) options: Options,
    /// Lap of every unit, for each file that threads here work on; empty unless the run writes and compares.
    laps: Box<[Arc<Laps>]>,
    pub(crate) gate: Gate,
    /// The threads of the run that are in this process.
    pub(crate) thread_range: ThreadRange,
    pub(crate) context: RunContext,
    /// From reaching for the target to having opened it for every thread, on the engine's clock.
    pub(crate) opening_ns: (u64, u64),
    /// Identities of the opened files, in the order of the threads.
    pub(crate) opened: Vec<Identity>,
    /// Log of single operations, if requested.
    pub(crate) log: Option<Log>,
    /// Signals of a run that has all its threads in this process; [`SharedState::signals`] chooses.
    pub(crate) own_signals: Signals,
    pub(crate) tally: Box<[CacheAligned<Tally>]>,
    /// Copies of the threads' accounting, for who asks while the run is in progress.
    pub(crate) interim: InterimParts,
    /// Places where the threads hand over their accounting during calls; empty without a watchdog.
    pub(crate) hand_overs: Box<[Arc<HandOver<Part>>]>,
    /// Set when the workers open their files themselves.
    pub(crate) tests: Option<Arc<dyn WorkerFiles>>,
}

impl SharedState {
    /// The threads of `workload` that have `thread_range`.
    pub(crate) fn new(workload: Workload, options: Options, thread_range: ThreadRange, context: RunContext) -> Self {
        let watched = if options.timeout_ns > 0 { thread_range.count } else { 0 };
        let known = if Laps::needed(&workload) { Laps::files(&workload).min(thread_range.count) } else { 0 };
        Self {
            laps: (0..known).map(|_| Arc::new(Laps::new(&workload))).collect(),
            gate: Gate::at(thread_range.barrier.clone(), thread_range.count),
            own_signals: Signals::default(),
            tally: (0..thread_range.count).map(|_| CacheAligned::default()).collect(),
            interim: InterimParts::of(thread_range.count),
            hand_overs: (0..watched).map(|_| Arc::new(HandOver::new())).collect(),
            tests: None,
            log: None,
            context,
            opening_ns: (0, 0),
            opened: Vec::new(),
            thread_range,
            workload,
            options,
        }
    }

    /// The signals between the threads of the run, in this process or across several.
    pub(crate) fn signals(&self) -> &Signals {
        self.thread_range.barrier.as_ref().map_or(&self.own_signals, |barrier| barrier.signals())
    }

    pub(crate) fn halt(&self, why: u8) {
        self.signals().halt(why);
    }

    /// The place of one of the workload's threads among those of this process.
    pub(crate) fn place_of(&self, thread: u32) -> usize {
        (thread - self.thread_range.first) as usize
    }

    /// The laps of the file that this thread works on; no two threads have one file where each has its own.
    pub(crate) fn laps_of(&self, thread: u32) -> Option<&Arc<Laps>> {
        self.laps.get(if self.workload.files == Files::PerThread { self.place_of(thread) } else { 0 })
    }

    /// The file that this thread works on.
    pub(crate) fn path_of(&self, thread: u32) -> PathBuf {
        if let Some(tests) = &self.tests {
            return tests.path_of(thread);
        }
        match self.workload.files {
            Files::Shared => self.options.path.clone(),
            Files::PerThread => target::path_of(&self.options.path, self.workload.file_of(thread)),
        }
    }
}

impl SharedState {
    /// Workload of this thread: that of the run, or its own where the workers open their files themselves.
    pub(super) fn workload_of(&self, thread: u32) -> Cow<'_, Workload> {
        self.tests.as_ref().map_or(Cow::Borrowed(&self.workload), |tests| Cow::Owned(tests.workload_of(thread)))
    }

    /// An operation of a thread that did not complete, for the record.
    #[cold]
    pub(super) fn describe(&self, failure: &Failure, thread: u32) -> RunError {
        failure.describe(&self.path_of(thread), self.options.api == Api::Mmap, self.workload.sync)
    }
}
