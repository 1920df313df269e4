//! The handle of a run in progress: start, watch, stop, collect the outcome.

use crate::api::file::TargetFile;
use crate::api::uring::{self, Settings};
use crate::clock;
use crate::error::{Error, failed, words_of};
use crate::identity::Identity;
use crate::in_flight::AbandonedValue;
use crate::job::Progress;
use crate::kernel_io_audit::Snapshot;
use crate::log::Log;
use crate::merge::{RunResult, ShareResult, merge};
use crate::options::{Api, Options};
use crate::run_context::{Facts, RunContext};
use crate::thread_range::ThreadRange;
use crate::thread_signals::{FAILED, STOPPED};
use crate::time_limit::within;
use crate::watchdog::Watchdog;
use crate::worker::{self, Part, SharedState, WorkerFiles, work};
use crate::{loop_overhead, option_checks, target};
use mileage_measure::RunRecord;
use mileage_workload::{NoObserver, Observer, Workload};
use rustix::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[derive(Debug)]
struct State {
    running: u32,
    parts: Vec<Option<Result<Part, Error>>>,
    threads: Vec<JoinHandle<()>>,
    watchdog: Option<JoinHandle<()>>,
    outcome: Option<Result<RunResult, Error>>,
    share: Option<ShareResult>,
    facts: Facts,
}

#[derive(Debug)]
struct Run {
    shared: SharedState,
    state: Mutex<State>,
    finished: Condvar,
}

/// Interval at which a request for the threads' accounting looks for their answers.
const ANSWER: Duration = Duration::from_millis(1);

/// A run in progress. May be watched and stopped from any thread; dropping it stops the run without waiting for it.
#[derive(Debug)]
pub struct Handle {
    run: Arc<Run>,
}

/// Start a run. Returns at once: its threads prepare their buffers, then begin together.
///
/// # Errors
/// What the target cannot honour (nothing was done then, and no file was created), or a thread that could not be
/// started.
pub fn start(workload: Workload, options: Options) -> Result<Handle, Error> {
    start_observed(workload, options, |_| NoObserver)
}

/// Start a run whose every completion is also shown to one observer per thread, made by `observer` with the thread's
/// number. For the conformance suite: an observer that takes time slows the run.
///
/// # Errors
/// As [`start`].
pub fn start_observed<O: Observer + Send + 'static>(
    workload: Workload,
    options: Options,
    observer: impl FnMut(u32) -> O,
) -> Result<Handle, Error> {
    let thread_range = ThreadRange::all(&workload);
    start_range(workload, options, thread_range, observer)
}

/// Start the threads of a run that belong to this process.
pub(crate) fn start_range<O: Observer + Send + 'static>(
    workload: Workload,
    options: Options,
    thread_range: ThreadRange,
    observer: impl FnMut(u32) -> O,
) -> Result<Handle, Error> {
    workload.check()?;
    option_checks::check(&workload, &options)?;
    // Read the clock once before the threads start: the first reading calibrates it, and would count for a thread.
    let _ = clock::now_ns();
    if options.audit {
        Snapshot::take()?;
    }
    let log = options.log.as_deref().map(|path| Log::create(path, thread_range.count)).transpose()?;
    let OpenTarget { files, identities, context, opening_ns } = prepare(&workload, &options, &thread_range)
        .inspect_err(|_| {
            if let Some(log) = &log {
                log.give_up();
            }
        })?;
    let mut shared = SharedState::new(workload, options, thread_range, context);
    shared.log = log;
    shared.opening_ns = opening_ns;
    shared.opened = identities;
    launch(shared, files, observer)
}

/// A target that is open for every thread of this process, and the run's context.
struct OpenTarget {
    files: Vec<Option<TargetFile>>,
    identities: Vec<Identity>,
    context: RunContext,
    /// From the first call to the last, on the engine's clock.
    opening_ns: (u64, u64),
}

/// Open the target, check that it can be used as the options ask, and collect the run's context.
fn prepare(workload: &Workload, options: &Options, thread_range: &ThreadRange) -> Result<OpenTarget, Error> {
    let OpenTarget { files, identities, context, opening_ns } =
        open(workload, options, (thread_range.first, thread_range.count))?;
    if let (Some(settings), Some(file)) = (Settings::of(options), &files[0]) {
        uring::check(settings, workload, options, file.fd())?;
    }
    Ok(OpenTarget {
        files,
        identities,
        context: context.with_overhead(loop_overhead::overhead_ps(workload)),
        opening_ns,
    })
}

