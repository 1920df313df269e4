//! The virtual driver of the execution contract: a workload on a device, in the device's time.
//!
//! All threads' state machines are turned by one loop, the earliest completion first; of equal ones the one that was
//! submitted first; where only the observer could see that order, the place decides. The run begins where the device's
//! clock stands and leaves it at the last completion.
//!
//! # Refused here
//! A file for each thread: a virtual drive is one device. Verification: it keeps no content to compare with.

use crate::block_device::ManagedDevice;
use crate::device::{self, Request, Status};
use crate::immediate_device::Immediate;
use crate::lap::Lap;
use crate::lookahead::Announcements;
use crate::run_error::Error;
use crate::runner_device::{AtOnce, RunnerDevice};
use crate::single_host::SingleHost;
use crate::tournament_tree::{Earliest, NEVER};
use mileage_measure::{
    CommitTimes, CompletedOperation, Concurrency, Histogram, LatencyData, RunError, RunRecord, Series, ThreadRecord,
};
use mileage_workload::{Completion, Execution, Files, Observer, Op, OpKind, PerKind, Step, Sync, Verify, Workload};

/// First length of the series' intervals; it doubles.
const INTERVAL_NS: u64 = 1_000_000;
/// Operations of a page between two reports of progress; longer ones count for more.
const WORK_BETWEEN_REPORTS: u64 = 1 << 16;

