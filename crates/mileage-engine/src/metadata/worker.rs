//! One worker of a metadata run: create its items, wait at the start gate, do the timed operations, remove what is left.

use super::calls::{ByteCount, Calls, Failure};
use super::run_state::{ABANDONED, FAILED, FIRST_DONE, STOPPED, SharedState};
use super::worker_result::Part;
use crate::clock::RunClock;
use crate::cpu_affinity;
use crate::descriptor_table;
use crate::error::Error;
use crate::in_flight::InFlight;
use crate::usage::ThreadUsage;
use crate::worker::Tally;
use mileage_measure::{CompletedOperation, Histogram, Series, ThreadRecord};
use mileage_workload::{Items, MetadataOp, MetadataPaths, MetadataVisits, SetUp};
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// First length of a series' intervals; it doubles by itself.
const INTERVAL_NS: u64 = 10_000_000;
/// Interval at which a worker publishes its counts for progress.
const PUBLISH_NS: u64 = 10_000_000;

/// Everything a worker touches; nothing in it grows while operations are timed.
struct Worker<'a> {
    shared: &'a SharedState,
    number: u32,
    calls: Calls<'a>,
    /// Paths of the items that this worker visits.
    paths: MetadataPaths,
    visits: MetadataVisits,
    tally: &'a Tally,
    part: InFlight<Part>,
    /// Items of this worker that the set-up made, from the first.
    made: u64,
    /// Items that the timed part made, in the order of the visits.
    created: u64,
    /// Whether every operation was done.
    complete: bool,
}

/// Do one worker's part of the run.
pub(super) fn work(shared: &SharedState, worker: u32) -> Result<Part, Error> {
    let (start, end) = (shared.gate.ticket(), shared.all_done.ticket());
    descriptor_table::leave();
    let bound = cpu_affinity::bind(&shared.options.pin_cpus, worker);
    let mut worker = bound.and_then(|()| Worker::new(shared, worker)).inspect_err(|_| shared.halt(FAILED))?;
    worker.set_up();
    worker.warm_up();
    let clock = RunClock::since(start.wait());
    let before = ThreadUsage::now();
    worker.turn(clock);
    worker.part.spent = before.until(&ThreadUsage::now());
    worker.publish_progress();
    end.wait();
    worker.clean_up();
    Ok(worker.part.into_inner())
}

impl<'a> Worker<'a> {
    fn new(shared: &'a SharedState, worker: u32) -> Result<Self, Error> {
        let metadata = &shared.metadata;
        let owner = metadata.owner_for(worker);
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        Ok(Self {
            shared,
            number: worker,
            calls: Calls::new(metadata, &shared.place, worker)?,
            paths: MetadataPaths::new(metadata, &shared.layout, shared.place.base(metadata.paths), owner)?,
            visits: MetadataVisits::new(metadata, &shared.layout, worker)?,
            tally: &shared.tally[worker as usize].0,
            part: InFlight::new(
                Part {
                    record: ThreadRecord { tid: Some(tid), ..ThreadRecord::default() },
                    series: Series::new(INTERVAL_NS, &[]),
                    sync: Histogram::default(),
                    first_ns: None,
                    last_ns: 0,
                    when_first_done: None,
                    was_first_done: false,
                    spent: ThreadUsage::default(),
                    interrupted: false,
                    failure: None,
                    entries: 0,
                    left: 0,
                    left_because: None,
                },
                shared.hand_overs.get(worker as usize).cloned(),
            ),
            made: 0,
            created: 0,
            complete: false,
        })
    }

    fn halted(&self) -> bool {
        self.shared.halt.0.load(Ordering::Relaxed) & (STOPPED | FAILED) != 0
    }

    fn fail(&mut self, at_ns: u64, when: &str, path: &CStr, failure: &Failure) {
        self.shared.halt(FAILED);
        self.part.failure = Some((at_ns, failure.describe(when, &self.shared.place.whole(path))));
    }

