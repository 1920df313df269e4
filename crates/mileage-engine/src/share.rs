//! A run whose threads are spread over several processes.
//!
//! Each process does a contiguous part of the workload's threads with [`start_share`]; all begin at one instant (see
//! [`Meeting`]). What each leaves behind, a [`ShareFinished`], holds every histogram and series whole, so that
//! [`merge_shares`] makes the record that the threads of one process would have made.

use crate::data::Laps;
use crate::error::Error;
use crate::handle::{Finished, Handle, start_seats};
use crate::identity::Identity;
use crate::merge::merge;
use crate::options::Options;
use crate::run_context::Facts;
use crate::start_barrier::Meeting;
use crate::worker::Part;
use mileage_workload::{Files, Unobserved, Workload};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The part of a run that one process does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Its first thread, of the workload's.
    pub first_thread: u32,
    /// How many it has.
    pub threads: u32,
    /// The file that [`Meeting::create`] made for the run.
    pub meeting: PathBuf,
}

/// What one share leaves behind, to be merged with the others'.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareFinished {
    pub(crate) first_thread: u32,
    /// The instant at which its threads began, on `CLOCK_MONOTONIC_RAW`: what the times of its parts count from.
    pub(crate) origin_ns: u64,
    /// From reaching for the target to having opened it, on the same clock.
    pub(crate) opening_ns: (u64, u64),
    /// What its threads opened, in their order.
    pub(crate) opened: Vec<Identity>,
    pub(crate) parts: Vec<Part>,
    pub(crate) first_done_ns: u64,
    pub(crate) facts: Facts,
}

/// The seats of one process at a run.
#[derive(Debug)]
pub(crate) struct Seats {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) meeting: Option<Arc<Meeting>>,
}

impl Seats {
    /// All threads of the workload, in this process.
    pub(crate) fn all(workload: &Workload) -> Self {
        Self { first: 0, count: workload.threads, meeting: None }
    }
}

/// Start this process's share of a run; its threads begin when those of all processes are ready. The handle's
/// [`wait_share`](Handle::wait_share) gives what is to be merged; its own record is of this share alone. Stopping it
/// stops the run in all processes.
///
/// A block device is claimed by the process that has thread 0.
///
/// # Errors
/// As [`start`](crate::start), and a share that is no part of the workload or of the meeting. The run is then
/// abandoned in all processes.
pub fn start_share(workload: Workload, options: Options, share: &Share) -> Result<Handle, Error> {
    let meeting = Arc::new(Meeting::join(&share.meeting)?);
    let started = start_at(workload, options, share, &meeting);
    if started.is_err() {
        meeting.abandon();
    }
    started
}

fn start_at(workload: Workload, options: Options, share: &Share, meeting: &Arc<Meeting>) -> Result<Handle, Error> {
    let Share { first_thread, threads, .. } = *share;
    let refuse = |reason| Error::Share { first_thread, threads, of: workload.threads, reason };
    if meeting.threads() != workload.threads {
        return Err(refuse(format!("the meeting was made for {} threads", meeting.threads())));
    }
    let end = first_thread.checked_add(threads);
    if threads == 0 || end.is_none_or(|end| end > workload.threads) {
        return Err(refuse("it is no part of the workload's threads".to_owned()));
    }
    if let Some(log) = &options.log {
        return Err(refuse(format!("its log {} would be written by several processes: leave it out", log.display())));
    }
    if Laps::needed(&workload) && workload.files == Files::Shared {
        let reason = "what other processes write to the file that all share cannot be compared: give each thread a file \
                      of its own, or verify in a run of its own";
        return Err(refuse(reason.to_owned()));
    }
    let seats = Seats { first: first_thread, count: threads, meeting: Some(Arc::clone(meeting)) };
    start_seats(workload, options, seats, |_| Unobserved)
}

impl ShareFinished {
    /// The same on a clock that was zero `by_ns` nanoseconds earlier than the one its times count from: how shares from
    /// machines whose clocks differ come to count from one instant.
    #[must_use]
    pub fn shifted(mut self, by_ns: u64) -> Self {
        self.parts.iter_mut().for_each(|part| part.shift(by_ns));
        if self.first_done_ns != u64::MAX {
            self.first_done_ns += by_ns;
        }
        self
    }
}

/// One record of all shares of a run, in any order. Their times count from one instant, as those of shares that met on
/// one machine do; see [`ShareFinished::shifted`].
///
/// # Errors
/// A thread of the workload is missing, or there twice.
pub fn merge_shares(workload: &Workload, shares: &[ShareFinished]) -> Result<Finished, Error> {
    workload.check()?;
    let mut shares: Vec<&ShareFinished> = shares.iter().collect();
    shares.sort_by_key(|share| share.first_thread);
    let mut next = 0;
    for share in &shares {
        let threads = share.parts.len() as u32;
        if share.first_thread != next {
            let reason = format!("the threads before it end at {next}");
            return Err(Error::Share { first_thread: share.first_thread, threads, of: workload.threads, reason });
        }
        next += threads;
    }
    if next != workload.threads {
        let reason = "the shares together are not all threads".to_owned();
        return Err(Error::Share { first_thread: 0, threads: next, of: workload.threads, reason });
    }
    let first_done_ns = shares.iter().map(|share| share.first_done_ns).min().unwrap_or(u64::MAX);
    let parts: Vec<Part> = shares.iter().flat_map(|share| share.parts.iter().cloned()).collect();
    let facts = Facts::of_all(&shares.iter().map(|share| &share.facts).collect::<Vec<_>>());
    Ok(merge(workload, &parts, first_done_ns, &facts))
}
