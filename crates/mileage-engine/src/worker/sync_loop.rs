//! The I/O loop for APIs with one operation at a time: issues the operations of a workload in real time.

use super::accounting::{Accounting, CompletedOp, Loop};
use super::failure::{FLUSH, Failure};
use super::run_state::SharedState;
use super::timed_wait;
use crate::api::Transfer;
use crate::clock::RunClock;
use crate::data::{Buffers, Data};
use crate::error::Error;
use crate::thread_signals::{FAILED, STOPPED};
use mileage_measure::RunError;
use mileage_workload::{Completion, Execution, Observer, Op, OpKind, Step};
use rustix::io::Errno;
use std::time::Duration;

/// Number and interval of retries of a call that returns EAGAIN: after a second in all it has failed.
const AGAIN_TIMES: u32 = 1000;
const AGAIN_AFTER: Duration = Duration::from_millis(1);

/// State of the loop; allocates nothing while operations run.
pub(super) struct SyncLoop<'a, T, O> {
    shared: &'a SharedState,
    thread: u32,
    execution: Execution,
    transfer: T,
    data: Data,
    accounting: Accounting<'a>,
    touch_bytes: u32,
    observer: O,
}

impl<'a, T: Transfer, O: Observer> Loop<'a> for SyncLoop<'a, T, O> {
    fn turn(&mut self, clock: RunClock) -> Option<(u64, RunError)> {
        let (at_ns, failure) = self.run(clock)?;
        Some((at_ns, self.shared.describe(&failure, self.thread)))
    }

    fn close(&mut self) {
        self.accounting.close(&mut self.data);
    }

    fn accounting(&mut self) -> &mut Accounting<'a> {
        &mut self.accounting
    }
}

impl<'a, T: Transfer, O: Observer> SyncLoop<'a, T, O> {
    /// The loop of one thread.
    pub(super) fn new(shared: &'a SharedState, thread: u32, transfer: T, observer: O) -> Result<Self, Error> {
        let workload = shared.workload_of(thread);
        Ok(Self {
            shared,
            thread,
            execution: Execution::new(&workload, thread)?,
            transfer,
            data: Data::new(&workload, thread, Buffers::Own, shared.laps_of(thread))?,
            accounting: Accounting::new(shared, thread, &workload),
            touch_bytes: shared.options.touch_bytes,
            observer,
        })
    }

    /// Turn the execution until it is done, the run is halted, or an operation fails; the failure and when it came.
    ///
    /// The clock is read once at each boundary between operations, and once more where something that is no part of
    /// a latency took time: choosing the next offsets, generating what is written, comparing what was read.
    fn run(&mut self, clock: RunClock) -> Option<(u64, Failure)> {
        let mut out = Vec::with_capacity(1);
        let signals = self.shared.signals();
        // Operations that the execution has ready; at zero it must compute more.
        let mut ready = self.execution.upcoming().len();
        let mut at_ns = clock.now_ns();
        let mut counted = self.shared.workload.load.warm_up_ns == 0;
        let (ahead, mut prepared) = (self.data.prepares(), false);
        loop {
            if ready == 0 {
                ready = self.execution.upcoming().len();
                // Computing offsets took time that belongs to no operation: without a new reading the next latency would
                // include it.
                at_ns = clock.now_ns();
            }
            at_ns = self.compute(at_ns, ready, clock);
            let halt = signals.halted();
            if halt != 0 {
                self.accounting.part.interrupted = halt & STOPPED != 0;
                return None;
            }
            if ahead && !prepared {
                prepared = self.prepare(&mut at_ns, counted, clock);
            }
            if !counted && self.execution.will_count(at_ns) {
                counted = true;
                self.accounting.warmed_up();
                at_ns = clock.now_ns();
            }
            let (op, due_ns) = if let Some(op) = self.execution.next_plain(at_ns) {
                (op, None)
            } else {
                out.clear();
                match self.execution.next_shown(at_ns, &mut out) {
                    Step::Issue => (out[0], self.execution.due_ns().first().copied()),
                    Step::Done => return self.finish(clock),
                    Step::WaitUntil(until_ns) => {
                        at_ns = timed_wait::until(clock, until_ns, |now_ns| self.accounting.is_halted(now_ns));
                        continue;
                    }
                    Step::AwaitCompletion => {
                        unreachable!("at depth 1 every operation completes before the next is asked for")
                    }
                }
            };
            // Before the call: the watchdog measures from the change of this number, not from the last operation.
            self.accounting.begin(&op, at_ns);
            // Before the call as well: a concurrent reader must see that this range may change.
            self.data.submit(&op, 0);
            let done = self.perform(&op, counted);
            let end_ns = self.end_of(&op, at_ns, counted && done.is_ok(), clock);
            if let Err(failure) = done {
                return self.give_up(counted.then(|| due_ns.unwrap_or(at_ns)), end_ns, failure);
            }
            let done = CompletedOp { op: &op, due_ns, submit_ns: at_ns, complete_ns: end_ns, counted };
            let long = self.accounting.completed(done);
            // `upcoming` does not list syncs, so they use up neither an offset nor prepared data.
            if op.kind != OpKind::Sync {
                (ready, prepared) = (ready - 1, false);
            }
            // With `end_ns`, not a later reading: pauses and rates of the load count from the completion itself.
            self.execution.complete(end_ns);
            self.observer.completed(&Completion {
                thread: self.thread,
                op,
                due_ns: due_ns.unwrap_or(at_ns),
                submit_ns: at_ns,
                complete_ns: end_ns,
                counted,
            });
            // The end of one operation is the start of the next, which saves a clock reading per operation.
            at_ns = if long { clock.now_ns() } else { end_ns };
            // Comparing comes after the latency was taken; its own time is counted as `verify_ns`.
            if self.data.completed(&op, 0) {
                self.data.compare_incoming(&op);
                let began_ns = at_ns;
                at_ns = clock.now_ns();
                self.accounting.part.verify_ns += at_ns - began_ns;
            }
        }
    }

