//! Merge the results of all threads into one record, for a run or for one process's share of it.

use crate::bottleneck::limited_by;
use crate::clock;
use crate::data::measure_compression;
use crate::error::Error;
use crate::identity::Identity;
use crate::kernel_io_audit::ThreadIo;
use crate::run_context::Facts;
use crate::worker::{Part, SplitLatency};
use mileage_measure::{
    CommitTimes, Concurrency, Histogram, LatencyData, Mismatch, RunError, RunRecord, Series, SplitLatencyData,
    ThreadRecord, Usage,
};
use mileage_workload::{OpKind, Workload};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Mismatches that a record keeps.
const MISMATCHES_MAX: usize = 100;

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// The record, as it is journalled. If the run failed, `bytes_*` include what the failed operation moved before
    /// it failed; operations, latencies and series count completed operations alone.
    pub record: RunRecord,
    /// The kernel's account of each thread, in the order of `record.threads`, when the options ask for it.
    pub audit: Option<Vec<ThreadIo>>,
}

/// Result of one process's share of a run, to be merged with the results of the other processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareResult {
    pub(crate) first_thread: u32,
    /// The instant at which its threads began, on `CLOCK_MONOTONIC_RAW`: what the times of its parts count from.
    pub(crate) origin_ns: u64,
    /// From reaching for the target to having opened it, on the same clock.
    pub(crate) opening_ns: (u64, u64),
    /// Identities of the files that its threads opened, in the order of the threads.
    pub(crate) opened: Vec<Identity>,
    pub(crate) parts: Vec<Part>,
    pub(crate) first_done_ns: u64,
    pub(crate) facts: Facts,
}

impl ShareResult {
    /// The same result on a clock that was zero `by_ns` nanoseconds earlier than the one its times count from. Shares
    /// from machines with different clocks are shifted in this way to count from the same instant.
    #[must_use]
    pub fn shifted(mut self, by_ns: u64) -> Self {
        self.parts.iter_mut().for_each(|part| part.shift(by_ns));
        if self.first_done_ns != u64::MAX {
            self.first_done_ns += by_ns;
        }
        self
    }
}

/// Merge all shares of a run, in any order, into one record. Their times count from one instant, as those of shares
/// that met on one machine do; see [`ShareResult::shifted`].
///
/// # Errors
/// A thread of the workload is missing, or there twice.
pub fn merge_shares(workload: &Workload, shares: &[ShareResult]) -> Result<RunResult, Error> {
    workload.check()?;
    let mut shares: Vec<&ShareResult> = shares.iter().collect();
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

/// The record of a run whose threads have all come back.
///
/// Times run from the first submission of any thread: to the last completion of any (`submit_ns`), and to the end of
/// the last final sync, or the last completion if that is later (`durable_ns`).
pub(crate) fn merge(workload: &Workload, parts: &[Part], first_done_ns: u64, facts: &Facts) -> RunResult {
    let first_ns = parts.iter().filter_map(|part| part.first_ns).min().unwrap_or(0);
    let last_ns = parts.iter().map(|part| part.last_ns).max().unwrap_or(0).max(first_ns);
    let durable_ns =
        parts.iter().filter_map(|part| part.durable_ns).max().map_or(last_ns, |end_ns| end_ns.max(last_ns));
    let together = |of: &dyn Fn(&Part) -> Cow<'_, Histogram>| {
        let mut all = Histogram::default();
        parts.iter().for_each(|part| all.merge(&of(part)));
        all.to_data()
    };
    let latency = |kind| together(&|part: &Part| part.latency(kind));
    let joined = |of: fn(&Part) -> Option<&Series>| {
        let mut every = parts.iter().filter_map(of);
        let mut all = every.next()?.clone();
        every.for_each(|other| all.merge(other));
        Some(all.to_data())
    };
    let failure = parts.iter().filter_map(|part| part.failure.clone()).min_by_key(|(at_ns, _)| *at_ns);
    let failure = failure.map(|(_, error)| error);
    let mismatches = parts.iter().flat_map(|part| part.compared.mismatches.clone());
    let mismatches: Vec<Mismatch> = mismatches.take(MISMATCHES_MAX).collect();
    let wrong = wrong_data(parts, &mismatches);
    let sum = |pick: fn(&Part) -> u64| parts.iter().map(pick).sum::<u64>();
    let mut record = RunRecord {
        bytes_read: sum(|part| part.record.bytes_read),
        bytes_written: sum(|part| part.record.bytes_written),
        ops_read: sum(|part| part.record.ops_read),
        ops_written: sum(|part| part.record.ops_written),
        submit_ns: last_ns - first_ns,
        durable_ns: durable_ns - first_ns,
        elapsed_ns: if workload.sync_timed { durable_ns - first_ns } else { last_ns - first_ns },
        ops_discarded: sum(|part| part.commands[OpKind::Discard].0),
        bytes_discarded: sum(|part| part.commands[OpKind::Discard].1),
        latency: LatencyData {
            response: together(&|part: &Part| Cow::Borrowed(&part.response)),
            ..LatencyData::of(OpKind::ALL.map(|kind| (kind.name(), latency(kind))))
                .with_commits(parts.iter().filter_map(|part| part.commits.as_deref()))
        },
        split_latency: split_latency(parts),
        series: joined(|part| Some(&part.series)).unwrap_or_default(),
        commits: CommitTimes::series_of(parts.iter().filter_map(|part| part.commits.as_deref())),
        warm_up: joined(|part| part.warm_up.as_deref()),
        threads: parts.iter().map(|part| thread_record(workload, part)).collect(),
        concurrency: concurrency(parts, first_ns, first_done_ns),
        usage: usage(parts, facts),
        content: measure_compression(&parts.iter().map(|part| &part.kept).collect::<Vec<_>>()),
        ops_compared: sum(|part| part.compared.reads),
        ops_mismatched: sum(|part| part.compared.wrong),
        error: wrong.clone().or(failure.clone()),
        notes: notes(parts, failure.filter(|_| wrong.is_some()).as_ref()),
        mismatches,
        interrupted: parts.iter().any(|part| part.interrupted),
        ..RunRecord::default()
    };
    record.usage.limited_by = limited_by(&record, &workload.load, facts.processors).to_owned();
    let audit: Option<Vec<ThreadIo>> = parts.iter().map(|part| part.io).collect();
    RunResult { record, audit }
}

