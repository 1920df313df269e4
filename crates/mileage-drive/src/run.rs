//! The virtual driver of the execution contract: a workload on a device, in the device's time.
//!
//! All threads' state machines are turned by one loop, the earliest completion first; of equal ones the one whose
//! place was taken first. The run begins when the device's clock stands and leaves it at the last completion.

use crate::device::{BlockDevice, Completion, Refusal, Request, RequestKind, Status};
use crate::earliest::{Earliest, NEVER};
use mileage_measure::{Histogram, RunError, RunRecord, Series, ThreadRecord};
use mileage_units::format_bytes;
use mileage_workload::{Execution, Observer, Op, OpKind, Step, Workload};

/// First length of the series' intervals; it doubles as the run gets longer.
const INTERVAL_NS: u64 = 1_000_000;
/// Progress is told, and an interrupt seen, every so many operations of a page; longer operations count for more.
const WORK_BETWEEN_REPORTS: u64 = 1 << 16;

/// Why a workload cannot run on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The workload itself is not valid.
    #[error(transparent)]
    Workload(#[from] mileage_workload::Error),
    /// The span ends behind the device.
    #[error(
        "the workload's span ends at byte {end_bytes} ({}), but the drive has {capacity_bytes} ({}): choose a smaller span_bytes or span_start_bytes",
        format_bytes(*.end_bytes), format_bytes(*.capacity_bytes)
    )]
    SpanBehindDrive {
        /// End of the span.
        end_bytes: u64,
        /// Capacity of the drive.
        capacity_bytes: u64,
    },
    /// Records that the device cannot address.
    #[error("record_bytes is {record_bytes}: expected a multiple of the drive's sector of {sector_bytes} bytes")]
    RecordNotSectors {
        /// The record.
        record_bytes: u32,
        /// The sector.
        sector_bytes: u32,
    },
}

/// Run a workload on a device from the device's present time on.
///
/// `poll(bytes, operations)` is told of the progress every 65536 small operations (or as much work in larger ones)
/// and at the end; once it answers true nothing more is issued except the final sync, and the record says
/// `interrupted`. Counters in the record are changes over this run; they count at submission.
///
/// # Errors
/// The workload is not valid, or does not fit the device. What the device refuses during the run ends it with
/// `error` set in the record.
pub fn run<D: BlockDevice, O: Observer>(
    device: &mut D,
    workload: &Workload,
    observer: &mut O,
    poll: &mut impl FnMut(u64, u64) -> bool,
) -> Result<RunRecord, Error> {
    workload.check()?;
    let (end_bytes, capacity_bytes) = (workload.span_start_bytes + workload.span_bytes, device.capacity_bytes());
    if end_bytes > capacity_bytes {
        return Err(Error::SpanBehindDrive { end_bytes, capacity_bytes });
    }
    let (record_bytes, sector_bytes) = (workload.record_bytes, device.sector_bytes());
    if !record_bytes.is_multiple_of(sector_bytes) {
        return Err(Error::RecordNotSectors { record_bytes, sector_bytes });
    }
    let mut running = Running::new(device, workload, observer)?;
    running.turn(poll);
    Ok(running.finish(workload))
}

/// An operation that was submitted and has not completed.
#[derive(Clone, Copy)]
struct Outstanding {
    op: Op,
    thread: u32,
    submit_ns: u64,
    complete_ns: u64,
    refused: bool,
}

const IDLE: Outstanding = Outstanding {
    op: Op { kind: OpKind::Sync, length_bytes: 0, offset_bytes: 0 },
    thread: 0,
    submit_ns: 0,
    complete_ns: 0,
    refused: false,
};

/// One thread of the workload.
struct Thread {
    execution: Execution,
    record: ThreadRecord,
    /// Operations to be issued that the device has already been told of.
    foretold: usize,
}

struct Running<'a, D, O> {
    device: &'a mut D,
    observer: &'a mut O,
    threads: Vec<Thread>,
    outstanding: Vec<Outstanding>,
    /// Places of `outstanding` that hold nothing.
    free: Vec<u32>,
    next: Earliest,
    ops: Vec<Op>,
    requests: Vec<Request>,
    completions: Vec<Completion>,
    start_ns: u64,
    last_move_ns: u64,
    last_ns: u64,
    latency: [Histogram; 2],
    series: Series,
    /// The interval that is being filled ends here, since the start.
    interval_end_ns: u64,
    counters_before: Vec<u64>,
    counters_now: Vec<u64>,
    work: u64,
    error: Option<RunError>,
    interrupted: bool,
}

impl<'a, D: BlockDevice, O: Observer> Running<'a, D, O> {
    fn new(device: &'a mut D, workload: &Workload, observer: &'a mut O) -> Result<Self, Error> {
        let threads: Result<Vec<Thread>, mileage_workload::Error> = (0..workload.threads)
            .map(|thread| {
                let execution = Execution::new(workload, thread)?;
                Ok(Thread { execution, record: ThreadRecord::default(), foretold: 0 })
            })
            .collect();
        let at_once = |thread| workload.operations_of(thread).clamp(1, u64::from(workload.depth)) as usize;
        let places: usize = (0..workload.threads).map(at_once).sum();
        let names = device.counter_names();
        let mut counters_before = vec![0; names.len()];
        device.counters(&mut counters_before);
        let start_ns = device.now_ns();
        Ok(Self {
            threads: threads?,
            outstanding: vec![IDLE; places],
            free: (0..places as u32).rev().collect(),
            next: Earliest::new(places, NEVER),
            ops: Vec::with_capacity(workload.depth as usize),
            requests: Vec::with_capacity(workload.depth as usize),
            completions: Vec::with_capacity(workload.depth as usize),
            start_ns,
            last_move_ns: start_ns,
            last_ns: start_ns,
            latency: [Histogram::default(), Histogram::default()],
            series: Series::new(INTERVAL_NS, names),
            interval_end_ns: 0,
            counters_now: counters_before.clone(),
            counters_before,
            work: 0,
            error: None,
            interrupted: false,
            device,
            observer,
        })
    }

