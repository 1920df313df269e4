//! The monitor of a served drive: the core behind one lock, and the thread that gives the answers that are due later.

use crate::core::{Core, Ready};
use crate::request::{HostAnswer, HostRequest};
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The last part of a wait that a spinning server does not sleep: as long as this machine may take to wake up.
const SPIN: Duration = Duration::from_micros(60);

pub(crate) struct MonitorState {
    pub core: Core<HostAnswer>,
    /// Until when the thread sleeps; `None`: until it is woken.
    sleeps_until: Option<Instant>,
    pub stops: bool,
}

/// The core, its lock, and the thread that waits for the next answer that is due.
pub(crate) struct DriveMonitor {
    state: Mutex<MonitorState>,
    pub wake: Condvar,
    pub capacity_bytes: u64,
    pub sector_bytes: u32,
}

impl DriveMonitor {
    pub fn new(core: Core<HostAnswer>, capacity_bytes: u64, sector_bytes: u32) -> Self {
        let state = Mutex::new(MonitorState { core, sleeps_until: None, stops: false });
        Self { state, wake: Condvar::new(), capacity_bytes, sector_bytes }
    }

    /// The lock.
    pub fn lock(&self) -> MutexGuard<'_, MonitorState> {
        // A panic elsewhere leaves counters at worst; the answers that are owed still have to be given.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take a request of the host, now.
    pub fn submit(&self, request: HostRequest<HostAnswer>) {
        self.with(|core, now, ready| {
            core.submit(request, now, ready);
            core.collect(now, ready);
        });
    }

    /// Use the core, wake the thread if it is needed earlier, and give the answers that are due.
    pub fn with<T>(&self, act: impl FnOnce(&mut Core<HostAnswer>, Instant, &mut Vec<Ready<HostAnswer>>) -> T) -> T {
        let mut ready = Vec::new();
        let mut guarded = self.lock();
        let result = act(&mut guarded.core, Instant::now(), &mut ready);
        let next = guarded.core.next_wakeup();
        let is_earlier = next.is_some_and(|next| guarded.sleeps_until.is_none_or(|until| next < until));
        if is_earlier {
            // One wake-up is enough: the thread sets this again before it sleeps.
            guarded.sleeps_until = next;
            self.wake.notify_one();
        }
        drop(guarded);
        ready.into_iter().for_each(|ready| ready.answer.give(ready.result));
        result
    }

    /// Give the answers that are due later, until the server ends.
    pub fn answer_later(&self, spins: bool) {
        // Without it the kernel may wake this thread 50 us late.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut ready = Vec::new();
        let mut guarded = self.lock();
        while !guarded.stops {
            guarded.core.tick(Instant::now(), &mut ready);
            if !ready.is_empty() {
                drop(guarded);
                ready.drain(..).for_each(|ready| ready.answer.give(ready.result));
                guarded = self.lock();
                continue;
            }
            let Some(next) = guarded.core.next_wakeup() else {
                guarded.sleeps_until = None;
                guarded = self.wake.wait(guarded).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            guarded.sleeps_until = Some(next);
            let left = next.saturating_duration_since(Instant::now());
            if spins && left <= SPIN {
                drop(guarded);
                while Instant::now() < next {
                    std::hint::spin_loop();
                }
                guarded = self.lock();
            } else {
                let wait = if spins { left.saturating_sub(SPIN) } else { left };
                guarded = self.wake.wait_timeout(guarded, wait).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}
