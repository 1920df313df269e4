//! The start gate of one process: releases all threads of a run at the same instant, once the last is ready.

use crate::clock::{self, RunClock};
use crate::start_barrier::StartBarrier;
use crate::worker::timed_wait;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct State {
    waiting_for: u32,
    origin_ns: Option<u64>,
}

/// A barrier that records when it opened. A thread that gives up counts as arrived.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    opened: Condvar,
    /// The barrier of the threads of all processes, if there are several.
    barrier: Option<Arc<StartBarrier>>,
}

/// One thread's ticket for the gate. Dropping it counts as arrival, so that nobody waits for a thread that panicked.
pub(crate) struct Ticket<'a> {
    gate: &'a Gate,
    taken: bool,
}

impl Gate {
    pub(crate) fn new(threads: u32) -> Self {
        Self {
            state: Mutex::new(State { waiting_for: threads, origin_ns: None }),
            opened: Condvar::new(),
            barrier: None,
        }
    }

    /// A gate that opens when the threads of all processes have arrived at the barrier.
    pub(crate) fn at(barrier: Option<Arc<StartBarrier>>, threads: u32) -> Self {
        Self { barrier, ..Self::new(threads) }
    }

    pub(crate) fn ticket(&self) -> Ticket<'_> {
        Ticket { gate: self, taken: false }
    }

    /// Open at once for the threads that have arrived: the others never will.
    pub(crate) fn open_early(&self) {
        let mut state = self.lock();
        state.waiting_for = 0;
        state.origin_ns.get_or_insert_with(clock::now_ns);
        self.opened.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.lock().origin_ns.is_some()
    }

    /// Time at which the gate opened, on the engine's clock; `None` before.
    pub(crate) fn origin_ns(&self) -> Option<u64> {
        self.lock().origin_ns
    }

    /// Nanoseconds since it opened; 0 before.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        let origin_ns = self.lock().origin_ns;
        origin_ns.map_or(0, |origin_ns| clock::now_ns().saturating_sub(origin_ns))
    }

    /// Wait at the barrier, then for the instant set there. A run that was halted before begins at once, and ends.
    fn wait_for_others(&self, barrier: &StartBarrier) -> u64 {
        barrier.arrive();
        let now_ns = clock::now_ns();
        let origin_ns = barrier.wait().unwrap_or(now_ns);
        timed_wait::until(RunClock::since(now_ns), origin_ns.saturating_sub(now_ns), |_| {
            barrier.signals().halted() != 0
        });
        self.lock().origin_ns = Some(origin_ns);
        origin_ns
    }

    fn arrive(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.waiting_for = state.waiting_for.saturating_sub(1);
        if state.waiting_for == 0 && state.origin_ns.is_none() {
            state.origin_ns = Some(clock::now_ns());
            self.opened.notify_all();
        }
        state
    }

    // A thread that panicked under the lock leaves two plain numbers, never half of one.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket<'_> {
    /// Wait until all have come; the instant of opening, on the engine's clock.
    pub(crate) fn wait(mut self) -> u64 {
        self.taken = true;
        if let Some(barrier) = &self.gate.barrier {
            return self.gate.wait_for_others(barrier);
        }
        let mut state = self.gate.arrive();
        loop {
            if let Some(origin_ns) = state.origin_ns {
                return origin_ns;
            }
            state = self.gate.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        match &self.gate.barrier {
            _ if self.taken => {}
            Some(barrier) => barrier.arrive(),
            None => drop(self.gate.arrive()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;
    use std::time::Duration;

    #[test]
    fn nobody_goes_before_the_last_has_come() {
        let gate = Gate::new(3);
        std::thread::scope(|scope| {
            let early: Vec<_> = (0..2).map(|_| scope.spawn(|| gate.ticket().wait())).collect();
            std::thread::sleep(Duration::from_millis(20));
            let before_ns = crate::clock::now_ns();
            assert!(early.iter().all(|thread| !thread.is_finished()));
            let last_ns = gate.ticket().wait();
            assert!(last_ns >= before_ns);
            assert!(early.into_iter().all(|thread| thread.join().unwrap() == last_ns), "one instant for all");
        });
    }

    #[test]
    fn a_thread_that_gives_up_holds_nobody() {
        let gate = Gate::new(2);
        drop(gate.ticket());
        gate.ticket().wait();
        let never_complete = Gate::new(9);
        never_complete.open_early();
        never_complete.ticket().wait();
    }
}