/// Start the workers in `thread_range` of a run whose workers open their files themselves, before the clock. `workload`: that
/// of all of them.
///
/// # Errors
/// A workload that breaks a rule, or a thread that could not be started. What a worker's file refuses ends the run.
pub(crate) fn start_tests(
    tests: impl WorkerFiles + 'static,
    workload: Workload,
    options: Options,
    thread_range: ThreadRange,
) -> Result<Handle, Error> {
    workload.check()?;
    let _ = clock::now_ns();
    let context = within(options.timeout_ns, {
        let options = options.clone();
        move || RunContext::of(Some(&options.path), &options.pin_cpus)
    });
    let context = context.or_else(|missed| missed.if_late(|| RunContext::of(None, &options.pin_cpus)))?;
    let mut shared = SharedState::new(workload, options, thread_range, context);
    let files = (0..shared.thread_range.count).map(|_| None).collect();
    shared.tests = Some(Arc::new(tests));
    launch(shared, files, |_| NoObserver)
}

/// Start the threads of a run.
fn launch<O: Observer + Send + 'static>(
    shared: SharedState,
    files: Vec<Option<TargetFile>>,
    mut observer: impl FnMut(u32) -> O,
) -> Result<Handle, Error> {
    let (first, threads) = (shared.thread_range.first, shared.thread_range.count);
    let parts = (0..threads).map(|_| None).collect();
    let state = Mutex::new(State {
        running: threads,
        parts,
        threads: Vec::new(),
        watchdog: None,
        outcome: None,
        share: None,
        facts: Facts::default(),
    });
    let handle = Handle { run: Arc::new(Run { shared, state, finished: Condvar::new() }) };
    let (give_back, returned) = channel();
    for (thread, file) in (first..).zip(files) {
        match spawn(&handle.run, thread, file, give_back.clone(), observer(thread)) {
            Ok(joinable) => handle.run.lock().threads.push(joinable),
            Err(error) => {
                handle.run.abandon();
                return Err(Error::NoThread { thread, threads, reason: error.to_string() });
            }
        }
    }
    // Drop the sender, which ends the channel: every thread has a descriptor table of its own and closes the target
    // there.
    drop(give_back);
    handle.run.lock().watchdog = Run::watch(&handle.run).map_err(|error| handle.run.unwatched(&error))?;
    let _ = within(handle.run.shared.options.timeout_ns, move || returned.into_iter().for_each(drop));
    Ok(handle)
}

/// Open the target and collect the run's context. A target that does not answer is refused after the time-out.
fn open(workload: &Workload, options: &Options, thread_range: (u32, u32)) -> Result<OpenTarget, Error> {
    let (its, how) = (workload.clone(), options.clone());
    let reach = move || {
        let start_ns = clock::now_ns();
        let files = target::open(&its, &how, thread_range)?;
        let opening_ns = (start_ns, clock::now_ns());
        let path = (how.api != Api::Null).then(|| target::first_path(&its, &how, thread_range.0));
        let identities = files.iter().flatten().map(Identity::of).collect::<Result<_, _>>();
        let identities = identities.map_err(failed("examine", &how.path))?;
        Ok(OpenTarget { files, identities, context: RunContext::of(path.as_deref(), &how.pin_cpus), opening_ns })
    };
    let late = || {
        Err(Error::Target {
            what: "open",
            path: options.path.clone(),
            kind: "TIMEOUT".to_owned(),
            reason: format!("no answer within {:.1} s", options.timeout_ns as f64 * 1e-9),
            advice: ": the file system's server or the device no longer answers",
        })
    };
    within(options.timeout_ns, reach).or_else(|missed| missed.if_late(late))?
}

