//! The I/O loop for `io_uring`: issues the operations of a workload in real time and keeps many of them outstanding.
//!
//! # When operations are submitted
//! The engine's own rule (`batch` 0): everything that may be issued goes to the kernel with one call, which waits for
//! at least one completion and brings back all there are. On a target that answers at once (the page cache) that is a
//! batch of the whole depth, and costs one call for all; on a device it never holds back a completion to wait for
//! others, which would cost rate, and still gathers those that came while the thread was away. Past the page cache the
//! device is to have the first while the last are still submitted: an eighth of the depth goes with one call where only
//! reads are done, and each operation by itself where some write. In turn with `uring:batch=1` and `batch=4` at depth 32
//! on a virtio disk, random writes of 4 KiB were 8 % slower by fours; reads were not, and took a fifth less processor
//! time. With `batch` N, N operations are submitted together and N completions waited for, or as many as are
//! outstanding.
//!
//! # When data is generated
//! Before the operation that writes it is released. Past the page cache there are more slots than operations
//! outstanding, so that the next ones are filled while the device works, and what completes is followed at once. A
//! completion that comes meanwhile ends that: it waits for one buffer at most, some 0.2 us for 4 KiB and 50 us for 1 MiB
//! at 20 GB/s, which its latency then holds.
//!
//! # What is timed
//! An operation's latency runs from the moment the execution released it to the moment at which the loop has its
//! completion in hand: operations submitted together begin together, and completions found together end together. The
//! ring does not say when in between each was done.

#![expect(clippy::inline_always, reason = "made in the loop's own function: docs/decisions/0009")]

use super::accounting::{Accounting, CompletedOp, Loop};
use super::failure::{Failure, overdue};
use super::run_state::SharedState;
use crate::api::uring::workers::Workers;
use crate::api::uring::{Call, ReturnedCall, Ring, Settings, slots_of};
use crate::clock::RunClock;
use crate::data::{Buffers, Data};
use crate::error::Error;
use crate::thread_signals::{FAILED, STOPPED};
use mileage_measure::RunError;
use mileage_workload::{Completion, Execution, Observer, Op, OpKind, Step, Sync};
use rustix::fd::OwnedFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::time::Duration;

/// The mode of `fallocate` that makes a hole in a file.
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// Interval at which a waiting thread checks whether it should end.
const LOOK_NS: u64 = 20_000_000;
/// A wait for an instant ends this long before it, and spins for the rest: a sleeping thread comes too late.
const SPIN_NS: u64 = 60_000;
/// Kernel threads that did more than one part in this number of the work, by processor time, are noted in the record.
const PUNTED_SHARE: u64 = 20;

/// An operation that is outstanding.
#[derive(Clone, Copy, Debug)]
struct OutstandingOp {
    op: Op,
    due_ns: Option<u64>,
    submit_ns: u64,
    /// When the call that handed it to the kernel had returned; only known where latencies are split.
    handed_ns: u64,
    /// Bytes of it that were moved.
    done: u32,
    /// Whether the operation counts in the record.
    counted: bool,
}

/// State of the `io_uring` loop; allocates nothing while operations run.
pub(super) struct RingLoop<'a, O> {
    shared: &'a SharedState,
    thread: u32,
    execution: Execution,
    ring: Ring,
    data: Data,
    accounting: Accounting<'a>,
    observer: O,
    settings: Settings,
    /// Operations that go with one call; 0 for all there are.
    together: usize,
    flights: Box<[Option<OutstandingOp>]>,
    free: Vec<u32>,
    /// Whether there are spare slots to fill while the device works.
    spare: bool,
    /// Slots that hold what the next operations write, in their order.
    prepared: VecDeque<u32>,
    reaped: Vec<ReturnedCall>,
    /// Operations that are queued and not handed to the kernel yet; always empty unless latencies are split.
    queued: Vec<u32>,
    /// Call by which the target discards space.
    discard: Call,
    /// Time of the last look for operations that take too long.
    looked_ns: u64,
    workers: Workers,
    /// Whether an operation was submitted that the kernel always hands to a kernel thread.
    handed_on: bool,
    /// Processor time of the thread when it began.
    began_cpu_ns: u64,
    /// Whether the warm-up is over.
    counted: bool,
    /// Bytes that may still be issued before the target is dropped from the page cache, where the options ask for that.
    cached_bytes_left: u64,
}

