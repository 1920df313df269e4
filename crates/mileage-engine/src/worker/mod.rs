//! One thread of a run: prepares, waits at the gate, turns its execution with the wall clock.
//!
//! `accounting` is what every loop writes down, `failure` how an operation that did not complete is told, `sync_loop` the
//! loop of the APIs that do one operation at a time, `ring_loop` that of `io_uring`.

mod accounting;
mod failure;
#[cfg(test)]
mod loop_tests;
mod ring_loop;
mod sync_loop;
pub(crate) mod wait;

pub(crate) use accounting::{Part, UnderWay};

use crate::api::file::TargetFile;
use crate::api::mapped::Mapped;
use crate::api::null::Null;
use crate::api::positioned::Positioned;
use crate::api::seek::Seek;
use crate::api::stream::Stream;
use crate::api::uring::Settings;
use crate::api::vectored::Vectored;
use crate::clock::RunClock;
use crate::data::Laps;
use crate::error::{Error, failed};
use crate::gate::Gate;
use crate::identity::Identity;
use crate::in_flight::{Deposit, Held};
use crate::iozone::Workers;
use crate::log::Log;
use crate::options::{Api, Options};
use crate::run_context::Around;
use crate::share::Seats;
use crate::signals::{FAILED, Padded, Signals};
use crate::watchdog::Deposits;
use crate::{pin, target};
use accounting::Books;
use mileage_measure::RunError;
use mileage_workload::{Files, Observer, Workload};
use ring_loop::RingLoop;
use rustix::io::Errno;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use sync_loop::SyncLoop;

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
    /// Which lap every place holds, of each file that threads here work on; empty unless the run writes and compares.
    laps: Box<[Arc<Laps>]>,
    pub(crate) gate: Gate,
    /// The threads of the run that are in this process.
    pub(crate) seats: Seats,
    pub(crate) around: Around,
    /// From reaching for the target to having opened it for every thread, on the engine's clock.
    pub(crate) opening_ns: (u64, u64),
    /// What was opened, in the order of the threads.
    pub(crate) opened: Vec<Identity>,
    /// Where every operation is written down, if anywhere.
    pub(crate) log: Option<Log>,
    /// Of a run that has all its threads in this process; [`Shared::signals`] chooses.
    pub(crate) own_signals: Signals,
    pub(crate) told: Box<[Padded<Told>]>,
    /// Where the threads leave their books during calls; empty where nobody watches.
    pub(crate) deposits: Deposits,
    /// Set when this is one of IOzone's tests, whose workers open their files themselves.
    pub(crate) tests: Option<Arc<Workers>>,
}

impl Shared {
    /// The threads of `workload` that have `seats`.
    pub(crate) fn new(workload: Workload, options: Options, seats: Seats, around: Around) -> Self {
        let watched = if options.timeout_ns > 0 { seats.count } else { 0 };
        let known = if Laps::needed(&workload) { Laps::files(&workload).min(seats.count) } else { 0 };
        Self {
            laps: (0..known).map(|_| Arc::new(Laps::new(&workload))).collect(),
            gate: Gate::at(seats.meeting.clone(), seats.count),
            own_signals: Signals::default(),
            told: (0..seats.count).map(|_| Padded::default()).collect(),
            deposits: (0..watched).map(|_| Arc::new(Deposit::new())).collect(),
            tests: None,
            log: None,
            around,
            opening_ns: (0, 0),
            opened: Vec::new(),
            seats,
            workload,
            options,
        }
    }

    /// What the threads of the run tell one another, in this process or across several.
    pub(crate) fn signals(&self) -> &Signals {
        self.seats.meeting.as_ref().map_or(&self.own_signals, |meeting| meeting.signals())
    }

    pub(crate) fn halt(&self, why: u8) {
        self.signals().halt(why);
    }

    /// The place of one of the workload's threads among those of this process.
    pub(crate) fn place_of(&self, thread: u32) -> usize {
        (thread - self.seats.first) as usize
    }

    /// The laps of the file that this thread works on; no two threads have one file where each has its own.
    pub(crate) fn laps_of(&self, thread: u32) -> Option<&Arc<Laps>> {
        self.laps.get(if self.workload.files == Files::PerThread { self.place_of(thread) } else { 0 })
    }

    /// The file that this thread works on.
    pub(crate) fn path_of(&self, thread: u32) -> PathBuf {
        if let Some(tests) = &self.tests {
            return tests.path_of(thread);
        }
        match self.workload.files {
            Files::Shared => self.options.path.clone(),
            Files::PerThread => target::path_of(&self.options.path, self.workload.file_of(thread)),
        }
    }
}

