//! Signals between the threads of a run: stop, failure, first thread done.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The user asked the run to end.
pub(crate) const STOPPED: u8 = 1;
/// A thread failed; the others need not continue.
pub(crate) const FAILED: u8 = 2;

/// A value alone in its cache lines (two, since processors fetch lines in pairs).
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct CacheAligned<T>(pub(crate) T);

/// Signals between all threads of a run, in whatever process they are.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Signals {
    /// Together: every thread reads both around every operation, and they are written a few times in a run.
    signals: CacheAligned<SignalPair>,
}

#[derive(Debug)]
#[repr(C)]
struct SignalPair {
    halt: AtomicU8,
    first_done_ns: AtomicU64,
}

impl Default for Signals {
    fn default() -> Self {
        Self { signals: CacheAligned(SignalPair { halt: AtomicU8::new(0), first_done_ns: AtomicU64::new(u64::MAX) }) }
    }
}

impl Signals {
    /// Have all threads end: [`STOPPED`] or [`FAILED`].
    pub(crate) fn halt(&self, why: u8) {
        self.signals.0.halt.fetch_or(why, Ordering::Relaxed);
    }

    /// Reason why threads should end; 0 as long as they should not.
    #[inline]
    pub(crate) fn halted(&self) -> u8 {
        self.signals.0.halt.load(Ordering::Relaxed)
    }

    /// Time at which the first thread was done, on the run's clock; `u64::MAX` as long as none is.
    #[inline]
    pub(crate) fn first_done_ns(&self) -> u64 {
        self.signals.0.first_done_ns.load(Ordering::Relaxed)
    }

    /// A thread was done at `at_ns`.
    pub(crate) fn done(&self, at_ns: u64) {
        self.signals.0.first_done_ns.fetch_min(at_ns, Ordering::Relaxed);
    }
}