    fn turn(&mut self, poll: &mut impl FnMut(u64, u64) -> bool) {
        for thread in 0..self.threads.len() as u32 {
            self.issue(thread, self.start_ns);
        }
        let mut report_at = WORK_BETWEEN_REPORTS;
        loop {
            let (now_ns, place) = self.next.first();
            if now_ns == NEVER {
                break;
            }
            let thread = self.complete(place);
            self.free.push(place);
            self.issue(thread, now_ns);
            if self.free.last() == Some(&place) {
                self.next.set(place, NEVER);
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
        let Thread { execution, foretold, .. } = &mut self.threads[thread as usize];
        if *foretold == 0 {
            let upcoming = execution.upcoming();
            self.device.prefetch(upcoming);
            *foretold = upcoming.len();
        }
        self.ops.clear();
        if execution.next(now_ns, &mut self.ops) != Step::Issue {
            return;
        }
        *foretold = foretold.saturating_sub(self.ops.len());
        self.requests.clear();
        self.requests.extend(self.ops.iter().map(|op| Request {
            kind: match op.kind {
                OpKind::Read => RequestKind::Read,
                OpKind::Write => RequestKind::Write,
                OpKind::Sync => RequestKind::Flush,
                OpKind::Discard => RequestKind::Discard,
            },
            fua: false,
            offset_bytes: op.offset_bytes,
            length_bytes: u64::from(op.length_bytes),
            submit_ns: now_ns,
        }));
        self.completions.clear();
        self.device.submit(&self.requests, &mut self.completions);
        for index in 0..self.completions.len() {
            let Completion { complete_ns, status } = self.completions[index];
            let refused = status != Status::Done;
            if let Status::Refused(refusal) = status {
                self.note_refusal(refusal);
            }
            let place = self.free.pop().expect("a thread has at most depth operations outstanding");
            self.outstanding[place as usize] =
                Outstanding { op: self.ops[index], thread, submit_ns: now_ns, complete_ns, refused };
            self.next.set(place, complete_ns);
        }
    }

    #[cold]
    fn note_refusal(&mut self, refusal: Refusal) {
        self.error.get_or_insert(RunError { kind: "EIO".to_owned(), message: format!("the drive refused: {refusal}") });
        self.stop();
    }

    /// Record a completion; whose it was.
    #[inline]
    fn complete(&mut self, place: u32) -> u32 {
        let Outstanding { op, thread, submit_ns, complete_ns, refused } = self.outstanding[place as usize];
        let Thread { execution, record, .. } = &mut self.threads[thread as usize];
        execution.complete(complete_ns);
        if refused {
            return thread;
        }
        self.observer.completed(thread, &op, submit_ns, complete_ns);
        self.last_ns = complete_ns;
        if op.kind == OpKind::Sync {
            return thread;
        }
        let bytes = u64::from(op.length_bytes);
        let read = op.kind == OpKind::Read;
        if read {
            record.ops_read += 1;
            record.bytes_read += bytes;
        } else {
            record.ops_written += 1;
            record.bytes_written += bytes;
        }
        record.calls += 1;
        self.work += 1 + (bytes >> 12);
        self.last_move_ns = complete_ns;
        self.latency[usize::from(!read)].record(complete_ns - submit_ns);
        let at_ns = complete_ns - self.start_ns;
        let crossing = at_ns >= self.interval_end_ns;
        if crossing {
            self.note_counters();
        }
        self.series.record(at_ns, if read { bytes } else { 0 }, if read { 0 } else { bytes }, complete_ns - submit_ns);
        if crossing {
            self.interval_end_ns = self.series.interval_end_ns();
        }
        thread
    }

    #[cold]
    fn note_counters(&mut self) {
        self.device.counters(&mut self.counters_now);
        for (now, before) in self.counters_now.iter_mut().zip(&self.counters_before) {
            *now -= before;
        }
        self.series.note_counters(&self.counters_now);
    }

    fn finish(mut self, workload: &Workload) -> RunRecord {
        self.device.advance_to(self.last_ns);
        self.note_counters();
        let submit_ns = self.last_move_ns - self.start_ns;
        let durable_ns = self.last_ns - self.start_ns;
        let names = self.device.counter_names();
        let [read, write] = &self.latency;
        let threads: Vec<ThreadRecord> = self.threads.into_iter().map(|thread| thread.record).collect();
        let sum = |pick: fn(&ThreadRecord) -> u64| threads.iter().map(pick).sum();
        RunRecord {
            bytes_read: sum(|thread| thread.bytes_read),
            bytes_written: sum(|thread| thread.bytes_written),
            ops_read: sum(|thread| thread.ops_read),
            ops_written: sum(|thread| thread.ops_written),
            submit_ns,
            durable_ns,
            elapsed_ns: if workload.sync_timed { durable_ns } else { submit_ns },
            latency: mileage_measure::LatencyData {
                read: read.to_data(),
                write: write.to_data(),
                ..Default::default()
            },
            series: self.series.to_data(),
            counters: names.iter().map(|name| (*name).to_owned()).zip(self.counters_now).collect(),
            threads,
            error: self.error,
            interrupted: self.interrupted,
            ..RunRecord::default()
        }
    }
}
