//! Ends a run whose target no longer answers.
//!
//! The threads of an API of one operation at a time wait inside the kernel, some of them where no signal reaches. Once
//! an operation has taken longer than `Options::timeout_ns`, what its thread has written down is taken from it (see
//! [`in_flight`](crate::in_flight)), the run ends as failed with that, and the thread is left behind: it ends when the
//! call returns, if ever, and holds its open file and its buffers until then. `io_uring` has its own patience.

use crate::error::Error;
use crate::in_flight::Deposit;
use crate::job::words_of;
use crate::worker::Part;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

/// Why work outside the timed path gave no result.
#[derive(Debug)]
pub(crate) enum Missed {
    /// It took longer than the time-out.
    Late,
    /// It broke, or could not even begin.
    Void(Error),
}

impl Missed {
    /// What `late` gives if it took too long; else the error.
    pub(crate) fn if_late<R>(self, late: impl FnOnce() -> R) -> Result<R, Error> {
        match self {
            Self::Late => Ok(late()),
            Self::Void(error) => Err(error),
        }
    }
}

/// Do `work` on a thread of its own, for at most `timeout_ns` (0 for any time, and on this thread). A thread that takes
/// longer is left behind.
pub(crate) fn within<R: Send + 'static>(
    timeout_ns: u64,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Missed> {
    let work = move || {
        let worked = catch_unwind(AssertUnwindSafe(work));
        worked.map_err(|panic| Missed::Void(Error::BrokenOutside { reason: words_of(&*panic) }))
    };
    if timeout_ns == 0 {
        return work();
    }
    let (tell, told) = channel();
    let thread = std::thread::Builder::new().name("mileage-open".to_owned()).spawn(move || {
        // Nobody listens any more if this took too long.
        let _ = tell.send(work());
    });
    let not_started = |error: std::io::Error| Error::NoThread { thread: 0, threads: 1, reason: error.to_string() };
    let thread = thread.map_err(|error| Missed::Void(not_started(error)))?;
    let result = told.recv_timeout(Duration::from_nanos(timeout_ns)).map_err(|_| Missed::Late)?;
    let _ = thread.join();
    result
}

#[cfg(test)]
mod tests {
    use super::{Missed, within};
    use crate::error::Error;
    use std::time::Duration;

    #[test]
    fn what_breaks_tells_its_own_words() {
        for timeout_ns in [0, 60_000_000_000] {
            assert!(matches!(within(timeout_ns, || 7), Ok(7)));
            let missed = within::<()>(timeout_ns, || panic!("{} is not right", "this")).unwrap_err();
            let error = missed.if_late(|| unreachable!("it did not take too long")).unwrap_err();
            assert!(matches!(&error, Error::BrokenOutside { reason } if reason == "this is not right"), "{error}");
            assert!(!error.is_refusal(), "nobody but us can put that right");
        }
    }

    #[test]
    fn what_takes_too_long_is_late() {
        let missed = within(1_000_000, || std::thread::sleep(Duration::from_secs(1)));
        assert!(matches!(missed, Err(Missed::Late)), "{missed:?}");
    }
}