const IN_FLIGHT: &str = "a call returns to the operation it was made for";

/// An operation that failed, and when.
type FailureAt = (u64, RunError);

impl<'a, O: Observer> RingLoop<'a, O> {
    /// The loop of one thread; the ring is the calling thread's.
    pub(super) fn new(
        shared: &'a SharedState,
        thread: u32,
        file: OwnedFd,
        settings: Settings,
        observer: O,
    ) -> Result<Self, Error> {
        let workload = &shared.workload;
        let depth = workload.depth;
        let block =
            rustix::fs::fstat(&file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice);
        let slots = slots_of(workload, shared.options.direct);
        let length_bytes = workload.length_bytes_max();
        let mut ring = Ring::new(settings, depth, slots, length_bytes, file, &shared.options.path)?;
        let data = Data::new(workload, thread, Buffers::OfSlots(slots), shared.laps_of(thread))?;
        let spare = slots > depth && data.prepares() && !settings.iopoll;
        // Content that is the same in every write is put into every buffer once, so that the run generates nothing.
        (0..slots).for_each(|slot| data.prime(ring.bytes_mut(slot, length_bytes as usize)));
        Ok(Self {
            shared,
            thread,
            execution: Execution::new(workload, thread)?,
            ring,
            data,
            accounting: Accounting::new(shared, thread, workload),
            observer,
            settings,
            together: match settings.batch {
                // The page cache answers at once, and rings that poll need no call per operation: nothing is gained by
                // submitting early. The other two values were measured, see the module's head.
                0 if !shared.options.direct || settings.iopoll || settings.sqpoll => 0,
                0 if workload.writes() => 1,
                0 => depth.div_ceil(8) as usize,
                batch => batch as usize,
            },
            flights: vec![None; slots as usize].into(),
            free: (0..slots).rev().collect(),
            spare,
            prepared: VecDeque::with_capacity(slots as usize),
            reaped: Vec::with_capacity(depth as usize),
            queued: Vec::with_capacity(slots as usize),
            discard: if block { Call::Discard } else { Call::Allocate(PUNCH) },
            looked_ns: 0,
            workers: Workers::default(),
            handed_on: false,
            cached_bytes_left: shared.options.drop_cache_every_bytes,
            began_cpu_ns: 0,
            counted: workload.load.warm_up_ns == 0,
        })
    }

    /// Turn the execution until it is done, the run is halted, or an operation fails.
    fn run(&mut self, clock: RunClock) -> Result<(), FailureAt> {
        let mut out = Vec::with_capacity(self.shared.workload.depth as usize);
        let signals = self.shared.signals();
        // Operations that the execution has ready; at zero it must compute more.
        let mut ready = self.execution.upcoming().len();
        let mut at_ns = clock.now_ns();
        loop {
            let halt = signals.halted();
            if halt != 0 {
                self.accounting.part.interrupted = halt & STOPPED != 0;
                // The kernel still writes into our buffers: they may be freed only when every call has returned.
                return self.drain(clock);
            }
            if self.data.prepares() {
                self.prepare(&mut at_ns, clock);
            }
            if !self.counted && self.execution.will_count(at_ns) {
                self.counted = true;
                self.accounting.warmed_up();
                at_ns = clock.now_ns();
            }
            out.clear();
            match self.execution.next_shown(at_ns, &mut out) {
                Step::Issue => {
                    self.issue(at_ns, &out, clock)?;
                    ready = ready.saturating_sub(out.len());
                    // With the same `at_ns`: operations released together are submitted together and start together.
                    continue;
                }
                Step::AwaitCompletion => {
                    self.prepare_ahead(clock)?;
                    self.collect(self.wanted(), LOOK_NS, clock)?;
                }
                Step::WaitUntil(due_ns) => {
                    self.prepare_ahead(clock)?;
                    self.wait_until(due_ns, clock)?;
                }
                Step::Done => {
                    self.accounting.done(self.shared.workload.sync_timed);
                    return Ok(());
                }
            }
            if ready == 0 {
                ready = self.execution.upcoming().len();
            }
            at_ns = clock.now_ns();
        }
    }