    /// Read the clock at the end of an operation that was begun at `at_ns`, and once more where latencies are split.
    #[inline]
    fn end_of(&mut self, op: &Op, at_ns: u64, counted: bool, clock: RunClock) -> u64 {
        let handed_ns = clock.now_ns();
        if !self.shared.options.split_latency {
            return handed_ns;
        }
        let end_ns = clock.now_ns();
        if counted {
            self.accounting.part.record_split(op.kind, handed_ns - at_ns, end_ns - handed_ns);
        }
        end_ns
    }

    /// Generate what the next operation carries, before it is released; `at_ns` moves on. False when none is left.
    #[inline]
    fn prepare(&mut self, at_ns: &mut u64, counted: bool, clock: RunClock) -> bool {
        let Some(op) = self.execution.upcoming().first().copied() else { return false };
        self.data.prepare_outgoing(&op);
        let filled_ns = clock.now_ns();
        self.accounting.part.fill_ns += if counted { filled_ns - *at_ns } else { 0 };
        *at_ns = filled_ns;
        true
    }

    /// Keep the processor busy before an operation, if one is ready and the API asks for that; the time at the end.
    #[inline]
    fn compute(&mut self, began_ns: u64, ready: usize, clock: RunClock) -> u64 {
        let compute_ns = if T::COMPUTES && ready > 0 { self.transfer.compute_ns() } else { 0 };
        if compute_ns == 0 {
            return began_ns;
        }
        let mut now_ns = clock.now_ns();
        while now_ns < began_ns.saturating_add(compute_ns) && !self.accounting.is_halted(now_ns) {
            std::hint::spin_loop();
            now_ns = clock.now_ns();
        }
        self.accounting.part.computed(began_ns, now_ns);
        now_ns
    }

    /// Do one operation whole.
    #[inline]
    fn perform(&mut self, op: &Op, counted: bool) -> Result<(), Failure> {
        let Self { shared, transfer, data, accounting, touch_bytes, .. } = self;
        let touch_bytes = *touch_bytes;
        let at = |done: usize| op.offset_bytes + done as u64;
        match op.kind {
            OpKind::Read => {
                let into = data.incoming(op);
                move_whole::<T>(op, shared, counted, accounting, |done| transfer.read(at(done), &mut into[done..]))?;
                touch(into, touch_bytes);
                Ok(())
            }
            OpKind::Write => {
                let from = data.outgoing(op);
                move_whole::<T>(op, shared, counted, accounting, |done| transfer.write(at(done), &from[done..]))
            }
            _ => self.command(op),
        }
    }

    /// Do an operation that moves no bytes.
    #[cold]
    fn command(&mut self, op: &Op) -> Result<(), Failure> {
        let mut tries = 0;
        // A final sync that is not timed comes after the thread's end.
        if op.kind == OpKind::Sync && !self.shared.workload.sync_timed && self.execution.upcoming().is_empty() {
            self.accounting.done(false);
        }
        loop {
            let answer = self.accounting.part.blocking_call(|| match op.kind {
                OpKind::Sync => self.transfer.sync(self.shared.workload.sync),
                _ => self.transfer.command(op),
            });
            match answer {
                Ok(()) => return Ok(()),
                Err(errno) => try_again(self.shared, errno, &mut tries, op, 0)?,
            }
        }
    }

