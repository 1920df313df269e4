//! Erases and programs that are interrupted for reads: a part of the clocks that is there only where the profile asks.
//!
//! # Model
//! Every array has windows of time in which what it does may be interrupted. A read that comes in one waits for the
//! reads that came before it and for the interruption, not for the window's end; one that comes before a window waits
//! for its beginning. What was interrupted is made up for behind all that the array was asked to do: what was promised
//! before, such as the completion of a program, stays as it was, and no work is lost.

use std::collections::VecDeque;

/// From when to when an array does something that may be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub from_ns: u64,
    pub to_ns: u64,
}

/// The windows of one array, in order, and its reads that came in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub windows: VecDeque<Window>,
    /// Time at which all reads in its windows are done.
    pub reads_ns: u64,
}

/// A read that comes in a window: when it is done, how much later that makes the array's other work, and whether
/// something was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OvertakingRead {
    pub done_ns: u64,
    pub adds_ns: u64,
    pub interrupts: bool,
}

impl Line {
    /// From `from_ns` to `to_ns`, behind all windows before, the array may be interrupted; it is `now_ns`.
    pub(super) fn add(&mut self, from_ns: u64, to_ns: u64, now_ns: u64) {
        while self.windows.front().is_some_and(|window| window.to_ns <= now_ns) {
            self.windows.pop_front();
        }
        match self.windows.back_mut() {
            Some(last) if last.to_ns == from_ns => last.to_ns = to_ns,
            _ => self.windows.push_back(Window { from_ns, to_ns }),
        }
    }

    /// A read of `takes_ns` that comes at `ready_ns`; `None` when there is no window left for it.
    pub(super) fn overtake(&mut self, ready_ns: u64, takes_ns: u64, suspend_ns: u64) -> Option<OvertakingRead> {
        let comes_ns = ready_ns.max(self.reads_ns);
        let window = *self.windows.iter().find(|window| comes_ns < window.to_ns)?;
        let from_ns = comes_ns.max(window.from_ns);
        // After the reads that interrupted it, and before it has begun, no operation is running: nothing is
        // interrupted.
        let idle = from_ns == self.reads_ns || from_ns == window.from_ns;
        // Let an operation finish if it ends sooner than an interruption takes.
        let interrupts = !idle && from_ns + suspend_ns <= window.to_ns;
        let begins_ns = match (idle, interrupts) {
            (true, _) => from_ns,
            (_, true) => from_ns + suspend_ns,
            _ => window.to_ns,
        };
        self.reads_ns = begins_ns + takes_ns;
        let adds_ns = takes_ns + if interrupts { suspend_ns } else { 0 };
        Some(OvertakingRead { done_ns: self.reads_ns, adds_ns, interrupts })
    }
}
