//! Runs whose threads are spread over several processes: each process starts its share.
//!
//! Each process does a contiguous part of the workload's threads with [`start_share`]; all begin at one instant (see
//! [`StartBarrier`]). What each leaves behind, a [`ShareResult`](crate::ShareResult), holds every histogram and series
//! whole, so that [`merge_shares`](crate::merge_shares) makes the record that the threads of one process would have made.

use crate::data::Laps;
use crate::error::Error;
use crate::options::Options;
use crate::run_handle::{Handle, start_range};
use crate::start_barrier::StartBarrier;
use crate::thread_range::ThreadRange;
use mileage_workload::{Files, NoObserver, Workload};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The part of a run that one process does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Number of this process's first thread among all threads of the workload, from 0.
    pub first_thread: u32,
    /// Number of threads that this process runs.
    pub threads: u32,
    /// The file that [`StartBarrier::create`] made for the run.
    pub barrier: PathBuf,
}

/// Start this process's share of a run; its threads begin when those of all processes are ready. The handle's
/// [`wait_share`](Handle::wait_share) gives what is to be merged; its own record is of this share alone. Stopping it
/// stops the run in all processes.
///
/// A block device is claimed by the process that has thread 0.
///
/// # Errors
/// As [`start`](crate::start), and a share that is no part of the workload or of the barrier. The run is then
/// abandoned in all processes.
pub fn start_share(workload: Workload, options: Options, share: &Share) -> Result<Handle, Error> {
    let barrier = Arc::new(StartBarrier::join(&share.barrier)?);
    let started = start_at(workload, options, share, &barrier);
    if started.is_err() {
        barrier.abandon();
    }
    started
}

impl Share {
    fn refused(&self, workload: &Workload, reason: String) -> Error {
        Error::Share { first_thread: self.first_thread, threads: self.threads, of: workload.threads, reason }
    }

    /// The threads of this share, which meet the others at `barrier`.
    ///
    /// # Errors
    /// A share that is no part of the workload, or of the barrier.
    pub(crate) fn range_of(&self, workload: &Workload, barrier: &Arc<StartBarrier>) -> Result<ThreadRange, Error> {
        if barrier.threads() != workload.threads {
            return Err(self.refused(workload, format!("the barrier was made for {} threads", barrier.threads())));
        }
        let end = self.first_thread.checked_add(self.threads);
        if self.threads == 0 || end.is_none_or(|end| end > workload.threads) {
            return Err(self.refused(workload, "it is no part of the workload's threads".to_owned()));
        }
        Ok(ThreadRange { first: self.first_thread, count: self.threads, barrier: Some(Arc::clone(barrier)) })
    }
}

fn start_at(workload: Workload, options: Options, share: &Share, barrier: &Arc<StartBarrier>) -> Result<Handle, Error> {
    let thread_range = share.range_of(&workload, barrier)?;
    if let Some(log) = &options.log {
        let reason = format!("its log {} would be written by several processes: leave it out", log.display());
        return Err(share.refused(&workload, reason));
    }
    if Laps::needed(&workload) && workload.files == Files::Shared {
        let reason = "what other processes write to the file that all share cannot be compared: give each thread a file \
                      of its own, or verify in a run of its own";
        return Err(share.refused(&workload, reason.to_owned()));
    }
    start_range(workload, options, thread_range, |_| NoObserver)
}
