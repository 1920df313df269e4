//! Start the worker threads of a metadata run and wait for them; abandon threads that hang in a call past the time-out.

use super::run_state::{ABANDONED, FAILED, SharedState};
use super::worker::work;
use super::worker_result::Part;
use crate::clock;
use crate::error::{Error, words_of};
use crate::in_flight::AbandonedValue;
use crate::watchdog::Watchdog;
use mileage_measure::RunError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Interval between checks of the workers without a time-out. Their end is signalled at once in any case.
const LOOK: Duration = Duration::from_secs(3600);

/// Run all workers and return their parts.
pub(super) fn work_together(shared: &Arc<SharedState>) -> Result<Vec<Part>, Error> {
    let threads = shared.metadata.threads;
    *shared.outcomes.lock() = (0..threads).map(|_| None).collect();
    for worker in 0..threads {
        if let Err(error) = spawn(shared, worker) {
            give_up(shared, 0);
            let refused = Error::NoThread { thread: worker, threads, reason: error.to_string() };
            (worker..threads).for_each(|missing| shared.outcomes.come_back(missing, Err(refused.clone())));
            break;
        }
    }
    wait(shared);
    let parts = std::mem::take(&mut *shared.outcomes.lock());
    parts.into_iter().flatten().collect()
}

fn spawn(shared: &Arc<SharedState>, worker: u32) -> std::io::Result<()> {
    let shared = Arc::clone(shared);
    let builder = std::thread::Builder::new().name(format!("mileage-{worker}"));
    let work = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&shared, worker)));
        if outcome.as_ref().is_err_and(|panic| panic.is::<AbandonedValue>()) {
            return;
        }
        let part = outcome.unwrap_or_else(|panic| Err(Error::Broken { thread: worker, reason: words_of(&*panic) }));
        if part.is_err() {
            shared.halt(FAILED);
        }
        shared.outcomes.come_back(worker, part);
    };
    builder.spawn(work).map(drop)
}

/// Until every worker has come back or was left behind.
fn wait(shared: &SharedState) {
    let (outcomes, timeout_ns) = (&shared.outcomes, shared.options.timeout_ns);
    let mut watchdog = (timeout_ns > 0).then(|| Watchdog::new(shared.metadata.threads, timeout_ns, clock::now_ns()));
    let period = watchdog.as_ref().map_or(LOOK, Watchdog::period);
    let mut parts = outcomes.lock();
    while parts.iter().any(Option::is_none) {
        let waited = outcomes.came_back.wait_timeout(parts, period);
        drop(waited.unwrap_or_else(PoisonError::into_inner).0);
        for (worker, mut part) in watchdog.iter_mut().flat_map(|dog| dog.look(clock::now_ns(), &shared.hand_overs)) {
            let error = overdue(shared, timeout_ns);
            part.failure.get_or_insert((shared.gate.elapsed_ns(), error));
            give_up(shared, ABANDONED);
            outcomes.come_back(worker, Ok(part));
        }
        parts = outcomes.lock();
    }
}

/// Nobody waits any more for those who will not come, and with `ABANDONED` what is there stays there.
fn give_up(shared: &SharedState, and: u8) {
    shared.halt(FAILED | and);
    shared.gate.open_early();
    shared.all_done.open_early();
}

pub(super) fn overdue(shared: &SharedState, timeout_ns: u64) -> RunError {
    let (operation, place) = (shared.metadata.operation.name(), shared.place.path().display());
    let seconds = timeout_ns as f64 * 1e-9;
    let message = format!(
        "{operation} in {place}: a call has not returned for {seconds:.1} s: the target no longer answers; its thread is \
         left behind"
    );
    RunError { kind: "ETIMEDOUT".to_owned(), message }
}
