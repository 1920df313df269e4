//! One thread of a run: prepares, waits at the gate, turns its execution with the wall clock.

use crate::audit::{Snapshot, ThreadIo};
use crate::clock::now_ns;
use crate::errno;
use crate::error::Error;
use crate::gate::Gate;
use crate::memory::{Pages, Pool};
use mileage_measure::{Histogram, RunError, Series, ThreadRecord};
use mileage_workload::{Execution, Observer, Op, OpKind, Step, Sync, Workload};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The user asked the run to end.
pub(crate) const STOPPED: u8 = 1;
/// A thread failed; the others have no reason to go on.
pub(crate) const FAILED: u8 = 2;

/// First length of a series' intervals; it doubles by itself.
const INTERVAL_NS: u64 = 10_000_000;
/// How often a thread tells what it has done.
const TELL_NS: u64 = 10_000_000;

/// A value alone in its cache lines (two, since processors fetch lines in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// What a thread has done so far, for progress.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) bytes: AtomicU64,
    pub(crate) operations: AtomicU64,
}

/// What the threads of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) workload: Workload,
    pub(crate) path: PathBuf,
    pub(crate) audit: bool,
    pub(crate) align_bytes: usize,
    pub(crate) gate: Gate,
    pub(crate) halt: Padded<AtomicU8>,
    pub(crate) told: Box<[Padded<Told>]>,
}

impl Shared {
    pub(crate) fn halt(&self, why: u8) {
        self.halt.0.fetch_or(why, Ordering::Relaxed);
    }
}

/// What a thread leaves behind. Times are in nanoseconds since the gate opened.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) record: ThreadRecord,
    pub(crate) read: Histogram,
    pub(crate) write: Histogram,
    pub(crate) series: Series,
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: u64,
    pub(crate) durable_ns: Option<u64>,
    pub(crate) interrupted: bool,
    pub(crate) failure: Option<(u64, RunError)>,
    pub(crate) io: Option<ThreadIo>,
}

/// Why an operation did not complete, and how far it came.
struct Failure {
    op: Op,
    errno: Option<Errno>,
    done: usize,
}

/// Everything the loop touches; nothing in it grows.
struct Worker<'a, O> {
    shared: &'a Shared,
    thread: u32,
    file: OwnedFd,
    execution: Execution,
    /// Operations that the execution has ready; at zero it must compute more.
    ready: usize,
    out: Vec<Op>,
    read_buffer: Option<Pages>,
    pool: Option<Pool>,
    observer: O,
    part: Part,
}

/// Do one thread's part of the run.
pub(crate) fn work<O: Observer>(shared: &Shared, thread: u32, file: OwnedFd, observer: O) -> Result<Part, Error> {
    let seat = shared.gate.seat();
    let prepared = Worker::new(shared, thread, file, observer);
    let before = prepared.and_then(|worker| Ok((worker, shared.audit.then(Snapshot::take).transpose()?)));
    let (mut worker, before) = before.inspect_err(|_| shared.halt(FAILED))?;
    let origin_ns = seat.wait();
    let failure = worker.turn(origin_ns);
    if let Some(before) = before {
        worker.part.io = Some(before.until(&Snapshot::take()?));
    }
    worker.part.failure = failure.map(|(at_ns, failure)| (at_ns, worker.describe(&failure)));
    worker.tell();
    Ok(worker.part)
}

impl<'a, O: Observer> Worker<'a, O> {
    fn new(shared: &'a Shared, thread: u32, file: OwnedFd, observer: O) -> Result<Self, Error> {
        let workload = &shared.workload;
        let mut execution = Execution::new(workload, thread)?;
        let reads = workload.read_percent > 0;
        let writes = workload.read_percent < 100;
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        Ok(Self {
            shared,
            thread,
            file,
            ready: execution.upcoming().len(),
            execution,
            out: Vec::with_capacity(1),
            read_buffer: reads.then(|| Pages::new(workload.record_bytes as usize)).transpose()?,
            pool: writes.then(|| Pool::new(workload, thread, shared.align_bytes)).transpose()?,
            observer,
            part: Part {
                record: ThreadRecord { tid: Some(tid), ..ThreadRecord::default() },
                read: Histogram::default(),
                write: Histogram::default(),
                series: Series::new(INTERVAL_NS, &[]),
                first_ns: None,
                last_ns: 0,
                durable_ns: None,
                interrupted: false,
                failure: None,
                io: None,
            },
        })
    }

    /// Turn the execution until it is done, the run is halted, or an operation fails.
    fn turn(&mut self, origin_ns: u64) -> Option<(u64, Failure)> {
        let mut at_ns = now_ns() - origin_ns;
        let mut tell_ns = TELL_NS;
        loop {
            if self.ready == 0 {
                self.ready = self.execution.upcoming().len();
                at_ns = now_ns() - origin_ns;
            }
            let halt = self.shared.halt.0.load(Ordering::Relaxed);
            if halt != 0 {
                self.part.interrupted = halt & STOPPED != 0;
                return None;
            }
            self.out.clear();
            match self.execution.next(at_ns, &mut self.out) {
                Step::Issue => {}
                Step::Done => return None,
                Step::AwaitCompletion | Step::WaitUntil(_) => {
                    unreachable!("at depth 1 every operation completes before the next is asked for")
                }
            }
            let op = self.out[0];
            let done = match op.kind {
                OpKind::Read => self.read(op),
                OpKind::Write => self.write(op),
                OpKind::Sync => self.sync(op),
                OpKind::Discard => unreachable!("refused when the workload is checked"),
            };
            let end_ns = now_ns() - origin_ns;
            if let Err(failure) = done {
                self.shared.halt(FAILED);
                return Some((end_ns, failure));
            }
            self.count(op, at_ns, end_ns);
            if end_ns >= tell_ns {
                self.tell();
                tell_ns = end_ns + TELL_NS;
            }
            at_ns = end_ns;
        }
    }

