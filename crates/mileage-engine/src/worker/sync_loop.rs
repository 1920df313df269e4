//! The loop of the APIs that do one operation at a time: it turns an execution with the wall clock.

use super::books::{Books, Completed};
use super::failure::Failure;
use super::{FAILED, Loop, STOPPED, Shared};
use crate::api::Transfer;
use crate::clock::RunClock;
use crate::data::Data;
use crate::error::Error;
use mileage_measure::RunError;
use mileage_workload::{Completion, Execution, Observer, Op, OpKind, Step};
use rustix::io::Errno;
use std::sync::atomic::Ordering;

/// Everything the loop touches; nothing in it grows.
pub(super) struct SyncLoop<'a, T, O> {
    shared: &'a Shared,
    thread: u32,
    execution: Execution,
    transfer: T,
    data: Data,
    books: Books<'a>,
    observer: O,
}

impl<'a, T: Transfer, O: Observer> Loop<'a> for SyncLoop<'a, T, O> {
    fn turn(&mut self, clock: RunClock) -> Option<(u64, RunError)> {
        let (at_ns, failure) = self.run(clock)?;
        Some((at_ns, failure.describe(&self.shared.options.path, self.shared.workload.sync)))
    }

    fn into_books(self) -> Books<'a> {
        self.books
    }
}

impl<'a, T: Transfer, O: Observer> SyncLoop<'a, T, O> {
    /// The loop of one thread.
    pub(super) fn new(shared: &'a Shared, thread: u32, transfer: T, observer: O) -> Result<Self, Error> {
        Ok(Self {
            shared,
            thread,
            execution: Execution::new(&shared.workload, thread)?,
            transfer,
            data: Data::new(&shared.workload, thread, shared.align_bytes)?,
            books: Books::new(&shared.told[thread as usize].0),
            observer,
        })
    }

    /// Turn the execution until it is done, the run is halted, or an operation fails; the failure and when it came.
    ///
    /// The clock is read once at each boundary between operations, and once more where something that is no part of
    /// a latency took time: choosing the next offsets, generating what is written.
    fn run(&mut self, clock: RunClock) -> Option<(u64, Failure)> {
        let mut out = Vec::with_capacity(1);
        // Operations that the execution has ready; at zero it must compute more.
        let mut ready = self.execution.upcoming().len();
        let fills = self.data.fills();
        let mut at_ns = clock.now_ns();
        loop {
            if ready == 0 {
                ready = self.execution.upcoming().len();
                at_ns = clock.now_ns();
            }
            let halt = self.shared.halt.0.load(Ordering::Relaxed);
            if halt != 0 {
                self.books.part.interrupted = halt & STOPPED != 0;
                return None;
            }
            out.clear();
            match self.execution.next(at_ns, &mut out) {
                Step::Issue => {}
                Step::Done => return None,
                Step::AwaitCompletion | Step::WaitUntil(_) => {
                    unreachable!("a load that waits is refused when the run is started, and depth 1 awaits nothing")
                }
            }
            let op = out[0];
            let due_ns = self.execution.due_ns().first().copied();
            let done = match op.kind {
                OpKind::Read => self.read(&op),
                OpKind::Write => {
                    let began_ns = at_ns;
                    let from = self.data.outgoing(&op);
                    if fills {
                        at_ns = clock.now_ns();
                        self.books.part.fill_ns += at_ns - began_ns;
                    }
                    write(&mut self.transfer, &mut self.books, &op, from)
                }
                OpKind::Sync => self.sync(&op),
                OpKind::Discard => unreachable!("refused when the workload is checked"),
            };
            let end_ns = clock.now_ns();
            if let Err(failure) = done {
                self.shared.halt(FAILED);
                return Some((end_ns, failure));
            }
            let long = self.books.completed(Completed { op: &op, due_ns, submit_ns: at_ns, complete_ns: end_ns });
            ready = ready.saturating_sub(1);
            self.execution.complete(end_ns);
            self.observer.completed(&Completion {
                thread: self.thread,
                op,
                due_ns: due_ns.unwrap_or(at_ns),
                submit_ns: at_ns,
                complete_ns: end_ns,
                counted: true,
            });
            at_ns = if long { clock.now_ns() } else { end_ns };
        }
    }

    #[inline]
    fn read(&mut self, op: &Op) -> Result<(), Failure> {
        let (length, into) = (op.length_bytes as usize, self.data.incoming(op));
        let mut done = 0;
        while done < length {
            match self.transfer.read(op.offset_bytes + done as u64, &mut into[done..]) {
                Ok(count) => {
                    self.books.moved(OpKind::Read, count, T::CALLS);
                    if count == 0 {
                        return Err(Failure { op: *op, errno: None, done });
                    }
                    done += count;
                }
                Err(errno) => {
                    self.books.moved(OpKind::Read, 0, T::CALLS);
                    if errno != Errno::INTR {
                        return Err(Failure { op: *op, errno: Some(errno), done });
                    }
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn sync(&mut self, op: &Op) -> Result<(), Failure> {
        loop {
            match self.transfer.sync(self.shared.workload.sync) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Failure { op: *op, errno: Some(errno), done: 0 }),
            }
        }
    }
}

/// Write the whole of `from`; apart from the loop, since the bytes are still borrowed from its data.
#[inline]
fn write<T: Transfer>(transfer: &mut T, books: &mut Books<'_>, op: &Op, from: &[u8]) -> Result<(), Failure> {
    let mut done = 0;
    while done < from.len() {
        match transfer.write(op.offset_bytes + done as u64, &from[done..]) {
            Ok(count) => {
                books.moved(OpKind::Write, count, T::CALLS);
                if count == 0 {
                    return Err(Failure { op: *op, errno: None, done });
                }
                done += count;
            }
            Err(errno) => {
                books.moved(OpKind::Write, 0, T::CALLS);
                if errno != Errno::INTR {
                    return Err(Failure { op: *op, errno: Some(errno), done });
                }
            }
        }
    }
    Ok(())
}