fn spawn<O: Observer + Send + 'static>(
    run: &Arc<Run>,
    thread: u32,
    file: Option<TargetFile>,
    give_back: Sender<OwnedFd>,
    observer: O,
) -> std::io::Result<JoinHandle<()>> {
    let run = Arc::clone(run);
    std::thread::Builder::new().name(format!("mileage-{thread}")).spawn(move || {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let file = worker::reach(&run.shared, thread, || {
                let own = file.map(|file| file.into_own_table(&give_back)).transpose();
                drop(give_back);
                own
            });
            work(&run.shared, thread, file, observer)
        }));
        if worked.as_ref().is_err_and(|panic| panic.is::<AbandonedValue>()) {
            return;
        }
        let part = worked.unwrap_or_else(|panic| Err(Error::Broken { thread, reason: words_of(&*panic) }));
        if part.is_err() {
            run.shared.halt(FAILED);
        }
        run.come_back(thread, part);
    })
}

impl Run {
    // The state is written in single assignments by code that does not panic; a poisoned lock still holds it whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread has come back, or is given up.
    fn come_back(&self, thread: u32, part: Result<Part, Error>) {
        let mut state = self.lock();
        state.parts[self.shared.place_of(thread)] = Some(part);
        state.running -= 1;
        if state.running == 0 {
            state.facts = self.shared.context.end();
            self.finished.notify_all();
        }
    }

    /// Start the watchdog, if the options ask for one.
    fn watch(run: &Arc<Self>) -> std::io::Result<Option<JoinHandle<()>>> {
        let timeout_ns = run.shared.options.timeout_ns;
        if timeout_ns == 0 {
            return Ok(None);
        }
        let run = Arc::clone(run);
        let watching = move || {
            let mut watchdog = Watchdog::new(run.shared.thread_range.count, timeout_ns, clock::now_ns());
            loop {
                let waited = run.finished.wait_timeout_while(run.lock(), watchdog.period(), |state| state.running > 0);
                let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if state.running == 0 {
                    return;
                }
                drop(state);
                for (place, mut part) in watchdog.look(clock::now_ns(), &run.shared.hand_overs) {
                    let thread = run.shared.thread_range.first + place;
                    run.shared.halt(FAILED);
                    if !run.shared.gate.is_open() {
                        run.shared.gate.open_early();
                    }
                    part.leave_behind(run.shared.gate.elapsed_ns(), timeout_ns, &run.shared.path_of(thread));
                    run.come_back(thread, Ok(part));
                }
            }
        };
        std::thread::Builder::new().name("mileage-watch".to_owned()).spawn(watching).map(Some)
    }

    /// A run that nobody would watch does not take place.
    fn unwatched(&self, error: &std::io::Error) -> Error {
        self.abandon();
        let threads = self.shared.thread_range.count;
        Error::NoThread { thread: threads, threads: threads + 1, reason: error.to_string() }
    }

    /// End a run of which some threads could not be started.
    fn abandon(&self) {
        self.shared.halt(FAILED);
        self.shared.gate.open_early();
        if let Some(log) = &self.shared.log {
            log.give_up();
        }
        let threads = std::mem::take(&mut self.lock().threads);
        for thread in threads {
            // A worker's panic was caught in it and stands in its part, which nobody will ask for.
            let _ = thread.join();
        }
    }

    /// The outcome, once all parts are there.
    fn conclude(&self, state: &mut State) -> Result<RunResult, Error> {
        // A thread whose operations the kernel still holds ends when it gives them up, perhaps never: nobody waits.
        let held = |part: &Option<Result<Part, Error>>| matches!(part, Some(Ok(part)) if part.stuck > 0);
        let mut ends = state.parts.iter().map(|part| !held(part)).collect::<Vec<_>>().into_iter();
        state.threads.retain(|_| ends.next().unwrap_or(true));
        let parts: Result<Vec<Part>, Error> = state.parts.drain(..).flatten().collect();
        debug_assert!(parts.as_ref().map_or(true, |parts| parts.len() == self.shared.thread_range.count as usize));
        let SharedState { workload, thread_range, options, log, .. } = &self.shared;
        let (parts, first_done_ns) = (parts?, self.shared.signals().first_done_ns());
        let facts = std::mem::take(&mut state.facts);
        let mut finished = merge(workload, &parts, first_done_ns, &facts);
        if let Some(log) = log {
            let log = log.finish(finished.record.operations(), options.timeout_ns);
            finished.record.notes.extend(log.warning());
            finished.record.log = Some(log);
        }
        state.share = thread_range.barrier.is_some().then(|| ShareResult {
            first_thread: thread_range.first,
            origin_ns: self.shared.gate.origin_ns().unwrap_or(0),
            opening_ns: self.shared.opening_ns,
            opened: self.shared.opened.clone(),
            parts,
            first_done_ns,
            facts,
        });
        Ok(finished)
    }
}