    /// Make what the operation needs, before anything is timed.
    fn set_up(&mut self) {
        let metadata = &self.shared.metadata;
        let needs = metadata.operation.needs_items();
        match metadata.set_up {
            SetUp::Existing => self.made = metadata.items_of(self.number),
            SetUp::Owner if needs => self.made = self.make_items_of(self.number),
            SetUp::First if needs && self.number == 0 => {
                // Store the count of every owner, because the other workers remove their parts of what this one made.
                for owner in (0..metadata.threads).rev() {
                    let made = self.make_items_of(owner);
                    self.shared.made[owner as usize].0.store(made, Ordering::Relaxed);
                }
            }
            SetUp::Owner | SetUp::First => {}
        }
    }

    /// Touch what the first operation would touch for the first time: it is timed like the others.
    fn warm_up(&mut self) {
        self.paths.path_of(0);
    }

    fn make_items_of(&mut self, owner: u32) -> u64 {
        let shared = self.shared;
        let base = shared.place.base(shared.metadata.paths);
        let mut paths = match MetadataPaths::new(&shared.metadata, &shared.layout, base, owner) {
            Ok(paths) => paths,
            Err(error) => unreachable!("checked when the run was started: {error}"),
        };
        let directories = shared.metadata.on_directories();
        for item in 0..shared.metadata.items_of(owner) {
            if self.halted() {
                return item;
            }
            let path = paths.path_of(item);
            let mut exists = false;
            let calls = &mut self.calls;
            self.part.begin();
            let made = self.part.blocking_call(|| {
                if directories { calls.mkdir(path) } else { calls.create(path, (owner, item), &mut exists).map(drop) }
            });
            if let Err(failure) = made {
                self.fail(0, "set-up: ", path, &failure);
                return item + u64::from(exists);
            }
        }
        shared.metadata.items_of(owner)
    }

    /// Do the operations until all are done, the run is halted, its time is over, or one fails.
    fn turn(&mut self, clock: RunClock) {
        let until_ns = self.shared.metadata.time_ns.unwrap_or(u64::MAX);
        let mut at_ns = clock.now_ns();
        let (mut publish_ns, mut seen) = (PUBLISH_NS, 0);
        loop {
            let halt = self.shared.halt.0.load(Ordering::Relaxed);
            if halt != seen {
                seen = halt;
                if !self.may_continue(halt) {
                    return;
                }
            }
            if at_ns >= until_ns {
                return;
            }
            let Some(item) = self.visits.next() else { break };
            let done = self.operate(item);
            let end_ns = clock.now_ns();
            let moved = match done {
                Ok(moved) => moved,
                Err(failure) => {
                    let path = self.path_of(item);
                    self.fail(end_ns, "", &path, &failure);
                    return;
                }
            };
            let closed_interval = self.count(at_ns, end_ns, moved);
            at_ns = end_ns;
            if closed_interval || end_ns >= publish_ns {
                self.publish_progress();
                publish_ns = end_ns + PUBLISH_NS;
                at_ns = clock.now_ns();
            }
        }
        self.complete = true;
        let before = self.shared.halt.0.fetch_or(FIRST_DONE, Ordering::Relaxed);
        self.part.was_first_done = before & FIRST_DONE == 0;
    }

    /// A signal was raised: note it, and return whether to continue.
    #[cold]
    fn may_continue(&mut self, halt: u8) -> bool {
        let record = &self.part.record;
        if halt & FIRST_DONE != 0 && self.part.when_first_done.is_none() {
            self.part.when_first_done = Some((record.ops_metadata, record.bytes_read + record.bytes_written));
        }
        self.part.interrupted = halt & STOPPED != 0;
        halt & (STOPPED | FAILED) == 0
    }

    #[inline]
    fn operate(&mut self, item: u64) -> Result<ByteCount, Failure> {
        let Self { shared, number, calls, paths, part, created, .. } = self;
        let operation = shared.metadata.operation;
        part.begin();
        part.blocking_call(|| calls.operate(operation, (*number, item), paths, created))
    }