/// Run a workload on a device from the device's present time on.
///
/// `poll(bytes, operations)` is called with the progress every 65536 small operations (or as much work in larger ones)
/// and at the end; once it answers true nothing more is issued except the final sync, and the record says
/// `interrupted`. The record begins at the first submission after the warm-up: what the warm-up does is in its series
/// `warm_up` only. Counters in the record are changes since then; they count at submission.
///
/// # Errors
/// The workload is not valid, or does not fit the device. What the device refuses during the run ends it with
/// `error` set in the record.
pub fn run<D: Immediate + ?Sized, O: Observer>(
    device: &mut D,
    workload: &Workload,
    observer: &mut O,
    poll: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<RunRecord, Error> {
    run_driven(AtOnce(device), workload, observer, poll)
}

/// As [`run`], on a device of the general form. What it does in the background while nothing is outstanding is left to the
/// time after the run.
///
/// # Errors
/// Those of [`run`].
pub fn run_general<D: ManagedDevice, O: Observer>(
    device: &mut SingleHost<D>,
    workload: &Workload,
    observer: &mut O,
    poll: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<RunRecord, Error> {
    run_driven(device, workload, observer, poll)
}

/// As [`run`], on whatever the loop can drive, for example a modelled host above a drive.
///
/// # Errors
/// Those of [`run`].
#[inline]
pub fn run_driven<S: RunnerDevice, O: Observer>(
    mut device: S,
    workload: &Workload,
    observer: &mut O,
    poll: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<RunRecord, Error> {
    workload.check()?;
    let (end_bytes, capacity_bytes) = (workload.span_start_bytes + workload.span_bytes, device.capacity_bytes());
    if end_bytes > capacity_bytes {
        return Err(Error::SpanBehindDrive { end_bytes, capacity_bytes });
    }
    let (record_bytes, sector_bytes) = (workload.record_bytes, device.sector_bytes());
    if !workload.is_aligned_to(sector_bytes) {
        return Err(Error::RecordNotSectors { record_bytes, sector_bytes });
    }
    if workload.verify != Verify::Off {
        let why = "keeps no content that could be compared: leave verify out";
        return Err(Error::NotVirtual { what: "verify", found: format!("{:?}", workload.verify), why });
    }
    if workload.files != Files::Shared {
        let why = "is one device without files: use threads on parts of it, or a target with a file system";
        return Err(Error::NotVirtual { what: "files", found: "per_thread".to_owned(), why });
    }
    let looks = device.look_at_content(Some(workload));
    let plain = !looks && workload.threads == 1 && workload.load.warm_up_ns == 0;
    if plain && !workload.waits() && !workload.has_due_times() {
        run_as::<S, O, true>(device, workload, observer, looks, poll)
    } else {
        run_as::<S, O, false>(device, workload, observer, looks, poll)
    }
}

fn run_as<S: RunnerDevice, O: Observer, const PLAIN: bool>(
    device: S,
    workload: &Workload,
    observer: &mut O,
    looks: bool,
    poll: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<RunRecord, Error> {
    let mut running = RunLoop::<S, O, PLAIN>::new(device, workload, observer, looks)?;
    running.turn(poll);
    running.device.look_at_content(None);
    running.device.misuse().map_or_else(|| Ok(running.finish(workload)), |misuse| Err(Error::Device(misuse)))
}

/// An operation that was submitted and has not completed.
#[derive(Clone, Copy)]
struct OutstandingOp {
    op: Op,
    thread: u32,
    failed: bool,
    counted: bool,
    submit_ns: u64,
    complete_ns: u64,
    turn: u64,
}

const IDLE: OutstandingOp = OutstandingOp {
    op: Op { kind: OpKind::Sync, length_bytes: 0, offset_bytes: 0 },
    thread: 0,
    failed: false,
    counted: false,
    submit_ns: 0,
    complete_ns: 0,
    turn: 0,
};

/// One thread of the workload.
struct Thread {
    execution: Execution,
    record: ThreadRecord,
    foretold: Announcements,
    /// First counted submission.
    first_ns: u64,
    last_ns: u64,
    /// Of a thread that syncs between its writes.
    commits: Option<Box<CommitTimes>>,
}

/// A run in progress. `PLAIN`: one thread in a closed loop without a warm-up, on a device that looks at no content; what
/// only other runs need is then not even asked for.
#[expect(clippy::struct_excessive_bools, reason = "each is asked by itself, and set by another part of the run")]
struct RunLoop<'a, S, O, const PLAIN: bool> {
    device: S,
    observer: &'a mut O,
    threads: Vec<Thread>,
    outstanding: Vec<OutstandingOp>,
    /// Due times of the outstanding operations; empty in the closed loop.
    due_ns: Vec<u64>,
    /// Places of `outstanding` that hold nothing.
    free: Vec<u32>,
    /// Completions that a device that does not answer at once has just decided; empty between the steps.
    ended: Vec<(u32, device::Completion)>,
    /// Completion time of each place's operation, and then the end of each thread's waiting, if any thread ever waits.
    next: Earliest,
    submissions: u64,
    waits: bool,
    /// Lap of each thread, if the device looks at what is written.
    laps: Vec<Lap>,
    ops: Vec<Op>,
    /// The first counted submission; what the record begins with.
    origin_ns: u64,
    last_move_ns: u64,
    last_ns: u64,
    sync_timed: bool,
    /// Writes have FUA.
    durable: bool,
    latency: Box<PerKind<Histogram>>,
    /// Latencies of reads and writes from the instant when they were due.
    response: Box<Histogram>,
    /// Whether all operations are of one kind: the series then has their latencies, and none is recorded twice.
    one_way: bool,
    series: Series,
    /// Start of the warm-up, and the series of its completions; `None` without one.
    warm_up: Option<(u64, Series)>,
    /// The interval that is being filled ends here, since the origin.
    interval_end_ns: u64,
    counters_before: Vec<u64>,
    counters_now: Vec<u64>,
    /// Operations and their bytes, of the kinds that move none but syncs.
    commands: PerKind<(u64, u64)>,
    work: u64,
    concurrency: Option<Concurrency>,
    /// The failure that the host learns of first, and when.
    failure: Option<(u64, Status)>,
    error: Option<RunError>,
    interrupted: bool,
}

impl<'a, S: RunnerDevice, O: Observer, const PLAIN: bool> RunLoop<'a, S, O, PLAIN> {
    fn new(device: S, workload: &Workload, observer: &'a mut O, looks: bool) -> Result<Self, Error> {
        let start_ns = device.now_ns();
        let durable = workload.sync == Sync::Fua || device.writes_durably();
        let threads: Result<Vec<Thread>, mileage_workload::Error> = (0..workload.threads)
            .map(|thread| {
                let mut execution = Execution::new(workload, thread)?;
                execution.look_further();
                let (record, foretold) = (ThreadRecord::default(), Announcements::default());
                let commits = CommitTimes::of_thread(workload.syncs_on_the_way(), workload.sync_every, durable)
                    .map(|times| Box::new((*times).over_time(INTERVAL_NS, start_ns)));
                Ok(Thread { execution, record, foretold, first_ns: NEVER, last_ns: start_ns, commits })
            })
            .collect();
        let at_once = |thread| match workload.load.warm_up_ns {
            0 => workload.operations_of(thread).clamp(1, u64::from(workload.depth)) as usize,
            _ => workload.depth as usize,
        };
        let places: usize = (0..workload.threads).map(at_once).sum();
        let waiting = if workload.waits() { workload.threads as usize } else { 0 };
        let due = if workload.has_due_times() { places } else { 0 };
        let laps = (0..workload.threads).map(|thread| Lap::new(workload.lap_operations(thread)));
        let names = device.counter_names();
        let series_names = device.series_names();
        Ok(Self {
            threads: threads?,
            outstanding: vec![IDLE; places],
            due_ns: vec![0; due],
            free: (0..places as u32).rev().collect(),
            ended: Vec::new(),
            next: Earliest::new(places + waiting, NEVER),
            submissions: 0,
            waits: workload.waits(),
            laps: if looks { laps.collect() } else { Vec::new() },
            ops: Vec::with_capacity(workload.depth as usize),
            origin_ns: NEVER,
            last_move_ns: start_ns,
            last_ns: start_ns,
            sync_timed: workload.sync_timed,
            durable: workload.sync == Sync::Fua,
            latency: Box::default(),
            response: Box::default(),
            one_way: workload.one_way().is_some(),
            series: Series::new(INTERVAL_NS, series_names),
            warm_up: (workload.load.warm_up_ns > 0).then(|| (start_ns, Series::new(INTERVAL_NS, &[]))),
            interval_end_ns: 0,
            counters_now: vec![0; series_names.len()],
            counters_before: vec![0; names.len()],
            commands: PerKind::default(),
            work: 0,
            concurrency: None,
            failure: None,
            error: None,
            interrupted: false,
            device,
            observer,
        })
    }

    /// Whether of equal instants the earlier submission comes first. Where nothing but the observer could see it, the order of
    /// the places is as good, and quicker.
    const IN_TURN: bool = !PLAIN || !S::AT_ONCE || S::NOTICED_AFTER_NS > 0;

    fn turn(&mut self, poll: &mut dyn FnMut(u64, u64) -> bool) {
        let start_ns = self.device.now_ns();
        for thread in 0..self.threads.len() as u32 {
            self.issue(thread, start_ns);
        }
        let mut report_at = WORK_BETWEEN_REPORTS;
        loop {
            let (now_ns, place) = self.next.first();
            if !S::AT_ONCE && self.collect(now_ns) {
                continue;
            }
            if now_ns == NEVER {
                break;
            }
            if !PLAIN && place as usize >= self.outstanding.len() {
                self.issue(place - self.outstanding.len() as u32, now_ns);
                continue;
            }
            let thread = self.complete(place);
            self.free.push(place);
            self.issue(thread, now_ns);
            if self.free.last() == Some(&place) {
                self.expect(place, NEVER, NEVER);
            }
            if self.work >= report_at {
                report_at = self.work + WORK_BETWEEN_REPORTS;
                let (bytes, operations) = self.totals();
                if poll(bytes, operations) && !self.interrupted {
                    self.interrupted = true;
                    self.stop();
                }
            }
        }
        let (bytes, operations) = self.totals();
        poll(bytes, operations);
    }

    /// Let the device decide what comes next before `before_ns`, if anything does.
    fn collect(&mut self, before_ns: u64) -> bool {
        let mut ended = std::mem::take(&mut self.ended);
        let decided = self.device.collect(before_ns, &mut ended);
        for (place, device::Completion { complete_ns, status }) in ended.drain(..) {
            let failed = status != Status::Done;
            if failed {
                self.note_failure(complete_ns, status);
            }
            let it = &mut self.outstanding[place as usize];
            (it.complete_ns, it.failed) = (complete_ns, failed);
            // The clock may be a nanosecond behind a decision made for this very instant.
            let (at_ns, turn) = ((complete_ns + S::NOTICED_AFTER_NS).max(self.device.now_ns()), it.turn);
            self.expect(place, at_ns, turn);
        }
        self.ended = ended;
        decided
    }

    /// Schedule a place for `at_ns`, with its turn among places of the same time.
    #[inline]
    fn expect(&mut self, place: u32, at_ns: u64, turn: u64) {
        if Self::IN_TURN {
            self.next.set_in_turn(place, at_ns, turn);
        } else {
            self.next.set(place, at_ns);
        }
    }

    fn stop(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.execution.stop());
    }

    fn totals(&self) -> (u64, u64) {
        self.threads.iter().fold((0, 0), |(bytes, operations), Thread { record, .. }| {
            (bytes + record.bytes_read + record.bytes_written, operations + record.ops_read + record.ops_written)
        })
    }

    /// Let a thread issue what it may at this time.
    #[inline]
    fn issue(&mut self, thread: u32, now_ns: u64) {
        let step = loop {
            let step = self.step(thread, now_ns);
            // A thread that never waits for a time cannot issue anything before a completion: skip the question.
            if PLAIN || !self.waits || step != Step::Issue {
                break step;
            }
        };
        if !PLAIN && self.waits {
            let until_ns = if let Step::WaitUntil(until_ns) = step { until_ns } else { NEVER };
            self.expect(self.outstanding.len() as u32 + thread, until_ns, NEVER);
        }
        if !PLAIN && step == Step::Done && self.concurrency.is_none() && self.threads.len() > 1 {
            self.note_first_done(now_ns);
        }
    }

    /// Ask a thread once, and submit what it issues.
    #[inline]
    fn step(&mut self, thread: u32, now_ns: u64) -> Step {
        let Thread { execution, foretold, .. } = &mut self.threads[thread as usize];
        foretold.announce(execution.upcoming(), &mut self.device);
        // A completion made room for one operation. Once a thread has begun nothing else is to be asked for the next one.
        let plain = if PLAIN { execution.next_plain(now_ns) } else { None };
        let (mut op, mut index) = (plain.unwrap_or(IDLE.op), 0);
        let (mut count, mut counted) = (1, true);
        if plain.is_none() {
            self.ops.clear();
            let step = execution.next(now_ns, &mut self.ops);
            if step != Step::Issue {
                return step;
            }
            counted = PLAIN || execution.counted();
            (op, count) = (self.ops[0], self.ops.len());
            if counted && self.threads[thread as usize].first_ns == NEVER {
                self.begin(thread, now_ns);
            }
        }
        self.threads[thread as usize].foretold.issued(count);
        loop {
            if !PLAIN && let Some(lap) = self.laps.get_mut(thread as usize) {
                self.device.begin_lap(lap.of_next());
            }
            let place = self.free.pop().expect("a thread has at most depth operations outstanding");
            let (mut complete_ns, mut failed) = (NEVER, false);
            if let Some(completion) = self.device.submit(&Request::of(op, now_ns, self.durable), place, thread) {
                (complete_ns, failed) = (completion.complete_ns, completion.status != Status::Done);
                if failed {
                    self.note_failure(complete_ns, completion.status);
                }
            }
            let turn = self.submissions;
            self.submissions += u64::from(Self::IN_TURN);
            self.outstanding[place as usize] =
                OutstandingOp { op, thread, failed, counted, submit_ns: now_ns, complete_ns, turn };
            if !PLAIN && !self.due_ns.is_empty() {
                self.due_ns[place as usize] = self.threads[thread as usize].execution.due_ns()[index];
            }
            self.expect(place, complete_ns.saturating_add(S::NOTICED_AFTER_NS), turn);
            index += 1;
            if index == count {
                return Step::Issue;
            }
            op = self.ops[index];
        }
    }

    /// A thread's first counted operation is about to be submitted; the first of all is where the record begins.
    #[cold]
    fn begin(&mut self, thread: u32, now_ns: u64) {
        self.threads[thread as usize].first_ns = now_ns;
        if self.origin_ns == NEVER {
            self.origin_ns = now_ns;
            self.device.catch_up(now_ns.min(self.last_ns + S::NOTICED_AFTER_NS));
            self.device.counters(&mut self.counters_before);
            self.threads.iter_mut().filter_map(|thread| thread.commits.as_mut()).for_each(|own| own.begin_at(now_ns));
        }
    }

    #[cold]
    fn note_first_done(&mut self, now_ns: u64) {
        let (first_done_bytes, first_done_ops) = self.totals();
        let first_done_ns = now_ns.saturating_sub(self.origin_ns);
        self.concurrency = Some(Concurrency { first_done_ns, first_done_bytes, first_done_ops });
    }

    /// An operation was submitted that will fail: the host learns of it then, and of the first of several.
    #[cold]
    fn note_failure(&mut self, complete_ns: u64, status: Status) {
        if self.failure.is_none_or(|(first_ns, _)| complete_ns < first_ns) {
            self.failure = Some((complete_ns, status));
        }
    }

    /// The host learns of a failure: nothing more is issued.
    #[cold]
    fn fail(&mut self, complete_ns: u64) {
        self.last_ns = self.last_ns.max(complete_ns);
        if let (Some((_, status)), None) = (self.failure, &self.error) {
            let (kind, message) = (status.failure_name().unwrap_or_default(), status.failure().unwrap_or_default());
            self.error = Some(RunError { kind: kind.to_owned(), message });
            self.stop();
        }
    }

    /// Record a completion before the run proper; syncs have no place in its series.
    #[cold]
    fn record_warm_up(&mut self, op: &Op, complete_ns: u64, latency_ns: u64) {
        let Some((start_ns, series)) = self.warm_up.as_mut().filter(|_| op.kind != OpKind::Sync) else { return };
        let bytes_of = |kind| if op.kind == kind { u64::from(op.length_bytes) } else { 0 };
        series.record(CompletedOperation {
            at_ns: complete_ns - *start_ns,
            bytes_read: bytes_of(OpKind::Read),
            bytes_written: bytes_of(OpKind::Write),
            latency_ns,
        });
    }

    /// Record a completion; whose it was.
    #[inline]
    fn complete(&mut self, place: u32) -> u32 {
        let OutstandingOp { op, thread, failed, counted, submit_ns, complete_ns, .. } =
            self.outstanding[place as usize];
        let Thread { execution, record, last_ns, commits, .. } = &mut self.threads[thread as usize];
        execution.complete(complete_ns);
        let due_ns = if PLAIN || self.due_ns.is_empty() { submit_ns } else { self.due_ns[place as usize] };
        if failed {
            match (commits, op.kind) {
                (Some(commits), OpKind::Sync) if counted => commits.sync_given_up(due_ns, complete_ns),
                (Some(commits), OpKind::Write) if counted => commits.write_given_up(due_ns, complete_ns),
                _ => {}
            }
            self.fail(complete_ns);
            return thread;
        }
        self.observer.completed(&Completion { thread, op, due_ns, submit_ns, complete_ns, counted });
        self.last_ns = complete_ns;
        self.work += 1 + (u64::from(op.length_bytes) >> 12);
        let (bytes, latency_ns) = (u64::from(op.length_bytes), complete_ns - submit_ns);
        if !PLAIN && !counted {
            self.record_warm_up(&op, complete_ns, latency_ns);
            return thread;
        }
        let (mut bytes_read, mut bytes_written) = (0, 0);
        if op.kind == OpKind::Sync {
            self.latency[op.kind].record(latency_ns);
            if let Some(commits) = commits {
                commits.synced(complete_ns);
            }
            if self.sync_timed {
                *last_ns = complete_ns;
            }
            return thread;
        } else if op.kind == OpKind::Read {
            record.ops_read += 1;
            record.bytes_read += bytes;
            bytes_read = bytes;
        } else if op.kind == OpKind::Write {
            record.ops_written += 1;
            record.bytes_written += bytes;
            bytes_written = bytes;
            if let Some(commits) = commits {
                commits.written(due_ns, complete_ns);
            }
        } else {
            let (operations, total) = &mut self.commands[op.kind];
            *operations += 1;
            *total += bytes;
        }
        if !self.one_way {
            self.latency[op.kind].record(latency_ns);
        }
        *last_ns = complete_ns;
        record.calls += 1;
        self.last_move_ns = complete_ns;
        if !PLAIN && !self.due_ns.is_empty() && op.kind.moves_bytes() {
            self.response.record(complete_ns - due_ns);
        }
        let at_ns = complete_ns - self.origin_ns;
        let crossing = at_ns >= self.interval_end_ns;
        if crossing {
            self.device.catch_up(complete_ns + S::NOTICED_AFTER_NS);
            self.note_counters();
        }
        self.series.record(CompletedOperation { at_ns, bytes_read, bytes_written, latency_ns });
        if crossing {
            self.interval_end_ns = self.series.interval_end_ns();
        }
        thread
    }

    #[cold]
    fn note_counters(&mut self) {
        let (counters, gauges) = self.counters_now.split_at_mut(self.counters_before.len());
        self.device.counters(counters);
        for (now, before) in counters.iter_mut().zip(&self.counters_before) {
            *now -= before;
        }
        self.device.gauges(gauges);
        self.series.note_counters(&self.counters_now);
    }

    fn finish(mut self, workload: &Workload) -> RunRecord {
        if let Some(kind) = workload.one_way() {
            self.latency[kind] = self.series.latency();
        }
        self.device.advance_to(self.last_ns + S::NOTICED_AFTER_NS);
        if self.origin_ns == NEVER {
            // The run ended within its warm-up: it counts from its end, so that all its figures are 0.
            self.origin_ns = self.last_ns;
            self.device.counters(&mut self.counters_before);
        }
        if self.error.is_some() && self.last_ns > self.origin_ns {
            // The host waited for the failed operation until now: without that time the rate would be too high.
            self.series.last_to(self.last_ns - self.origin_ns);
        }
        self.note_counters();
        let submit_ns = self.last_move_ns.saturating_sub(self.origin_ns);
        let durable_ns = self.last_ns.saturating_sub(self.origin_ns);
        let names = self.device.counter_names();
        let close = |mut thread: Thread| {
            thread.record.elapsed_ns = thread.last_ns.saturating_sub(thread.first_ns);
            thread.record
        };
        let latency = LatencyData {
            response: self.response.to_data(),
            ..LatencyData::of(OpKind::ALL.map(|kind| (kind.name(), self.latency[kind].to_data())))
                .with_commits(self.threads.iter().filter_map(|thread| thread.commits.as_deref()))
        };
        let commits = CommitTimes::series_of(self.threads.iter().filter_map(|thread| thread.commits.as_deref()));
        let threads: Vec<ThreadRecord> = self.threads.into_iter().map(close).collect();
        let sum = |pick: fn(&ThreadRecord) -> u64| threads.iter().map(pick).sum();
        RunRecord {
            bytes_read: sum(|thread| thread.bytes_read),
            bytes_written: sum(|thread| thread.bytes_written),
            ops_read: sum(|thread| thread.ops_read),
            ops_written: sum(|thread| thread.ops_written),
            ops_discarded: self.commands[OpKind::Discard].0,
            bytes_discarded: self.commands[OpKind::Discard].1,
            submit_ns,
            durable_ns,
            elapsed_ns: if workload.sync_timed { durable_ns } else { submit_ns },
            latency,
            series: self.series.to_data(),
            commits,
            warm_up: self.warm_up.map(|(_, series)| series.to_data()),
            counters: names.iter().map(|name| (*name).to_owned()).zip(self.counters_now).collect(),
            threads,
            concurrency: self.concurrency,
            error: self.error,
            interrupted: self.interrupted,
            ..RunRecord::default()
        }
    }
}
