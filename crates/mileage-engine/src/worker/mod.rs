//! One thread of a run: prepare, wait at the gate, run the execution with the wall clock.
//!
//! `run_state` is what the threads of a run share, `thread_result` that of each, `accounting` what every loop counts, `interim`
//! copies of it while the run is in progress, `failure` the message for an operation that did not complete, `sync_loop` the
//! loop of the APIs that do one operation at a time, `ring_loop` that of `io_uring`.

mod accounting;
mod failure;
mod interim;
#[cfg(test)]
mod loop_tests;
mod ring_loop;
mod run_state;
mod sync_loop;
mod thread_result;
pub(crate) mod timed_wait;

pub(crate) use run_state::{SharedState, Tally, WorkerFiles};
pub(crate) use thread_result::{CurrentWork, Part, SplitLatency};

use crate::api::Transfer;
use crate::api::cache_drop::CacheDropper;
use crate::api::file::TargetFile;
use crate::api::mmap::MappedWindow;
use crate::api::null::Null;
use crate::api::positioned_io::PositionedFile;
use crate::api::seek::Seek;
use crate::api::stream::Stream;
use crate::api::uring::Settings;
use crate::api::vectored_io::VectoredFile;
use crate::clock::RunClock;
use crate::cpu_affinity;
use crate::error::{Error, failed};
use crate::in_flight::InFlight;
use crate::options::Api;
use crate::thread_signals::FAILED;
use accounting::Loop;
use mileage_workload::{NoObserver, Observer};
use ring_loop::RingLoop;
use rustix::io::Errno;
use std::sync::Arc;
use sync_loop::SyncLoop;

/// Make a first call to the target, under the watchdog: it may block.
pub(crate) fn reach<R>(shared: &SharedState, thread: u32, call: impl FnOnce() -> R) -> R {
    let Some(hand_over) = shared.hand_overs.get(shared.place_of(thread)) else { return call() };
    let mut nothing_yet =
        InFlight::new(Part::new(shared.options.interval_ns, None, false), Some(Arc::clone(hand_over)));
    nothing_yet.begin();
    nothing_yet.current_work = Some(CurrentWork::Closing);
    nothing_yet.blocking_call(call)
}

/// Do one thread's part of the run.
pub(crate) fn work<O: Observer>(
    shared: &SharedState,
    thread: u32,
    file: Result<Option<TargetFile>, Errno>,
    observer: O,
) -> Result<Part, Error> {
    let SharedState { workload, options, .. } = shared;
    if let Some(tests) = &shared.tests {
        return Arc::clone(tests).work(shared, thread);
    }
    let cannot = |what| move |errno| failed(what, &shared.path_of(thread))(errno);
    let file = file.inspect_err(|_| {
        shared.halt(FAILED);
        drop(shared.gate.ticket());
    });
    let Some(file) = file.map_err(cannot("have a descriptor of"))? else {
        return work_loop(shared, thread, || SyncLoop::new(shared, thread, Null, observer));
    };
    if let Some(settings) = Settings::of(options) {
        return work_loop(shared, thread, || RingLoop::new(shared, thread, file.into_fd(), settings, observer));
    }
    if options.drop_cache_every_bytes > 0 {
        return drop_cache(shared, thread, file, observer);
    }
    match options.api {
        Api::Seek => work_loop(shared, thread, || SyncLoop::new(shared, thread, Seek::new(file), observer)),
        Api::Vectored { parts } => {
            work_loop(shared, thread, || SyncLoop::new(shared, thread, VectoredFile::new(file, parts), observer))
        }
        Api::Mmap => work_loop(shared, thread, || {
            let (start, length) = (workload.span_start_bytes, workload.span_bytes);
            let mapped = MappedWindow::new(file, start, length, workload.writes()).map_err(cannot("map"))?;
            mapped.advise(options.advice).map_err(cannot("advise the kernel on"))?;
            SyncLoop::new(shared, thread, mapped, observer)
        }),
        Api::Stdio { buffer_bytes } => work_loop(shared, thread, || {
            let bytes = if buffer_bytes == 0 { workload.length_bytes_max() } else { buffer_bytes } as usize;
            let stream = Stream::new(file, bytes, workload.reads(), workload.writes());
            SyncLoop::new(shared, thread, stream.map_err(cannot("open a stream on"))?, observer)
        }),
        Api::Positioned | Api::Uring { .. } | Api::Null => {
            work_loop(shared, thread, || SyncLoop::new(shared, thread, PositionedFile(file), observer))
        }
    }
}

/// Do one thread's part of a run with what `open` opens, with nobody watching.
pub(crate) fn work_by_calls<T: Transfer>(
    shared: &SharedState,
    thread: u32,
    open: impl FnOnce() -> Result<T, Error>,
) -> Result<Part, Error> {
    work_loop(shared, thread, || SyncLoop::new(shared, thread, open()?, NoObserver))
}

/// The loops of targets that are dropped from the page cache while they are worked on; not those of the hot path.
#[cold]
fn drop_cache<O: Observer>(shared: &SharedState, thread: u32, file: TargetFile, observer: O) -> Result<Part, Error> {
    let every_bytes = shared.options.drop_cache_every_bytes;
    match shared.options.api {
        Api::Seek => work_loop(shared, thread, || {
            SyncLoop::new(shared, thread, CacheDropper::new(Seek::new(file), every_bytes), observer)
        }),
        Api::Vectored { parts } => work_loop(shared, thread, || {
            let inner = VectoredFile::new(file, parts);
            SyncLoop::new(shared, thread, CacheDropper::new(inner, every_bytes), observer)
        }),
        _ => work_loop(shared, thread, || {
            SyncLoop::new(shared, thread, CacheDropper::new(PositionedFile(file), every_bytes), observer)
        }),
    }
}

/// Prepare a loop, wait for the others, turn it.
fn work_loop<'a, L: Loop<'a>>(
    shared: &SharedState,
    thread: u32,
    prepare: impl FnOnce() -> Result<L, Error>,
) -> Result<Part, Error> {
    let ticket = shared.gate.ticket();
    timed_wait::prepare();
    let prepared = cpu_affinity::bind(&shared.options.pin_cpus, thread).and_then(|()| {
        let mut turner = prepare()?;
        // Read the device's counters before the thread's account begins, so that the reading is not counted.
        if shared.place_of(thread) == 0 {
            shared.context.begin();
        }
        if shared.options.audit {
            turner.accounting().begin_audit()?;
        }
        Ok(turner)
    });
    let mut turner = prepared.inspect_err(|_| shared.halt(FAILED))?;
    let origin_ns = ticket.wait();
    turner.accounting().begin_spending();
    let failure = turner.turn(RunClock::since(origin_ns));
    turner.accounting().end_spending();
    turner.close();
    let accounting = turner.accounting();
    accounting.end_audit()?;
    accounting.part.failure = failure;
    accounting.publish_progress();
    let mut part = accounting.part.hand_over();
    if part.is_watched() {
        part.begin();
        part.current_work = Some(CurrentWork::Closing);
    }
    // Close inside `blocking_call`, because closing can block as long as any other call.
    let clock = RunClock::since(origin_ns);
    let start_ns = clock.now_ns();
    part.blocking_call(|| drop(turner));
    let end_ns = clock.now_ns();
    part.closing_ns = Some((start_ns, end_ns));
    Ok(part.into_inner())
}
