//! Run a metadata workload in a real directory: create, stat, rename and remove files instead of reading and writing data.
//!
//! [`start_metadata`] refuses what the directory cannot honour, then returns a [`Job`] at once. The run makes its
//! directories and whatever the operation needs; its workers begin together; each operation is timed from the end of
//! the one before, as in byte workloads; when all workers are done, each removes its own files, and then the
//! directories are removed. The record's times exclude set-up and clean-up.
//!
//! `run_state` is what the workers share, `worker_result` the result of each, `worker` one worker from set-up to clean-up,
//! `supervisor` starts and awaits the worker threads, `calls` has their system calls, `work_directories` the run's directories,
//! `notes` what a reader of the figures should know.
//!
//! # Invariants
//! * What the run made is removed, after an error and an interruption too, or its remains are counted
//!   (`counters.files_left`) and named in a note. *Guard:* the tests look into the directory after every kind of end.
//! * A file that was there before is never removed, unless the workload says that it works on existing files.
//! * The timed loop allocates nothing: paths are written into buffers made before. *Guard:* the bench `metadata_loop`
//!   holds it against a bare loop.
//!
//! # Refused here
//! Hard links, symbolic links, extended attributes: no operation asks for them.

#[expect(clippy::disallowed_methods, reason = "names below a directory that was compared")]
mod calls;
mod notes;
mod process_share;
mod run_state;
mod supervisor;
#[expect(clippy::disallowed_methods, reason = "directories of names, in one that was compared")]
mod work_directories;
mod worker;
mod worker_result;

pub use process_share::{MetadataShare, merge_metadata_shares, start_metadata_share};
pub use run_state::MetadataOptions;

use crate::bottleneck::limited_by;
use crate::clock;
use crate::cpu_affinity;
use crate::error::Error;
use crate::error::failed;
use crate::in_flight::HandOver;
use crate::job::{Control, Job};
use crate::run_context::{Facts, RunContext};
use crate::start_barrier::StartBarrier;
use crate::start_gate::Gate;
use crate::thread_signals::CacheAligned;
use crate::time_limit::within;
use mileage_measure::{Concurrency, Histogram, LatencyData, RunError, RunRecord, Usage};
use mileage_workload::{Load, Metadata, MetadataLayout, MetadataVisits, Place as PlaceKind, SetUp};
use run_state::{ABANDONED, FAILED, Outcomes, SharedState};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use supervisor::work_together;
use work_directories::{Made, Place};
use worker_result::Part;

/// Start a metadata run in the directory at `directory`. Returns at once; the job's result is the record.
///
/// An input or output error during the run, its set-up included, stands in the record. Dropping the job ends the run; to
/// see its files removed, wait for it.
///
/// # Errors
/// A workload that breaks a rule, or a directory or processor that cannot be used. Nothing is left behind then.
pub fn start_metadata(
    metadata: Metadata,
    directory: impl Into<PathBuf>,
    options: MetadataOptions,
) -> Result<Job<RunRecord>, Error> {
    let shared = ready(metadata, &directory.into(), options, None)?;
    Job::start(Arc::clone(&shared) as Arc<dyn Control>, move || record_of(&shared))
}

/// Prepare the state that the workers of a run share, once the directory is known to be usable.
fn ready(
    metadata: Metadata,
    directory: &Path,
    options: MetadataOptions,
    barrier: Option<Arc<StartBarrier>>,
) -> Result<Arc<SharedState>, Error> {
    let layout = MetadataLayout::new(&metadata)?;
    cpu_affinity::check(&options.pin_cpus)?;
    let visits = |worker| MetadataVisits::total_of(&metadata, &layout, worker);
    let operations_total = (0..metadata.threads).map(visits).fold(0, u64::saturating_add);
    let (fresh, timeout_ns) = (metadata.place == PlaceKind::Fresh, options.timeout_ns);
    let given = directory.to_owned();
    let pins = options.pin_cpus.clone();
    let context = within(timeout_ns, move || RunContext::of(Some(&given), &pins));
    let context = context.or_else(|missed| missed.if_late(|| RunContext::of(None, &options.pin_cpus)))?;
    let (given, names_from, known) = (directory.to_owned(), options.names_from.clone(), options.within.clone());
    let place = within(timeout_ns, move || Place::take(&given, names_from.as_deref(), fresh, known.as_ref()));
    let late = || Err(failed("open the directory", directory)(Errno::TIMEDOUT));
    let place = place.or_else(|missed| missed.if_late(late))??;
    let (threads, watched) = (metadata.threads, if timeout_ns > 0 { metadata.threads } else { 0 });
    Ok(Arc::new(SharedState {
        layout,
        place,
        operations_total,
        gate: Gate::at(barrier.clone(), threads),
        barrier,
        all_done: Gate::new(threads),
        halt: CacheAligned::default(),
        tally: (0..threads).map(|_| CacheAligned::default()).collect(),
        made: (0..threads).map(|_| CacheAligned::default()).collect(),
        hand_overs: (0..watched).map(|_| Arc::new(HandOver::new())).collect(),
        outcomes: Outcomes::default(),
        context,
        metadata,
        options,
    }))
}