    /// Everything was issued and has completed: hand over what the API still keeps back, within the run's time.
    #[cold]
    fn finish(&mut self, clock: RunClock) -> Option<(u64, Failure)> {
        let mut tries = 0;
        self.accounting.begin(&FLUSH, clock.now_ns());
        loop {
            let answer = self.accounting.part.blocking_call(|| self.transfer.finish());
            let end_ns = clock.now_ns();
            match answer {
                Ok(()) => {
                    if T::ENDS_IN_TIME {
                        self.accounting.ended(end_ns);
                    } else if T::KEEPS_BACK {
                        self.accounting.handed_over(end_ns);
                    }
                    self.accounting.done(self.shared.workload.sync_timed);
                    return None;
                }
                Err(errno) => {
                    if let Err(failure) = try_again(self.shared, errno, &mut tries, &FLUSH, 0) {
                        return self.give_up(None, end_ns, failure);
                    }
                }
            }
        }
    }

    /// An operation did not complete: the run has failed, unless it was only not tried again since it is halted.
    /// `began_ns`: when it began, if it counts.
    #[cold]
    fn give_up(&mut self, began_ns: Option<u64>, at_ns: u64, failure: Failure) -> Option<(u64, Failure)> {
        let halt = self.shared.signals().halted();
        // A halted run does not retry, so these two errors say nothing about the target.
        if halt != 0 && matches!(failure.errno, Some(Errno::INTR | Errno::AGAIN)) {
            self.accounting.part.interrupted = halt & STOPPED != 0;
            return None;
        }
        self.shared.halt(FAILED);
        if let Some(began_ns) = began_ns {
            self.accounting.part.given_up(failure.op.kind, began_ns, at_ns);
        }
        Some((at_ns, failure))
    }
}

/// Change one byte in every `every_bytes` of what was read, so that every page is really present; 0 for none.
#[inline]
fn touch(read: &mut [u8], every_bytes: u32) {
    if every_bytes > 0 {
        // Without the black box the compiler may drop stores that nobody reads.
        std::hint::black_box(read).iter_mut().step_by(every_bytes as usize).for_each(|byte| *byte &= 1);
    }
}

/// Call until the whole operation has moved. The kernel may take or give less than asked at any time.
#[inline]
fn move_whole<T: Transfer>(
    op: &Op,
    shared: &SharedState,
    counted: bool,
    accounting: &mut Accounting<'_>,
    mut call: impl FnMut(usize) -> Result<usize, Errno>,
) -> Result<(), Failure> {
    let answer = move_some::<T>(op, counted, accounting, || call(0));
    if answer == Ok(op.length_bytes as usize) {
        return Ok(());
    }
    move_rest::<T>(op, shared, counted, accounting, answer, call)
}

/// Make one call, and book what it moved.
#[expect(clippy::inline_always, reason = "the call is to be an instruction of the loop: docs/decisions/0009")]
#[inline(always)]
fn move_some<T: Transfer>(
    op: &Op,
    counted: bool,
    accounting: &mut Accounting<'_>,
    call: impl FnOnce() -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let answer = accounting.part.blocking_call(call);
    if counted {
        accounting.moved(op.kind, answer.unwrap_or(0), T::CALLS);
    }
    answer
}

/// Continue after the first call's `answer`, until all bytes have moved.
#[cold]
fn move_rest<T: Transfer>(
    op: &Op,
    shared: &SharedState,
    counted: bool,
    accounting: &mut Accounting<'_>,
    mut answer: Result<usize, Errno>,
    mut call: impl FnMut(usize) -> Result<usize, Errno>,
) -> Result<(), Failure> {
    let (length, mut done, mut tries) = (op.length_bytes as usize, 0, 0);
    loop {
        match answer {
            Ok(0) => return Err(Failure { op: *op, errno: None, done }),
            Ok(count) => done += count,
            Err(errno) => try_again(shared, errno, &mut tries, op, done)?,
        }
        if done >= length {
            return Ok(());
        }
        answer = move_some::<T>(op, counted, accounting, || call(done));
    }
}

/// Whether a failed call is to be retried: at once if a signal interrupted it, after a while if the kernel asks for
/// that.
#[cold]
fn try_again(shared: &SharedState, errno: Errno, tries: &mut u32, op: &Op, done: usize) -> Result<(), Failure> {
    let stopped = shared.signals().halted() != 0;
    match errno {
        Errno::INTR if !stopped => Ok(()),
        Errno::AGAIN if !stopped && *tries < AGAIN_TIMES => {
            *tries += 1;
            std::thread::sleep(AGAIN_AFTER);
            Ok(())
        }
        errno => Err(Failure { op: *op, errno: Some(errno), done }),
    }
}
