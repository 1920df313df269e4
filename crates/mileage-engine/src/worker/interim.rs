//! Copies of the threads' accounting while the run is in progress, for status reports.
//!
//! Nobody reads the histograms of a running thread. A thread that is asked copies its accounting itself, between two
//! operations: where it publishes its progress (every 10 ms), or while it waits. No operation pays for it.

use super::thread_result::Part;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last copy of a thread.
#[derive(Debug, Default)]
struct Copy {
    /// Number of the request that it answers; 0 before the first one.
    request: u64,
    part: Option<Box<Part>>,
}

/// Where the threads of a process are asked for copies, and leave them.
#[derive(Debug)]
pub(crate) struct InterimParts {
    /// Requests so far.
    requests: AtomicU64,
    copies: Box<[Mutex<Copy>]>,
}

impl InterimParts {
    /// No copies of this many threads.
    pub(crate) fn of(threads: u32) -> Self {
        Self { requests: AtomicU64::new(0), copies: (0..threads).map(|_| Mutex::default()).collect() }
    }

    /// Ask every thread for a copy; the number of the request.
    pub(crate) fn ask(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Number of the last request; 0 when there was none.
    pub(super) fn last_request(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Answer a request for the thread at this place.
    pub(super) fn leave(&self, place: usize, request: u64, part: Part) {
        *self.lock(place) = Copy { request, part: Some(Box::new(part)) };
    }

    /// Whether the thread at this place has answered the request.
    pub(crate) fn has_answered(&self, place: usize, request: u64) -> bool {
        self.lock(place).request >= request
    }

    /// The last copy of the thread at this place; `None` if it never left one.
    pub(crate) fn last(&self, place: usize) -> Option<Part> {
        self.lock(place).part.as_deref().cloned()
    }

    // Written in single assignments; a poisoned lock still holds a whole copy.
    fn lock(&self, place: usize) -> MutexGuard<'_, Copy> {
        self.copies[place].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
