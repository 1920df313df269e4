//! What a thread has written down, while it is inside a call that may never return.
//!
//! Before such a call the thread leaves its [`Held`] value with the [`HandOver`], afterwards it collects it: one store
//! and one exchange. A watchdog that finds the call overdue takes the value instead; the thread, should it ever come
//! back, finds nothing to collect and ends.

use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// What a thread unwinds with whose value was taken: it has nothing more to say.
#[derive(Debug)]
pub(crate) struct LeftBehind;

/// Where one thread leaves its value during a call. Alone in its cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct HandOver<T: Send> {
    /// Null, or from `Box::into_raw`; whoever exchanges it for null owns the box.
    left: AtomicPtr<T>,
    /// How many operations were begun.
    begun: AtomicU64,
}

/// A value that its thread has at hand, except inside [`Held::outside`].
#[derive(Debug)]
pub(crate) struct Held<T: Send> {
    value: Option<Box<T>>,
    /// `None` where nobody watches, so that nothing is ever left.
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

    /// Which operation the thread is at; while the number stays, it is the same one.
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

impl<T: Send> Held<T> {
    /// `value`, left with `deposit` during calls if there is one.
    pub(crate) fn new(value: T, hand_over: Option<Arc<HandOver<T>>>) -> Self {
        Self { value: Some(Box::new(value)), hand_over, begun: 0 }
    }

    /// Whether somebody watches.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.hand_over.is_some()
    }

    /// A new operation begins: the patience with the one before is no longer of interest.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if let Some(hand_over) = &self.hand_over {
            self.begun += 1;
            hand_over.begun.store(self.begun, Ordering::Relaxed);
        }
    }

    /// Make a call that may never return; the value is out of reach meanwhile. If it was taken, this thread unwinds
    /// with [`LeftBehind`] as soon as the call does return.
    #[expect(clippy::inline_always, reason = "made in the loop's own function: docs/decisions/0009")]
    #[inline(always)]
    pub(crate) fn outside<R>(&mut self, call: impl FnOnce() -> R) -> R {
        // Written once, so that it becomes part of the loop that makes it.
        if let Some(hand_over) = &self.hand_over
            && let Some(value) = self.value.take()
        {
            hand_over.left.store(Box::into_raw(value), Ordering::Release);
        }
        let result = call();
        if let Some(hand_over) = &self.hand_over {
            self.value = hand_over.take();
            if self.value.is_none() {
                resume_unwind(Box::new(LeftBehind));
            }
        }
        result
    }

    /// The value with its deposit, for another owner; nothing is at hand here any more.
    pub(crate) fn hand_over(&mut self) -> Self {
        Self { value: self.value.take(), hand_over: self.hand_over.take(), begun: self.begun }
    }

    /// The value itself.
    pub(crate) fn into_inner(mut self) -> T {
        *self.value.take().expect(AT_HAND)
    }
}

const AT_HAND: &str = "the value is at hand except inside `outside`, which borrows all of it";

impl<T: Send> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.as_deref().expect(AT_HAND)
    }
}

impl<T: Send> DerefMut for Held<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect(AT_HAND)
    }
}

#[cfg(test)]
mod tests {
    use super::{HandOver, Held, LeftBehind};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn what_nobody_takes_comes_back() {
        let hand_over = Arc::new(HandOver::new());
        let mut held = Held::new(vec![1], Some(Arc::clone(&hand_over)));
        held.begin();
        assert!(held.outside(|| hand_over.is_left()));
        held.push(2);
        assert!(!hand_over.is_left() && hand_over.take().is_none());
        assert_eq!((held.into_inner(), hand_over.begun()), (vec![1, 2], 1));
    }

    #[test]
    fn a_thread_whose_value_was_taken_ends_when_it_comes_back() {
        let hand_over = Arc::new(HandOver::new());
        let mut held = Held::new(String::from("counted"), Some(Arc::clone(&hand_over)));
        let ended =
            catch_unwind(AssertUnwindSafe(|| held.outside(|| assert_eq!(*hand_over.take().unwrap(), "counted"))));
        assert!(ended.unwrap_err().is::<LeftBehind>());
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
                let mut held = Held::new(round, Some(Arc::clone(&hand_over)));
                match catch_unwind(AssertUnwindSafe(|| held.outside(|| ()))) {
                    Ok(()) => assert_eq!(held.into_inner(), round),
                    Err(_) => lost += 1,
                }
            }
            done.store(true, Ordering::Release);
            assert_eq!(taker.join().unwrap(), lost);
        });
    }
}