    /// Fill what may be released now, unless it was filled ahead; `at_ns` moves on.
    #[inline]
    fn prepare(&mut self, at_ns: &mut u64, clock: RunClock) {
        let may_be_released = self.shared.workload.depth.saturating_sub(self.ring.outstanding()) as usize;
        if self.prepared.len() >= may_be_released || !self.prepare_one() {
            return;
        }
        while self.prepared.len() < may_be_released && self.prepare_one() {}
        let filled_ns = clock.now_ns();
        self.accounting.part.fill_ns += if self.counted { filled_ns - *at_ns } else { 0 };
        *at_ns = filled_ns;
    }

    /// Before a wait: fill the slots that are left over, until there is a completion.
    #[inline(always)]
    fn prepare_ahead(&mut self, clock: RunClock) -> Result<(), FailureAt> {
        if self.spare && self.prepared.len() < self.execution.upcoming().len() && !self.free.is_empty() {
            // The device must have its work before the thread fills buffers, or it would be idle meanwhile.
            if self.ring.has_queued() {
                self.enter(0, 0, clock)?;
            }
            let began_ns = clock.now_ns();
            while !self.ring.has_news() && self.prepare_one() {}
            self.accounting.part.fill_ns += if self.counted { clock.now_ns() - began_ns } else { 0 };
        }
        Ok(())
    }

    /// Fill what the first operation writes that is not prepared; false where none is known or no slot is free.
    #[inline]
    fn prepare_one(&mut self) -> bool {
        let Self { execution, prepared, free, ring, data, .. } = self;
        let Some(op) = execution.upcoming().get(prepared.len()) else { return false };
        let Some(slot) = free.pop() else { return false };
        data.prepare(op, slot as usize, ring.bytes_mut(slot, op.length_bytes as usize));
        prepared.push_back(slot);
        true
    }

    /// A slot for an operation that is released.
    #[inline]
    fn slot_for(&mut self, op: &Op) -> u32 {
        let slot = if op.kind == OpKind::Sync || !self.data.prepares() {
            // A sync that comes before what is prepared may find no slot left: the last one is filled again later.
            self.free.pop().or_else(|| {
                self.data.take_back();
                self.prepared.pop_back()
            })
        } else {
            self.prepared.pop_front()
        };
        slot.expect("no more operations are released than the depth")
    }

    /// Queue what was released at `at_ns`.
    #[inline(always)]
    fn issue(&mut self, at_ns: u64, out: &[Op], clock: RunClock) -> Result<(), FailureAt> {
        let together = self.together;
        if self.shared.options.drop_cache_every_bytes > 0 {
            self.drop_cache(at_ns, out)?;
        }
        for (number, op) in out.iter().enumerate() {
            let slot = self.slot_for(op);
            self.data.submit(op, slot as usize);
            if !op.kind.moves_bytes() {
                self.about_to_hand_on(op);
            }
            let due_ns = self.execution.due_ns().get(number).copied();
            self.flights[slot as usize] =
                Some(OutstandingOp { op: *op, due_ns, submit_ns: at_ns, handed_ns: 0, done: 0, counted: self.counted });
            if op.kind == OpKind::Sync && self.settings.iopoll {
                self.sync_aside(slot, op, at_ns, clock)?;
                continue;
            }
            self.queue(slot, op, 0);
            if self.shared.options.split_latency {
                self.queued.push(slot);
            }
            if together > 0 && (number + 1) % together == 0 {
                self.enter(0, 0, clock)?;
            }
        }
        Ok(())
    }