impl Shared {
    /// What this thread does: the run's workload, or in one of IOzone's tests its own.
    fn workload_of(&self, thread: u32) -> Cow<'_, Workload> {
        self.tests.as_ref().map_or(Cow::Borrowed(&self.workload), |tests| Cow::Owned(tests.workload_of(thread)))
    }
}

/// A loop, ready to go.
trait Loop<'a> {
    /// Turn the execution until it is done, the run is halted, or an operation fails; the failure and when it came.
    fn turn(&mut self, clock: RunClock) -> Option<(u64, RunError)>;

    /// Write down what the data has to tell.
    fn close(&mut self);

    /// What is written down.
    fn books(&mut self) -> &mut Books<'a>;
}

/// Reach for the target, which may take as long as any call to it.
pub(crate) fn reach<R>(shared: &Shared, thread: u32, call: impl FnOnce() -> R) -> R {
    let Some(deposit) = shared.deposits.get(shared.place_of(thread)) else { return call() };
    let mut nothing_yet = Held::new(Part::new(shared.options.interval_ns, None), Some(Arc::clone(deposit)));
    nothing_yet.begin();
    nothing_yet.under_way = Some(UnderWay::Closing);
    nothing_yet.outside(call)
}

/// Do one thread's part of the run.
pub(crate) fn work<O: Observer>(
    shared: &Shared,
    thread: u32,
    file: Result<Option<TargetFile>, Errno>,
    observer: O,
) -> Result<Part, Error> {
    let Shared { workload, options, .. } = shared;
    if let Some(tests) = &shared.tests {
        return work_loop(shared, thread, || {
            SyncLoop::new(shared, thread, Workers::open_in_time(tests, thread)?, observer)
        });
    }
    let cannot = |what| move |errno| failed(what, &shared.path_of(thread))(errno);
    let file = file.inspect_err(|_| {
        shared.halt(FAILED);
        drop(shared.gate.seat());
    });
    let Some(file) = file.map_err(cannot("have a descriptor of"))? else {
        return work_loop(shared, thread, || SyncLoop::new(shared, thread, Null, observer));
    };
    if let Some(settings) = Settings::of(options) {
        return work_loop(shared, thread, || RingLoop::new(shared, thread, file.into_fd(), settings, observer));
    }
    match options.api {
        Api::Seek => work_loop(shared, thread, || SyncLoop::new(shared, thread, Seek::new(file), observer)),
        Api::Vectored { parts } => {
            work_loop(shared, thread, || SyncLoop::new(shared, thread, Vectored::new(file, parts), observer))
        }
        Api::Mmap => work_loop(shared, thread, || {
            let (start, length) = (workload.span_start_bytes, workload.span_bytes);
            let mapped = Mapped::new(file, start, length, workload.writes()).map_err(cannot("map"))?;
            SyncLoop::new(shared, thread, mapped, observer)
        }),
        Api::Stdio { buffer_bytes } => work_loop(shared, thread, || {
            let bytes = if buffer_bytes == 0 { workload.length_bytes_max() } else { buffer_bytes } as usize;
            let stream = Stream::new(file, bytes, workload.reads(), workload.writes());
            SyncLoop::new(shared, thread, stream.map_err(cannot("open a stream on"))?, observer)
        }),
        Api::Positioned | Api::Uring { .. } | Api::Null => {
            work_loop(shared, thread, || SyncLoop::new(shared, thread, Positioned(file), observer))
        }
    }
}

/// Prepare a loop, wait for the others, turn it.
fn work_loop<'a, L: Loop<'a>>(
    shared: &Shared,
    thread: u32,
    prepare: impl FnOnce() -> Result<L, Error>,
) -> Result<Part, Error> {
    let seat = shared.gate.seat();
    wait::prepare();
    let prepared = pin::bind(&shared.options.pin_cpus, thread).and_then(|()| {
        let mut turner = prepare()?;
        // Before the account of this thread, of which reading the device's counters is no part.
        if shared.place_of(thread) == 0 {
            shared.around.begin();
        }
        if shared.options.audit {
            turner.books().begin_audit()?;
        }
        Ok(turner)
    });
    let mut turner = prepared.inspect_err(|_| shared.halt(FAILED))?;
    let origin_ns = seat.wait();
    turner.books().begin_spending();
    let failure = turner.turn(RunClock::since(origin_ns));
    turner.books().end_spending();
    turner.close();
    let books = turner.books();
    books.end_audit()?;
    books.part.failure = failure;
    books.tell();
    let mut part = books.part.hand_over();
    if part.is_watched() {
        part.begin();
        part.under_way = Some(UnderWay::Closing);
    }
    // Closing the target may take as long as any other call.
    let clock = RunClock::since(origin_ns);
    let start_ns = clock.now_ns();
    part.outside(|| drop(turner));
    let end_ns = clock.now_ns();
    part.closing_ns = Some((start_ns, end_ns));
    Ok(part.into_inner())
}
