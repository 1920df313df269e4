//! Hands a thread's accounting to a watchdog while the thread is inside a call that may never return.
//!
//! Before such a call the thread stores its [`InFlight`] value in the [`HandOver`], afterwards it takes the value back: one
//! store and one exchange. A watchdog that finds the call overdue takes the value instead. If the call does return later,
//! the thread finds nothing to take back and ends.

use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The panic payload of a thread whose value a watchdog has taken: the run has ended without it.
#[derive(Debug)]
pub(crate) struct AbandonedValue;

/// Holds one thread's value during a call. Alone in its cache lines, since another thread reads it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct HandOver<T: Send> {
    /// Null, or from `Box::into_raw`; whoever exchanges it for null owns the box.
    left: AtomicPtr<T>,
    /// Number of operations that were begun.
    begun: AtomicU64,
}

/// A value that its thread can use, except inside [`InFlight::blocking_call`].
#[derive(Debug)]
pub(crate) struct InFlight<T: Send> {
    value: Option<Box<T>>,
    /// `None` without a watchdog: the value then always stays with its thread.
    hand_over: Option<Arc<HandOver<T>>>,
    begun: u64,
}

impl<T: Send> HandOver<T> {
    pub(crate) fn new() -> Self {
        Self { left: AtomicPtr::new(null_mut()), begun: AtomicU64::new(0) }
    }

    /// The value, if the thread is inside a call.
    pub(crate) fn take(&self) -> Option<Box<T>> {
        let left = self.left.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: a pointer that is not null came from `Box::into_raw`, and the exchange gave it to nobody else.
        (!left.is_null()).then(|| unsafe { Box::from_raw(left) })
    }

    /// Number of the current operation; as long as it stays the same, so does the operation.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether the thread is inside a call.
    pub(crate) fn is_left(&self) -> bool {
        !self.left.load(Ordering::Acquire).is_null()
    }
}

impl<T: Send> Drop for HandOver<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: Send> InFlight<T> {
    /// `value`, stored in `hand_over` during calls if there is one.
    pub(crate) fn new(value: T, hand_over: Option<Arc<HandOver<T>>>) -> Self {
        Self { value: Some(Box::new(value)), hand_over, begun: 0 }
    }

    /// Whether there is a watchdog.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.hand_over.is_some()
    }

    /// Note the start of the next operation, which resets its time-out.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if let Some(hand_over) = &self.hand_over {
            self.begun += 1;
            hand_over.begun.store(self.begun, Ordering::Relaxed);
        }
    }

    /// Make a call that may never return; the value cannot be used meanwhile. If a watchdog took the value, this thread
    /// unwinds with [`AbandonedValue`] when the call does return.
    #[expect(clippy::inline_always, reason = "made in the loop's own function: docs/decisions/0009")]
    #[inline(always)]
    pub(crate) fn blocking_call<R>(&mut self, call: impl FnOnce() -> R) -> R {
        // `call` appears once in this function, so that the compiler inlines it into the loop (docs/decisions/0009).
        if let Some(hand_over) = &self.hand_over
            && let Some(value) = self.value.take()
        {
            hand_over.left.store(Box::into_raw(value), Ordering::Release);
        }
        let result = call();
        if let Some(hand_over) = &self.hand_over {
            self.value = hand_over.take();
            if self.value.is_none() {
                resume_unwind(Box::new(AbandonedValue));
            }
        }
        result
    }

    /// Move the value and its hand-over to another owner; this one can no longer be used.
    pub(crate) fn hand_over(&mut self) -> Self {
        Self { value: self.value.take(), hand_over: self.hand_over.take(), begun: self.begun }
    }

    /// The value itself.
    pub(crate) fn into_inner(mut self) -> T {
        *self.value.take().expect(AT_HAND)
    }
}

const AT_HAND: &str = "the value is at hand except inside `blocking_call`, which borrows all of it";

impl<T: Send> Deref for InFlight<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.as_deref().expect(AT_HAND)
    }
}

impl<T: Send> DerefMut for InFlight<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect(AT_HAND)
    }
}

#[cfg(test)]
mod tests {
    use super::{AbandonedValue, HandOver, InFlight};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn what_nobody_takes_comes_back() {
        let hand_over = Arc::new(HandOver::new());
        let mut held = InFlight::new(vec![1], Some(Arc::clone(&hand_over)));
        held.begin();
        assert!(held.blocking_call(|| hand_over.is_left()));
        held.push(2);
        assert!(!hand_over.is_left() && hand_over.take().is_none());
        assert_eq!((held.into_inner(), hand_over.begun()), (vec![1, 2], 1));
    }

    #[test]
    fn a_thread_whose_value_was_taken_ends_when_it_comes_back() {
        let hand_over = Arc::new(HandOver::new());
        let mut held = InFlight::new(String::from("counted"), Some(Arc::clone(&hand_over)));
        let ended =
            catch_unwind(AssertUnwindSafe(|| held.blocking_call(|| assert_eq!(*hand_over.take().unwrap(), "counted"))));
        assert!(ended.unwrap_err().is::<AbandonedValue>());
    }

    #[test]
    fn it_is_owned_by_one_side_only_whoever_comes_first() {
        // Each round both sides race for one box; a second owner would free it twice.
        let (hand_over, done) = (Arc::new(HandOver::new()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let mut taken = 0_u64;
                while !done.load(Ordering::Acquire) {
                    taken += u64::from(hand_over.take().is_some());
                }
                taken + u64::from(hand_over.take().is_some())
            });
            let mut lost = 0;
            for round in 0..200_000_u64 {
                let mut held = InFlight::new(round, Some(Arc::clone(&hand_over)));
                match catch_unwind(AssertUnwindSafe(|| held.blocking_call(|| ()))) {
                    Ok(()) => assert_eq!(held.into_inner(), round),
                    Err(_) => lost += 1,
                }
            }
            done.store(true, Ordering::Release);
            assert_eq!(taker.join().unwrap(), lost);
        });
    }
}