    /// Before operations are issued: drop the target from the page cache if a pass has been issued since the last time.
    #[cold]
    fn drop_cache(&mut self, at_ns: u64, out: &[Op]) -> Result<(), FailureAt> {
        if self.cached_bytes_left == 0 {
            rustix::fs::fadvise(self.ring.file(), 0, None, rustix::fs::Advice::DontNeed)
                .map_err(|errno| (at_ns, self.broken(errno)))?;
            self.cached_bytes_left = self.shared.options.drop_cache_every_bytes;
        }
        let issued_bytes: u64 =
            out.iter().filter(|op| op.kind.moves_bytes()).map(|op| u64::from(op.length_bytes)).sum();
        self.cached_bytes_left = self.cached_bytes_left.saturating_sub(issued_bytes);
        Ok(())
    }

    /// Before an operation that kernel threads do on any target.
    #[cold]
    fn about_to_hand_on(&mut self, op: &Op) {
        if !self.handed_on {
            self.look_for_workers();
        }
        // A final sync that is not timed comes after the thread's end.
        if op.kind == OpKind::Sync && !self.shared.workload.sync_timed && self.execution.upcoming().is_empty() {
            self.accounting.done(false);
        }
    }

    /// Queue what is left of an outstanding operation.
    #[cold]
    fn queue_again(&mut self, slot: u32) {
        let OutstandingOp { op, done, .. } = self.flights[slot as usize].expect(IN_FLIGHT);
        self.queue(slot, &op, done);
    }

    /// Queue an operation, or what is left of it after `done` bytes.
    #[inline]
    fn queue(&mut self, slot: u32, op: &Op, done: u32) {
        let call = match op.kind {
            OpKind::Read => Call::Read,
            OpKind::Write => Call::Write,
            OpKind::Discard => self.discard,
            OpKind::Sync if self.shared.workload.sync == Sync::Fsync => Call::Fsync,
            OpKind::Sync => Call::Fdatasync,
        };
        self.ring.queue(slot, call, op.offset_bytes + u64::from(done), done, op.length_bytes - done);
    }

