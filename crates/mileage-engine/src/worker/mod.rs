//! One thread of a run: prepares, waits at the gate, turns its execution with the wall clock.
//!
//! `books` is what every loop writes down, `failure` how an operation that did not complete is told, `sync_loop` the
//! loop of the APIs that do one operation at a time.

mod books;
mod failure;
mod sync_loop;

pub(crate) use books::Part;

use crate::api::Transfer;
use crate::api::null::Null;
use crate::api::positioned::Positioned;
use crate::audit::Snapshot;
use crate::clock::RunClock;
use crate::data::Data;
use crate::error::Error;
use crate::gate::Gate;
use crate::options::{Api, Options};
use books::Books;
use mileage_workload::{Execution, Observer, Workload};
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use sync_loop::SyncLoop;

/// The user asked the run to end.
pub(crate) const STOPPED: u8 = 1;
/// A thread failed; the others have no reason to go on.
pub(crate) const FAILED: u8 = 2;

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
    pub(crate) options: Options,
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

/// Do one thread's part of the run.
pub(crate) fn work<O: Observer>(shared: &Shared, thread: u32, file: OwnedFd, observer: O) -> Result<Part, Error> {
    match shared.options.api {
        Api::Null => work_through(shared, thread, Null, observer),
        _ => work_through(shared, thread, Positioned(file), observer),
    }
}

/// The same through one API of one operation at a time.
fn work_through<T: Transfer, O: Observer>(
    shared: &Shared,
    thread: u32,
    transfer: T,
    observer: O,
) -> Result<Part, Error> {
    let seat = shared.gate.seat();
    let prepare = || {
        let worker = SyncLoop {
            shared,
            thread,
            execution: Execution::new(&shared.workload, thread)?,
            transfer,
            data: Data::new(&shared.workload, thread, shared.align_bytes)?,
            books: Books::new(&shared.told[thread as usize].0),
            observer,
        };
        Ok((worker, shared.options.audit.then(Snapshot::take).transpose()?))
    };
    let (mut worker, before) = prepare().inspect_err(|_: &Error| shared.halt(FAILED))?;
    let failure = worker.turn(RunClock::since(seat.wait()));
    let mut books = worker.books;
    if let Some(before) = before {
        books.part.io = Some(before.until(&Snapshot::take()?));
    }
    books.part.failure =
        failure.map(|(at_ns, failure)| (at_ns, failure.describe(&shared.options.path, shared.workload.sync)));
    books.tell();
    Ok(books.part)
}