/// Result of all workers in this process, for a run or a share of it.
struct WorkersEnd {
    parts: Vec<Part>,
    /// Error when its directories were made.
    made_badly: Option<RunError>,
    facts: Facts,
    /// Reason why directories were left behind.
    left: Option<String>,
}

/// The record of a run whose workers are all in this process.
fn record_of(shared: &Arc<SharedState>) -> Result<RunRecord, Error> {
    let WorkersEnd { parts, made_badly, facts, left } = run(shared)?;
    let mut record = merge(&parts, made_badly, shared.is_stopped());
    facts.add_to(&mut record.usage);
    record.usage.limited_by = limited_by(&record, &Load::default(), facts.processors).to_owned();
    notes::add(&mut record, shared, &parts, left);
    Ok(record)
}

/// The whole run, on the job's own thread.
fn run(shared: &Arc<SharedState>) -> Result<WorkersEnd, Error> {
    let timeout_ns = shared.options.timeout_ns;
    let its = Arc::clone(shared);
    let prepared = within(timeout_ns, move || its.place.make(&its.layout, || its.may_continue()));
    let late = || (Made::default(), Some(supervisor::overdue(shared, timeout_ns)));
    let (mut made, failure) = prepared.or_else(|missed| missed.if_late(late))?;
    if shared.metadata.set_up == SetUp::Existing {
        made = Made::all(&shared.layout);
    }
    if failure.is_some() {
        shared.halt(FAILED);
    }
    shared.context.begin();
    let parts = if shared.may_continue() { work_together(shared) } else { Ok(Vec::new()) };
    let facts = shared.context.end();
    let abandoned = shared.halt.0.load(Ordering::Relaxed) & ABANDONED != 0;
    let left = match (shared.metadata.keep, abandoned) {
        (true, _) => None,
        (false, true) => Some("the run was given up".to_owned()),
        (false, false) => shared.place.remove(&made),
    };
    Ok(WorkersEnd { parts: parts?, made_badly: failure, facts, left })
}

/// The record of a run whose workers have all come back.
fn merge(parts: &[Part], made_badly: Option<RunError>, interrupted: bool) -> RunRecord {
    let first_ns = parts.iter().filter_map(|part| part.first_ns).min().unwrap_or(0);
    let last_ns = parts.iter().map(|part| part.last_ns).max().unwrap_or(0).max(first_ns);
    let series = parts.iter().map(|part| part.series.clone()).reduce(|mut all, part| {
        all.merge(&part);
        all
    });
    let failure = parts.iter().filter_map(|part| part.failure.clone()).min_by_key(|(at_ns, _)| *at_ns);
    let sum = |pick: fn(&Part) -> u64| parts.iter().map(pick).sum::<u64>();
    let mut sync = Histogram::default();
    parts.iter().for_each(|part| sync.merge(&part.sync));
    let mut counters = BTreeMap::new();
    let entries = sum(|part| part.entries);
    if entries > 0 {
        counters.insert("entries".to_owned(), entries);
    }
    let mut usage = Usage { clock: clock::name().to_owned(), ..Usage::default() };
    parts.iter().for_each(|part| part.spent.add_to(&mut usage));
    RunRecord {
        bytes_read: sum(|part| part.record.bytes_read),
        bytes_written: sum(|part| part.record.bytes_written),
        ops_metadata: sum(|part| part.record.ops_metadata),
        submit_ns: last_ns - first_ns,
        durable_ns: last_ns - first_ns,
        elapsed_ns: last_ns - first_ns,
        latency: LatencyData {
            metadata: series.as_ref().map(|series| series.latency().to_data()).unwrap_or_default(),
            sync: sync.to_data(),
            ..LatencyData::default()
        },
        series: series.map(|series| series.to_data()).unwrap_or_default(),
        counters,
        threads: parts.iter().map(|part| part.record.clone()).collect(),
        usage,
        concurrency: concurrency(parts, first_ns),
        error: made_badly.or(failure.map(|(_, error)| error)),
        interrupted,
        ..RunRecord::default()
    }
}

/// Work of all workers up to the end of the first one; a worker that never saw that end was done before it looked
/// again.
fn concurrency(parts: &[Part], first_ns: u64) -> Option<Concurrency> {
    let first_done = parts.iter().find(|part| part.was_first_done).filter(|_| parts.len() > 1)?;
    let done = |part: &Part| {
        let record = &part.record;
        let whole = (record.ops_metadata, record.bytes_read + record.bytes_written);
        if part.was_first_done { whole } else { part.when_first_done.unwrap_or(whole) }
    };
    Some(Concurrency {
        first_done_ns: first_done.last_ns.saturating_sub(first_ns),
        first_done_ops: parts.iter().map(|part| done(part).0).sum(),
        first_done_bytes: parts.iter().map(|part| done(part).1).sum(),
    })
}