    /// Book an operation; true if that took longer than usual.
    #[inline]
    fn count(&mut self, at_ns: u64, end_ns: u64, moved: ByteCount) -> bool {
        let part = &mut *self.part;
        let ByteCount { read, written, entries, sync_ns } = moved;
        if let Some(sync_ns) = sync_ns {
            part.sync.record(sync_ns);
        }
        let latency_ns = end_ns.saturating_sub(at_ns);
        let closed = part.series.record(CompletedOperation {
            at_ns: end_ns,
            bytes_read: read,
            bytes_written: written,
            latency_ns,
        });
        part.record.ops_metadata += 1;
        part.record.bytes_read += read;
        part.record.bytes_written += written;
        part.entries += entries;
        part.first_ns.get_or_insert(at_ns);
        part.last_ns = end_ns;
        closed
    }

    #[cold]
    fn path_of(&mut self, item: u64) -> std::ffi::CString {
        match self.shared.metadata.operation {
            MetadataOp::Readdir => self.paths.directory(item as usize).to_owned(),
            _ => self.paths.path_of(item).to_owned(),
        }
    }

    /// Let progress see what has been done.
    fn publish_progress(&mut self) {
        let part = &mut *self.part;
        let record = &mut part.record;
        record.calls = self.calls.transfers();
        record.elapsed_ns = part.last_ns.saturating_sub(part.first_ns.unwrap_or(part.last_ns));
        self.tally.bytes.store(record.bytes_read + record.bytes_written, Ordering::Relaxed);
        self.tally.operations.store(record.ops_metadata, Ordering::Relaxed);
    }

    /// Remove this worker's own files, whoever worked on them; what was removed already is no error.
    fn clean_up(&mut self) {
        let shared = self.shared;
        let metadata = &shared.metadata;
        if metadata.keep {
            return;
        }
        if metadata.set_up == SetUp::First && metadata.operation.needs_items() {
            self.made = shared.made[self.number as usize].0.load(Ordering::Relaxed);
        }
        let base = shared.place.base(metadata.paths);
        let own = MetadataPaths::new(metadata, &shared.layout, base, self.number);
        let again = MetadataVisits::new(metadata, &shared.layout, self.number);
        let (Ok(mut paths), Ok(mut visits)) = (own, again) else {
            unreachable!("both were made of the same values before the run")
        };
        if metadata.on == Items::Tree {
            // Items are created in order and removed from the last one, so that children are removed before their
            // parents.
            let made = if metadata.operation.needs_items() { self.made } else { self.created };
            (0..made).rev().for_each(|item| self.clear(&mut paths, item));
        } else if metadata.operation.needs_items() {
            (0..self.made).for_each(|item| self.clear(&mut paths, item));
        } else {
            let created = std::iter::from_fn(|| visits.next()).take(self.created as usize);
            created.for_each(|item| self.clear(&mut paths, item));
        }
    }

    fn clear(&mut self, paths: &mut MetadataPaths, item: u64) {
        let operation = self.shared.metadata.operation;
        if self.shared.halt.0.load(Ordering::Relaxed) & ABANDONED != 0 {
            self.part.left += 1;
            return;
        }
        let (path, renamed) = paths.pair_of(item);
        let kind = if self.shared.metadata.on_directories() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let first = if operation == MetadataOp::Rename { renamed } else { path };
        let calls = &self.calls;
        self.part.begin();
        let mut removed = self.part.blocking_call(|| calls.remove(first, kind));
        if operation == MetadataOp::Rename && matches!(removed, Err(Failure { errno: Some(Errno::NOENT), .. })) {
            removed = self.part.blocking_call(|| calls.remove(path, kind));
        }
        match removed {
            Ok(()) | Err(Failure { errno: Some(Errno::NOENT), .. }) => {}
            Err(failure) => {
                self.part.left += 1;
                let whole = self.shared.place.whole(path);
                self.part.left_because.get_or_insert_with(|| failure.describe("clean-up: ", &whole).message);
            }
        }
    }
}
