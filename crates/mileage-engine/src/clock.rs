//! The engine's one clock.

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC_RAW` in nanoseconds: no adjustment bends it during a run. Served by the vDSO, no system call.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The clock as a loop reads it: nanoseconds since the instant at which the run's threads were released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    origin_ns: u64,
}

impl RunClock {
    /// A clock that was zero at `origin_ns` of [`now_ns`].
    pub(crate) fn since(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// Nanoseconds since the origin.
    #[inline]
    pub(crate) fn now_ns(self) -> u64 {
        now_ns() - self.origin_ns
    }
}
