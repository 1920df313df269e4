//! The engine's one clock.

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC_RAW` in nanoseconds: no adjustment bends it during a run. Served by the vDSO, no system call.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
