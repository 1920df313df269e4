//! The watchdog: ends a run whose target no longer answers.
//!
//! The threads of an API of one operation at a time wait inside the kernel, some of them where no signal reaches. Once
//! an operation has taken longer than `Options::timeout_ns`, what its thread has written down is taken from it (see
//! [`in_flight`](crate::in_flight)), the run ends as failed with that, and the thread is left behind: it ends when the
//! call returns, if ever, and holds its open file and its buffers until then. `io_uring` has a time-out of its own, in its
//! loop, because its threads wait for completions and not inside calls.

use crate::in_flight::HandOver;
use std::sync::Arc;
use std::time::Duration;

/// Records when each thread began its current operation, and ends the run after the time-out.
#[derive(Debug)]
pub(crate) struct Watchdog {
    timeout_ns: u64,
    seen: Vec<Observation>,
}

#[derive(Clone, Copy, Debug)]
struct Observation {
    begun: u64,
    since_ns: u64,
}

impl Watchdog {
    /// A watchdog over `threads` threads that calls an operation overdue after `timeout_ns` nanoseconds.
    pub(crate) fn new(threads: u32, timeout_ns: u64, now_ns: u64) -> Self {
        Self { timeout_ns, seen: vec![Observation { begun: 0, since_ns: now_ns }; threads as usize] }
    }

    /// Interval between looks: an eighth of the time-out, at least a millisecond, so that an overdue operation is
    /// noticed soon.
    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos((self.timeout_ns / 8).clamp(1_000_000, 1_000_000_000))
    }

    /// The threads whose operations are overdue at `now_ns`, and what they had written down.
    pub(crate) fn look<T: Send>(&mut self, now_ns: u64, hand_overs: &[Arc<HandOver<T>>]) -> Vec<(u32, T)> {
        let mut overdue = Vec::new();
        for (thread, (seen, hand_over)) in (0..).zip(self.seen.iter_mut().zip(hand_overs)) {
            // The order matters: read `is_left` before `begun`. A thread that waited long outside any call and then entered one
            // has increased `begun` first, and so is never reported for the time it waited.
            let inside = hand_over.is_left();
            let begun = hand_over.begun();
            if begun != seen.begun {
                *seen = Observation { begun, since_ns: now_ns };
            } else if inside
                && now_ns.saturating_sub(seen.since_ns) >= self.timeout_ns
                && let Some(part) = hand_over.take()
            {
                overdue.push((thread, *part));
            }
        }
        overdue
    }
}
