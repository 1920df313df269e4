//! Measure the engine's own cost per operation: run the I/O loop on a target that does nothing.

use crate::options::{Api, Options};
use crate::run_context::RunContext;
use crate::thread_range::ThreadRange;
use crate::worker::{SharedState, work};
use mileage_workload::{Content, Load, NoObserver, Stop, Sync, Verify, Workload};

/// Operations of one try: enough that reading the clock is negligible.
const OPERATIONS: u64 = 8192;
/// Tries, of which the quickest was disturbed least.
const TRIES: u32 = 3;
/// Records of the span and bytes of the largest record with which it is tried: choosing among more costs no more, but
/// preparing does.
const RECORDS_MAX: u64 = 65_536;
const RECORD_BYTES_MAX: u32 = 1 << 20;

/// Picoseconds that the loop takes for one operation of `workload` without calls, content and waiting: choosing the
/// offset, two readings of the clock, histogram and series. Well under a millisecond in all. 0 when it cannot be measured.
///
/// It is the loop of the APIs that do one operation at a time; what a ring's queue costs is not in it.
pub(crate) fn overhead_ps(workload: &Workload) -> u64 {
    let record_bytes = if workload.record_bytes > RECORD_BYTES_MAX { 4096 } else { workload.record_bytes };
    let records = workload.span_bytes / u64::from(workload.record_bytes.max(1));
    let plain = Workload {
        record_bytes,
        span_start_bytes: 0,
        span_bytes: records.clamp(1, RECORDS_MAX) * u64::from(record_bytes),
        threads: 1,
        depth: 1,
        discard_percent: 0,
        stop: Stop { operations: Some(OPERATIONS), ..Stop::default() },
        load: Load::default(),
        content: Content::Zeros,
        verify: Verify::Off,
        sync: Sync::None,
        sync_timed: false,
        sync_every: 0,
        sync_last: true,
        ..workload.clone()
    };
    (0..TRIES).filter_map(|_| one_try(plain.clone())).min().unwrap_or(0)
}

fn one_try(workload: Workload) -> Option<u64> {
    workload.check().ok()?;
    let thread_range = ThreadRange::all(&workload);
    let options = Options { api: Api::Null, ..Options::default() };
    let shared = SharedState::new(workload, options, thread_range, RunContext::of(None, &[]));
    // On a thread of its own, because it changes the timers of its thread.
    // A thread that cannot be started leaves the overhead unknown; `Scope::spawn` would panic.
    let part = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || work(&shared, 0, Ok(None), NoObserver)).ok()?;
        thread.join().ok()
    });
    let part = part?.ok()?;
    let operations = part.record.ops_read + part.record.ops_written;
    let took_ns = part.last_ns.checked_sub(part.first_ns?)?;
    (took_ns * 1000).checked_div(operations)
}
