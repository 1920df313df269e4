//! Make calls that may hang (such as `open` or `close`), each on its own thread and with a time limit.

use crate::error::{Error, words_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Reason why work outside the timed path gave no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// It exceeded the time-out.
    Late,
    /// It failed, or could not be started.
    Void(Error),
}

impl NoResult {
    /// Return the value of `late` if the time-out was exceeded; else the error.
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
) -> Result<R, NoResult> {
    let work = move || {
        let worked = catch_unwind(AssertUnwindSafe(work));
        worked.map_err(|panic| NoResult::Void(Error::BrokenOutside { reason: words_of(&*panic) }))
    };
    if timeout_ns == 0 {
        return work();
    }
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("mileage-open".to_owned()).spawn(move || {
        // Ignore the error: after a time-out no receiver is left.
        let _ = sender.send(work());
    });
    let not_started = |error: std::io::Error| Error::NoThread { thread: 0, threads: 1, reason: error.to_string() };
    let thread = thread.map_err(|error| NoResult::Void(not_started(error)))?;
    let result = receiver.recv_timeout(Duration::from_nanos(timeout_ns)).map_err(|_| NoResult::Late)?;
    let _ = thread.join();
    result
}

#[cfg(test)]
mod tests {
    use super::{NoResult, within};
    use crate::error::Error;
    use std::time::Duration;

    #[test]
    fn a_panic_is_reported_with_its_own_words() {
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
        assert!(matches!(missed, Err(NoResult::Late)), "{missed:?}");
    }
}
