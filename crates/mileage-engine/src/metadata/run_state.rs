//! State that the workers of a metadata run share, and their results so far.

use super::work_directories::Place;
use super::worker_result::Part;
use crate::error::Error;
use crate::identity::Identity;
use crate::in_flight::HandOver;
use crate::job::{Control, Progress};
use crate::run_context::RunContext;
use crate::start_barrier::StartBarrier;
use crate::start_gate::Gate;
use crate::thread_signals::CacheAligned;
use crate::worker::Tally;
use mileage_workload::{Metadata, MetadataLayout};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The user asked the run to end.
pub(super) const STOPPED: u8 = 1;
/// A worker failed; the others have no reason to continue.
pub(super) const FAILED: u8 = 2;
/// A worker has done all its operations.
pub(super) const FIRST_DONE: u8 = 4;
/// The user asked again: what is there is left there.
pub(super) const ABANDONED: u8 = 8;

/// Options of a metadata run, apart from its workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetadataOptions {
    /// Processors that the workers are bound to, dealt out in turn; empty for the scheduler's choice.
    pub pin_cpus: Vec<u32>,
    /// Time-out of a single call, in nanoseconds; 0 for none. When it expires, the run fails, and the files that it
    /// made are left behind.
    pub timeout_ns: u64,
    /// A directory above the run's own that whole paths are given from, opened once: the kernel then looks up what lies
    /// between the two for every name, and nothing above. `None` for paths as the run's directory was given.
    pub names_from: Option<PathBuf>,
    /// The run's directory or one above it, and what it must be. Symbolic links are not followed then.
    pub within: Option<(PathBuf, Identity)>,
}

/// Results of the workers that have finished.
#[derive(Default)]
pub(super) struct Outcomes {
    parts: Mutex<Vec<Option<Result<Part, Error>>>>,
    pub(super) came_back: Condvar,
}

impl Outcomes {
    // A poisoned lock is taken as it is: parts are stored by one assignment, so that no panic leaves a half-stored one.
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Option<Result<Part, Error>>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn come_back(&self, worker: u32, part: Result<Part, Error>) {
        self.lock()[worker as usize].get_or_insert(part);
        self.came_back.notify_all();
    }
}

/// State that the workers of a run share.
pub(super) struct SharedState {
    pub(super) metadata: Metadata,
    pub(super) options: MetadataOptions,
    pub(super) layout: MetadataLayout,
    pub(super) place: Place,
    pub(super) operations_total: u64,
    /// Start barrier shared with the workers of other processes.
    pub(super) barrier: Option<Arc<StartBarrier>>,
    pub(super) gate: Gate,
    pub(super) all_done: Gate,
    pub(super) halt: CacheAligned<AtomicU8>,
    pub(super) tally: Box<[CacheAligned<Tally>]>,
    /// Items of each worker that the first worker made for it.
    pub(super) made: Box<[CacheAligned<AtomicU64>]>,
    /// Places where the workers hand over their accounting during calls; empty without a watchdog.
    pub(super) hand_overs: Box<[Arc<HandOver<Part>>]>,
    pub(super) outcomes: Outcomes,
    pub(super) context: RunContext,
}

impl SharedState {
    pub(super) fn halt(&self, why: u8) {
        self.halt.0.fetch_or(why, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.halt.0.load(Ordering::Relaxed) & STOPPED != 0
    }

    pub(super) fn may_continue(&self) -> bool {
        self.halt.0.load(Ordering::Relaxed) & (STOPPED | FAILED) == 0
    }
}

impl Control for SharedState {
    fn stop(&self) {
        let before = self.halt.0.fetch_or(STOPPED, Ordering::Relaxed);
        if before & STOPPED != 0 {
            self.halt(ABANDONED);
        }
        if let Some(barrier) = &self.barrier {
            barrier.stop();
        }
    }

    fn progress(&self) -> Progress {
        let sum = |pick: fn(&Tally) -> &AtomicU64| {
            self.tally.iter().map(|tally| pick(&tally.0).load(Ordering::Relaxed)).sum::<u64>()
        };
        Progress {
            bytes: sum(|tally| &tally.bytes),
            operations: sum(|tally| &tally.operations),
            bytes_total: None,
            operations_total: Some(self.operations_total),
        }
    }
}