    /// A ring that polls cannot sync, so the system call is made directly.
    #[cold]
    fn sync_aside(&mut self, slot: u32, op: &Op, at_ns: u64, clock: RunClock) -> Result<(), FailureAt> {
        self.accounting.begin(op, at_ns);
        loop {
            let synced = self.accounting.part.blocking_call(|| match self.shared.workload.sync {
                Sync::Fsync => rustix::fs::fsync(self.ring.file()),
                _ => rustix::fs::fdatasync(self.ring.file()),
            });
            let now_ns = clock.now_ns();
            match synced {
                Ok(()) => {
                    self.finish(slot, now_ns, clock);
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err((now_ns, self.describe(slot, Some(errno)))),
            }
        }
    }

    /// Completions to wait for.
    #[inline]
    fn wanted(&self) -> u32 {
        self.settings.batch.clamp(1, self.ring.outstanding().max(1))
    }

    /// Wait until `due_ns` or a completion.
    fn wait_until(&mut self, due_ns: u64, clock: RunClock) -> Result<(), FailureAt> {
        let left_ns = due_ns.saturating_sub(clock.now_ns());
        if left_ns > 2 * SPIN_NS {
            return self.collect(1, (left_ns - SPIN_NS).min(LOOK_NS), clock);
        }
        if self.ring.has_news() {
            return self.collect(0, 0, clock);
        }
        std::hint::spin_loop();
        Ok(())
    }

    #[inline(always)]
    fn enter(&mut self, want: u32, wait_ns: u64, clock: RunClock) -> Result<(), FailureAt> {
        self.accounting.moved(OpKind::Sync, 0, u64::from(self.counted));
        self.accounting.enter();
        // One call may submit and complete many operations: it is counted here as a call without bytes, and the bytes
        // when their completions are found.
        let entered = self.accounting.part.blocking_call(|| self.ring.enter(want, Duration::from_nanos(wait_ns)));
        entered.map_err(|errno| (clock.now_ns(), self.broken(errno)))?;
        if !self.queued.is_empty() {
            self.note_handed(clock.now_ns());
        }
        Ok(())
    }

    /// What was queued is with the kernel since `now_ns`.
    #[cold]
    fn note_handed(&mut self, now_ns: u64) {
        for slot in self.queued.drain(..) {
            self.flights[slot as usize].as_mut().expect(IN_FLIGHT).handed_ns = now_ns;
        }
    }

    /// Submit what is queued, wait for `want` completions, for no longer than `wait_ns`, and book all there are.
    #[inline(always)]
    fn collect(&mut self, want: u32, wait_ns: u64, clock: RunClock) -> Result<(), FailureAt> {
        if !self.queued.is_empty() {
            // A call that submits and waits would make the wait a part of the submission.
            self.enter(0, 0, clock)?;
        }
        self.enter(want, wait_ns, clock)?;
        let now_ns = clock.now_ns();
        self.settle_all(now_ns, clock)?;
        // The ring's own time-out: its threads wait in short calls, so the watchdog would never find one overdue.
        if now_ns - self.looked_ns >= LOOK_NS {
            self.looked_ns = now_ns;
            self.accounting.answer_request(now_ns);
            self.look(now_ns)?;
        }
        Ok(())
    }

    /// Book all calls that have returned. The first failure.
    #[inline(never)]
    fn settle_all(&mut self, now_ns: u64, clock: RunClock) -> Result<(), FailureAt> {
        self.ring.reap(&mut self.reaped);
        let mut first = None;
        for index in 0..self.reaped.len() {
            let reaped = self.reaped[index];
            // Every returned call is settled even after a failure: the kernel has let go of its buffer.
            if let Err(failed) = self.settle(reaped, now_ns, clock) {
                if let Some(flight) = self.flights[reaped.slot as usize].take() {
                    self.given_up(&flight, now_ns);
                }
                first.get_or_insert(failed);
            }
        }
        self.reaped.clear();
        first.map_or(Ok(()), Err)
    }

    /// Book one call that has returned, and continue its operation if that is not complete.
    #[inline(always)]
    fn settle(&mut self, reaped: ReturnedCall, now_ns: u64, clock: RunClock) -> Result<(), FailureAt> {
        let ReturnedCall { slot, result } = reaped;
        let flight = self.flights[slot as usize].as_mut().expect(IN_FLIGHT);
        let count = match result {
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => {
                self.queue_again(slot);
                return Ok(());
            }
            Err(errno) => return Err((now_ns, self.describe(slot, Some(errno)))),
        };
        if flight.op.kind.moves_bytes() {
            if flight.counted {
                self.accounting.moved(flight.op.kind, count as usize, 0);
            }
            flight.done += count;
            if flight.done < flight.op.length_bytes {
                // No bytes and no error is the end of the target: another try would never end.
                if count == 0 {
                    return Err((now_ns, self.describe(slot, None)));
                }
                self.queue_again(slot);
                return Ok(());
            }
        }
        self.finish(slot, now_ns, clock);
        Ok(())
    }

    /// Book an operation that has completed whole, and let go of its slot.
    #[inline(always)]
    fn finish(&mut self, slot: u32, now_ns: u64, clock: RunClock) {
        let flight = self.flights[slot as usize].as_ref().expect(IN_FLIGHT);
        let OutstandingOp { ref op, due_ns, submit_ns, handed_ns, counted, .. } = *flight;
        self.accounting.completed(CompletedOp { op, due_ns, submit_ns, complete_ns: now_ns, counted });
        if self.shared.options.split_latency && counted {
            self.accounting.part.record_split(
                op.kind,
                handed_ns.saturating_sub(submit_ns),
                now_ns.saturating_sub(handed_ns),
            );
        }
        self.execution.complete(now_ns);
        self.observer.completed(&Completion {
            thread: self.thread,
            op: *op,
            due_ns: due_ns.unwrap_or(submit_ns),
            submit_ns,
            complete_ns: now_ns,
            counted,
        });
        if self.data.completed(op, slot as usize) {
            let began_ns = clock.now_ns();
            self.data.compare(op, slot as usize, self.ring.bytes_mut(slot, op.length_bytes as usize));
            self.accounting.part.verify_ns += clock.now_ns() - began_ns;
        }
        self.flights[slot as usize] = None;
        self.free.push(slot);
    }

    /// Every so often: whether an operation takes too long.
    #[cold]
    fn look(&mut self, now_ns: u64) -> Result<(), FailureAt> {
        let timeout_ns = self.shared.options.timeout_ns;
        if timeout_ns == 0 {
            return Ok(());
        }
        let oldest = self.flights.iter().flatten().min_by_key(|flight| flight.submit_ns);
        match oldest {
            Some(&flight) if now_ns - flight.submit_ns > timeout_ns => {
                self.given_up(&flight, now_ns);
                Err((now_ns, overdue(&flight.op, now_ns - flight.submit_ns, &self.shared.path_of(self.thread))))
            }
            _ => Ok(()),
        }
    }

    /// An operation failed, or takes too long.
    #[cold]
    fn given_up(&mut self, flight: &OutstandingOp, now_ns: u64) {
        if flight.counted {
            let began_ns = flight.due_ns.unwrap_or(flight.submit_ns);
            self.accounting.part.given_up(flight.op.kind, began_ns, now_ns);
        }
    }

    /// Detect that reads and writes were handed to kernel threads: kernel threads that exist before any other
    /// operation could have caused them, and that did a part of the work that counts.
    #[cold]
    fn look_for_workers(&mut self) {
        self.handed_on = true;
        self.workers.look(tid());
        let (theirs_ns, own_ns) = (self.workers.used_ns(), thread_cpu_ns() - self.began_cpu_ns);
        if theirs_ns * PUNTED_SHARE > own_ns + theirs_ns {
            self.accounting.part.punted = self.workers.count() as u32;
        }
    }

    /// Book what is outstanding and issue nothing more, until it has come back or takes too long. The first failure.
    #[cold]
    fn drain(&mut self, clock: RunClock) -> Result<(), FailureAt> {
        let mut outcome = Ok(());
        while self.ring.outstanding() > 0 {
            let before = self.ring.outstanding();
            let collected = self.collect(1, LOOK_NS, clock);
            let gives_up = collected.is_err() && self.ring.outstanding() == before;
            outcome = outcome.and(collected);
            if gives_up {
                self.ring.cancel();
                break;
            }
        }
        outcome
    }

    #[cold]
    fn describe(&self, slot: u32, errno: Option<Errno>) -> RunError {
        let OutstandingOp { op, done, .. } = self.flights[slot as usize].expect(IN_FLIGHT);
        let failure = Failure { op, errno, done: done as usize };
        self.shared.describe(&failure, self.thread)
    }

    /// The ring itself failed.
    #[cold]
    fn broken(&self, errno: Errno) -> RunError {
        let (kind, sentence) = (crate::errno::name(errno), crate::errno::sentence(errno));
        let message = format!("io_uring on {}: {sentence} ({kind})", self.shared.options.path.display());
        RunError { kind, message }
    }
}

fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

impl<'a, O: Observer> Loop<'a> for RingLoop<'a, O> {
    fn turn(&mut self, clock: RunClock) -> Option<FailureAt> {
        self.began_cpu_ns = thread_cpu_ns();
        let failed = self.run(clock).err();
        if failed.is_some() {
            self.shared.halt(FAILED);
            // Ignore this error, because it only follows from the first one.
            let _ = self.drain(clock);
        }
        if !self.handed_on {
            self.look_for_workers();
        }
        self.workers.look(tid());
        self.accounting.part.kernel_workers_ns = self.workers.used_ns();
        self.accounting.part.stuck = self.ring.outstanding();
        failed
    }

    fn close(&mut self) {
        self.accounting.close(&mut self.data);
    }

    fn accounting(&mut self) -> &mut Accounting<'a> {
        &mut self.accounting
    }
}