/// The latencies of all threads in their parts, where they were asked for.
fn split_latency(parts: &[Part]) -> Option<SplitLatencyData> {
    let together = |of: fn(&SplitLatency) -> &Histogram| {
        LatencyData::of(OpKind::ALL.map(|kind| {
            let mut all = Histogram::default();
            parts.iter().filter_map(|part| part.split.as_ref()).for_each(|split| all.merge(of(&split[kind])));
            (kind.name(), all.to_data())
        }))
    };
    parts.iter().any(|part| part.split.is_some()).then(|| SplitLatencyData {
        submission: together(|split| &split.submission),
        completion: together(|split| &split.completion),
    })
}

/// Reads that did not return what was written end a run as failed, whatever else befell it.
fn wrong_data(parts: &[Part], mismatches: &[Mismatch]) -> Option<RunError> {
    let sum = |pick: fn(&Part) -> u64| parts.iter().map(pick).sum::<u64>();
    let (wrong, reads) = (sum(|part| part.compared.wrong), sum(|part| part.compared.reads));
    let Mismatch { offset_bytes, kind, message } = mismatches.first()?;
    let message = format!(
        "{wrong} of {reads} compared reads did not return what was written; the first at offset {offset_bytes} is \
         {kind}: {message}"
    );
    Some(RunError { kind: "VERIFY".to_owned(), message })
}

/// Notes that a reader of the figures needs.
fn notes(parts: &[Part], also_failed: Option<&RunError>) -> Vec<String> {
    let mut notes: Vec<String> = also_failed.map(|error| error.message.clone()).into_iter().collect();
    let punting = parts.iter().filter(|part| part.punted > 0).count();
    if punting > 0 {
        let workers: u32 = parts.iter().map(|part| part.punted).sum();
        let kernel_threads = if workers == 1 { "kernel thread" } else { "kernel threads" };
        notes.push(format!(
            "io_uring: the target cannot do these operations at once; {workers} {kernel_threads} did them for {punting} of {} \
             threads (their processor time is kernel_workers_ns), which is slower than pread and pwrite",
            parts.len()
        ));
    }
    let stuck: u32 = parts.iter().map(|part| part.stuck).sum();
    if stuck > 0 {
        notes.push(format!(
            "{stuck} operations never came back and could not be cancelled; their buffers and threads are given up"
        ));
    }
    notes
}

/// Resources that the threads used on the machine, together.
fn usage(parts: &[Part], facts: &Facts) -> Usage {
    let sum = |pick: fn(&Part) -> u64| parts.iter().map(pick).sum::<u64>();
    let mut usage = Usage {
        fill_ns: sum(|part| part.fill_ns),
        verify_ns: sum(|part| part.verify_ns),
        kernel_workers_ns: sum(|part| part.kernel_workers_ns),
        clock: clock::name().to_owned(),
        ..Usage::default()
    };
    parts.iter().for_each(|part| part.spent.add_to(&mut usage));
    facts.add_to(&mut usage);
    usage
}

/// Record of one thread, with its duration: to the end of its last sync, if syncs are timed.
fn thread_record(workload: &Workload, part: &Part) -> ThreadRecord {
    let synced_ns = part.durable_ns.filter(|_| workload.sync_timed).unwrap_or(0);
    let elapsed_ns = part.first_ns.map_or(0, |first_ns| part.last_ns.max(synced_ns) - first_ns);
    let (first_done_bytes, first_done_ops) = part.at_first_done.unzip();
    ThreadRecord { elapsed_ns, first_done_bytes, first_done_ops, ..part.record.clone() }
}

/// Work of all threads up to the end of the first one: an operation counts if it was complete by then.
fn concurrency(parts: &[Part], first_ns: u64, first_done_ns: u64) -> Option<Concurrency> {
    if parts.len() < 2 || first_done_ns == u64::MAX {
        return None;
    }
    let whole = |part: &Part| {
        let record = &part.record;
        (record.bytes_read + record.bytes_written, part.operations())
    };
    let by_then = parts.iter().map(|part| part.at_first_done.unwrap_or_else(|| whole(part)));
    let (bytes, operations) = by_then.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    Some(Concurrency {
        first_done_ns: first_done_ns.saturating_sub(first_ns),
        first_done_bytes: bytes,
        first_done_ops: operations,
    })
}