    #[inline]
    fn read(&mut self, op: Op) -> Result<(), Failure> {
        let buffer = self.read_buffer.as_mut().expect("a workload that reads has a read buffer").bytes_mut();
        let (length, record) = (op.length_bytes as usize, &mut self.part.record);
        let mut done = 0;
        while done < length {
            record.calls += 1;
            match rustix::io::pread(&self.file, &mut buffer[done..length], op.offset_bytes + done as u64) {
                Ok(0) => return Err(Failure { op, errno: None, done }),
                Ok(count) => {
                    done += count;
                    record.bytes_read += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Failure { op, errno: Some(errno), done }),
            }
        }
        record.ops_read += 1;
        Ok(())
    }

    #[inline]
    fn write(&mut self, op: Op) -> Result<(), Failure> {
        let buffer = self.pool.as_mut().expect("a workload that writes has a pool").next();
        let (length, record) = (op.length_bytes as usize, &mut self.part.record);
        let mut done = 0;
        while done < length {
            record.calls += 1;
            match rustix::io::pwrite(&self.file, &buffer[done..length], op.offset_bytes + done as u64) {
                Ok(0) => return Err(Failure { op, errno: None, done }),
                Ok(count) => {
                    done += count;
                    record.bytes_written += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Failure { op, errno: Some(errno), done }),
            }
        }
        record.ops_written += 1;
        Ok(())
    }

    #[cold]
    fn sync(&mut self, op: Op) -> Result<(), Failure> {
        loop {
            let synced = match self.shared.workload.sync {
                Sync::Fsync => rustix::fs::fsync(&self.file),
                Sync::Fdatasync => rustix::fs::fdatasync(&self.file),
                Sync::None => unreachable!("the execution asks for no sync that the workload does not have"),
            };
            match synced {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Failure { op, errno: Some(errno), done: 0 }),
            }
        }
    }

    /// Book an operation that has completed.
    #[inline]
    fn count(&mut self, op: Op, at_ns: u64, end_ns: u64) {
        let part = &mut self.part;
        let (latency_ns, bytes) = (end_ns - at_ns, u64::from(op.length_bytes));
        match op.kind {
            OpKind::Read => {
                part.read.record(latency_ns);
                part.series.record(end_ns, bytes, 0, latency_ns);
            }
            OpKind::Write => {
                part.write.record(latency_ns);
                part.series.record(end_ns, 0, bytes, latency_ns);
            }
            OpKind::Sync | OpKind::Discard => part.durable_ns = Some(end_ns),
        }
        if op.kind != OpKind::Sync {
            part.first_ns.get_or_insert(at_ns);
            part.last_ns = end_ns;
            self.ready -= 1;
        }
        self.execution.complete(end_ns);
        self.observer.completed(self.thread, &op, at_ns, end_ns);
    }

    /// Let progress see what has been done.
    fn tell(&self) {
        let (told, record) = (&self.shared.told[self.thread as usize].0, &self.part.record);
        told.bytes.store(record.bytes_read + record.bytes_written, Ordering::Relaxed);
        told.operations.store(record.ops_read + record.ops_written, Ordering::Relaxed);
    }

    #[cold]
    fn describe(&self, failure: &Failure) -> RunError {
        let Failure { op, errno, done } = failure;
        let path = self.shared.path.display();
        let what = match (op.kind, self.shared.workload.sync) {
            (OpKind::Sync, Sync::Fsync) => format!("fsync of {path}"),
            (OpKind::Sync, _) => format!("fdatasync of {path}"),
            (kind, _) => {
                let verb = if kind == OpKind::Read { "read" } else { "write" };
                let (length, offset) = (op.length_bytes, op.offset_bytes);
                format!("{verb} of {length} bytes at offset {offset} of {path} failed after {done} bytes")
            }
        };
        // Direct I/O cannot go on from the middle of a sector, where a file that has become shorter ends.
        let ended = op.kind == OpKind::Read && *done > 0 && *errno == Some(Errno::INVAL);
        match errno {
            None if op.kind == OpKind::Write => RunError {
                kind: "EIO".to_owned(),
                message: format!("{what}: the kernel took nothing and gave no reason"),
            },
            Some(errno) if !ended => {
                let (kind, sentence, advice) = (errno::name(*errno), errno::sentence(*errno), errno::advice(*errno));
                RunError { message: format!("{what}: {sentence} ({kind}){advice}"), kind }
            }
            _ => RunError {
                kind: "EOF".to_owned(),
                message: format!("{what}: the target ends there; it has become shorter since the run began"),
            },
        }
    }
}
