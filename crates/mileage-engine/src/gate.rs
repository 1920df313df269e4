//! Lets all threads of a run go at the same instant, once the last is ready.

use crate::clock::{self, RunClock};
use crate::start_barrier::Meeting;
use crate::worker::wait;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct State {
    waiting_for: u32,
    origin_ns: Option<u64>,
}

/// A barrier that tells when it opened, and that a thread which gives up still passes.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    opened: Condvar,
    /// Where the threads of other processes come as well.
    meeting: Option<Arc<Meeting>>,
}

/// One thread's place at the gate; dropping it counts as having come, so that nobody waits for a thread that broke.
pub(crate) struct Seat<'a> {
    gate: &'a Gate,
    taken: bool,
}

impl Gate {
    pub(crate) fn new(threads: u32) -> Self {
        Self {
            state: Mutex::new(State { waiting_for: threads, origin_ns: None }),
            opened: Condvar::new(),
            meeting: None,
        }
    }

    /// A gate that opens when the threads of all processes have come to the meeting.
    pub(crate) fn at(meeting: Option<Arc<Meeting>>, threads: u32) -> Self {
        Self { meeting, ..Self::new(threads) }
    }

    pub(crate) fn seat(&self) -> Seat<'_> {
        Seat { gate: self, taken: false }
    }

    /// Open at once for those who came: the others never will.
    pub(crate) fn open_early(&self) {
        let mut state = self.lock();
        state.waiting_for = 0;
        state.origin_ns.get_or_insert_with(clock::now_ns);
        self.opened.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.lock().origin_ns.is_some()
    }

    /// When it opened, on the engine's clock; `None` before.
    pub(crate) fn origin_ns(&self) -> Option<u64> {
        self.lock().origin_ns
    }

    /// Nanoseconds since it opened; 0 before.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        let origin_ns = self.lock().origin_ns;
        origin_ns.map_or(0, |origin_ns| clock::now_ns().saturating_sub(origin_ns))
    }

    /// Wait at the meeting, then for the instant set there. A run that was halted before begins at once, and ends.
    fn wait_for_others(&self, meeting: &Meeting) -> u64 {
        meeting.arrive();
        let now_ns = clock::now_ns();
        let origin_ns = meeting.wait().unwrap_or(now_ns);
        wait::until(RunClock::since(now_ns), origin_ns.saturating_sub(now_ns), || meeting.signals().halted() != 0);
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

impl Seat<'_> {
    /// Wait until all have come; the instant of opening, on the engine's clock.
    pub(crate) fn wait(mut self) -> u64 {
        self.taken = true;
        if let Some(meeting) = &self.gate.meeting {
            return self.gate.wait_for_others(meeting);
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

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        match &self.gate.meeting {
            _ if self.taken => {}
            Some(meeting) => meeting.arrive(),
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
            let early: Vec<_> = (0..2).map(|_| scope.spawn(|| gate.seat().wait())).collect();
            std::thread::sleep(Duration::from_millis(20));
            let before_ns = crate::clock::now_ns();
            assert!(early.iter().all(|thread| !thread.is_finished()));
            let last_ns = gate.seat().wait();
            assert!(last_ns >= before_ns);
            assert!(early.into_iter().all(|thread| thread.join().unwrap() == last_ns), "one instant for all");
        });
    }

    #[test]
    fn a_thread_that_gives_up_holds_nobody() {
        let gate = Gate::new(2);
        drop(gate.seat());
        gate.seat().wait();
        let never_complete = Gate::new(9);
        never_complete.open_early();
        never_complete.seat().wait();
    }
}