impl Handle {
    /// Wait up to `timeout` for the end; `None` if the run is still in progress. Once it has ended, every call returns
    /// the outcome.
    ///
    /// # Errors
    /// Inside: a run that is void, because a worker broke or had no memory. An input or output error is not one: it
    /// stands in the record.
    pub fn wait(&self, timeout: Duration) -> Option<Result<RunResult, Error>> {
        let run = &self.run;
        let waited = run.finished.wait_timeout_while(run.lock(), timeout, |state| state.running > 0);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.running > 0 {
            return None;
        }
        if state.outcome.is_none() {
            state.outcome = Some(run.conclude(&mut state));
        }
        let threads: Vec<_> = std::mem::take(&mut state.threads).into_iter().chain(state.watchdog.take()).collect();
        let outcome = state.outcome.clone();
        drop(state);
        for thread in threads {
            // Each has reported its part already; only its stack is still to be returned.
            let _ = thread.join();
        }
        outcome
    }

    /// As [`wait`](Self::wait), for a share of a run in several processes: the result is to be merged with those of
    /// the others. `None` as well when the run was not started by [`start_share`](crate::start_share).
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_share(&self, timeout: Duration) -> Option<Result<ShareResult, Error>> {
        self.wait(timeout)?.map(|_| self.run.lock().share.clone()).transpose()
    }

    /// Interrupt the run: no thread issues anything more, not even the final sync, and the run ends when the system
    /// calls in flight return. The record has what was done.
    pub fn stop(&self) {
        self.run.shared.halt(STOPPED);
    }

    /// The record of what has completed so far. Threads are asked for their accounting; of one that does not answer
    /// within `timeout`, because an operation takes that long, the record has what it answered last. Device counters
    /// and the content of what was written are in the record of the end alone.
    pub fn interim(&self, timeout: Duration) -> RunRecord {
        let SharedState { interim, workload, thread_range, .. } = &self.run.shared;
        let (request, until) = (interim.ask(), Instant::now() + timeout);
        let state = loop {
            let state = self.run.lock();
            if let Some(Ok(ended)) = &state.outcome {
                return ended.record.clone();
            }
            let mut parts = state.parts.iter().enumerate();
            if parts.all(|(place, part)| part.is_some() || interim.has_answered(place, request))
                || Instant::now() >= until
            {
                break state;
            }
            drop(state);
            std::thread::sleep(ANSWER);
        };
        let part_of = |place: usize| match state.parts.get(place) {
            Some(Some(Ok(part))) => Some(part.clone()),
            _ => interim.last(place),
        };
        let parts: Vec<Part> = (0..thread_range.count as usize).filter_map(part_of).collect();
        let first_done_ns = self.run.shared.signals().first_done_ns();
        merge(workload, &parts, first_done_ns, &Facts::default()).record
    }

    /// Progress of the run.
    pub fn progress(&self) -> Progress {
        let SharedState { workload, tally, thread_range, .. } = &self.run.shared;
        let record = u64::from(workload.record_bytes);
        let limited = workload.stop.bytes.is_some() || workload.stop.operations.is_some();
        let threads = thread_range.first..thread_range.first + thread_range.count;
        let total = limited.then(|| threads.map(|thread| workload.operations_of(thread)).sum::<u64>());
        Progress {
            bytes: tally.iter().map(|tally| tally.0.bytes.load(Ordering::Relaxed)).sum(),
            operations: tally.iter().map(|tally| tally.0.operations.load(Ordering::Relaxed)).sum(),
            bytes_total: total.map(|total| total.saturating_mul(record)),
            operations_total: total,
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Other processes may still be at work on the same run when this one has done its share.
        if self.run.lock().running > 0 {
            self.stop();
        }
    }
}
