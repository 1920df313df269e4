//! A metadata run whose workers are spread over several processes, each with a share: a [`Metadata`] of its own.
//!
//! The processes start together as those of a byte workload do (see [`StartBarrier`]): each makes what its share needs, all begin at one
//! instant. What they leave behind, a [`MetadataShare`], holds every histogram and series whole, so that
//! [`merge_metadata_shares`] makes the record that the workers of one process would have made.

use super::run_state::{MetadataOptions, SharedState};
use super::worker_result::Part;
use super::{merge, notes, ready, run};
use crate::bottleneck::limited_by;
use crate::error::Error;
use crate::job::{Control, Job};
use crate::run_context::Facts;
use crate::start_barrier::StartBarrier;
use mileage_measure::{RunError, RunRecord};
use mileage_workload::{Load, Metadata};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of one process's share of a metadata run, to be merged with the results of the other processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataShare {
    /// The instant at which its workers began, on `CLOCK_MONOTONIC_RAW`: what the times of its parts count from.
    pub(super) origin_ns: u64,
    pub(super) parts: Vec<Part>,
    pub(super) made_badly: Option<RunError>,
    pub(super) interrupted: bool,
    pub(super) notes: Vec<String>,
    pub(super) facts: Facts,
}

/// Start this process's share of a metadata run in the directory at `directory`; its workers begin when those of all
/// shares have arrived at the barrier. Stopping it stops the run in all processes of that barrier.
///
/// # Errors
/// As [`start_metadata`](super::start_metadata), and a file that is not a start barrier. The run is then abandoned in
/// all its processes.
pub fn start_metadata_share(
    metadata: Metadata,
    directory: impl Into<PathBuf>,
    options: MetadataOptions,
    barrier: &Path,
) -> Result<Job<MetadataShare>, Error> {
    let barrier = Arc::new(StartBarrier::join(barrier)?);
    let shared = ready(metadata, &directory.into(), options, Some(Arc::clone(&barrier)));
    let shared = shared.inspect_err(|_| barrier.abandon())?;
    let work = Arc::clone(&shared);
    Job::start(shared as Arc<dyn Control>, move || {
        let share = share_of(&work);
        if share.as_ref().map_or(true, MetadataShare::failed) {
            barrier.abandon();
        }
        share
    })
}

fn share_of(shared: &Arc<SharedState>) -> Result<MetadataShare, Error> {
    let ended = run(shared)?;
    let mut own = merge(&ended.parts, None, false);
    // Remove the series before the notes are made: only the whole run can show whether the rate was steady, not a
    // share.
    own.series.ops.clear();
    notes::add(&mut own, shared, &ended.parts, ended.left);
    Ok(MetadataShare {
        origin_ns: shared.gate.origin_ns().unwrap_or(0),
        parts: ended.parts,
        made_badly: ended.made_badly,
        interrupted: shared.is_stopped(),
        notes: own.notes,
        facts: ended.facts,
    })
}

impl MetadataShare {
    fn failed(&self) -> bool {
        self.made_badly.is_some() || self.parts.iter().any(|part| part.failure.is_some())
    }

    /// The same result on a clock that was zero `by_ns` nanoseconds earlier than the one its times count from. Shares
    /// from machines with different clocks are shifted in this way to count from the same instant.
    #[must_use]
    pub fn shifted(mut self, by_ns: u64) -> Self {
        self.parts.iter_mut().for_each(|part| part.shift(by_ns));
        self
    }
}

/// Merge all shares of a run, in the order of their workers, into one record. Their times count from one instant.
pub fn merge_metadata_shares(shares: &[MetadataShare]) -> RunRecord {
    let parts: Vec<Part> = shares.iter().flat_map(|share| share.parts.iter().cloned()).collect();
    let made_badly = shares.iter().find_map(|share| share.made_badly.clone());
    let facts = Facts::of_all(&shares.iter().map(|share| &share.facts).collect::<Vec<_>>());
    let mut record = merge(&parts, made_badly, shares.iter().any(|share| share.interrupted));
    facts.add_to(&mut record.usage);
    record.usage.limited_by = limited_by(&record, &Load::default(), facts.processors).to_owned();
    let left: u64 = parts.iter().map(|part| part.left).sum();
    if left > 0 {
        record.counters.insert("files_left".to_owned(), left);
    }
    for note in shares.iter().flat_map(|share| &share.notes) {
        if !record.notes.contains(note) {
            record.notes.push(note.clone());
        }
    }
    notes::add_unsteady(&mut record);
    record
}
