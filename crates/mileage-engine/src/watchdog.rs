//! Ends a run whose target no longer answers.
//!
//! The threads of an API of one operation at a time wait inside the kernel, some of them where no signal reaches. Once
//! an operation has taken longer than `Options::timeout_ns`, what its thread has written down is taken from it (see
//! [`custody`](crate::custody)), the run ends as failed with that, and the thread is left behind: it ends when the
//! call returns, if ever, and holds its open file and its buffers until then. `io_uring` has its own patience.

use crate::custody::Deposit;
use crate::worker::Part;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Each thread's deposit, in the order of the threads.
pub(crate) type Deposits = Box<[Arc<Deposit<Part>>]>;

/// Looks at the threads every so often, and remembers since when each has been at its operation.
#[derive(Debug)]
pub(crate) struct Watchdog {
    timeout_ns: u64,
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    begun: u64,
    since_ns: u64,
}

impl Watchdog {
    /// A watchdog over `threads` threads that calls an operation overdue after `timeout_ns` nanoseconds.
    pub(crate) fn new(threads: u32, timeout_ns: u64, now_ns: u64) -> Self {
        Self { timeout_ns, seen: vec![Seen { begun: 0, since_ns: now_ns }; threads as usize] }
    }

    /// How often to look: an operation is overdue for an eighth of the time-out at most before it is noticed, or a
    /// millisecond.
    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos((self.timeout_ns / 8).clamp(1_000_000, 1_000_000_000))
    }

    /// The threads whose operations are overdue at `now_ns`, and what they had written down.
    pub(crate) fn look<T: Send>(&mut self, now_ns: u64, deposits: &[Arc<Deposit<T>>]) -> Vec<(u32, T)> {
        let mut overdue = Vec::new();
        for (thread, (seen, deposit)) in (0..).zip(self.seen.iter_mut().zip(deposits)) {
            // In this order: a thread that waited long outside any call, and is inside one now, has begun an operation.
            let inside = deposit.is_left();
            let begun = deposit.begun();
            if begun != seen.begun {
                *seen = Seen { begun, since_ns: now_ns };
            } else if inside
                && now_ns.saturating_sub(seen.since_ns) >= self.timeout_ns
                && let Some(part) = deposit.take()
            {
                overdue.push((thread, *part));
            }
        }
        overdue
    }
}

/// Do `work` on a thread of its own; `None` if that takes longer than `timeout_ns` (0 for any time) or breaks. A
/// thread that takes longer is left behind.
pub(crate) fn within<R: Send + 'static>(timeout_ns: u64, work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
    if timeout_ns == 0 {
        return Some(work());
    }
    let (tell, told) = channel();
    let thread = std::thread::Builder::new().name("mileage-open".to_owned()).spawn(move || {
        // Nobody listens any more if this took too long.
        let _ = tell.send(work());
    });
    let result = told.recv_timeout(Duration::from_nanos(timeout_ns)).ok();
    if let (Ok(thread), true) = (thread, result.is_some()) {
        let _ = thread.join();
    }
    result
}
