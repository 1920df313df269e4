//! Wait until a point in time precisely: sleep until shortly before it, then spin.

use crate::clock::RunClock;
use std::time::Duration;

/// Time before the instant at which the sleep ends and spinning begins. A sleeper wakes late by its timer's slack (1
/// ns here, see [`prepare`]) and by the time the scheduler takes, some tens of microseconds on an idle machine.
const SPIN_NS: u64 = 60_000;
/// Longest sleep in one piece, so that a run that is stopped ends soon.
const SLEEP_NS_MAX: u64 = 50_000_000;

/// Make the calling thread's sleeps end when they should, not up to 50 us later.
pub(super) fn prepare() {
    // A kernel that refuses only makes the sleeps end later, and the wait as precise as its sleeps.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
}

/// Wait until `until_ns` on `clock`, or until `halted` says so, which is asked with the time; the time at return.
pub(crate) fn until(clock: RunClock, until_ns: u64, halted: impl Fn(u64) -> bool) -> u64 {
    loop {
        let now_ns = clock.now_ns();
        let left_ns = until_ns.saturating_sub(now_ns);
        if left_ns == 0 || halted(now_ns) {
            return now_ns;
        }
        if left_ns > SPIN_NS {
            std::thread::sleep(Duration::from_nanos((left_ns - SPIN_NS).min(SLEEP_NS_MAX)));
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::until;
    use crate::clock::{RunClock, now_ns};
    use std::cell::Cell;

    #[test]
    fn it_never_returns_early_unless_halted() {
        let clock = RunClock::since(now_ns());
        for wait_ns in [0, 1, 500, 59_000, 61_000, 300_000, 3_000_000] {
            let until_ns = clock.now_ns() + wait_ns;
            assert!(until(clock, until_ns, |_| false) >= until_ns, "{wait_ns} ns");
        }
        let asked = Cell::new(0);
        let halted = |_| asked.replace(asked.get() + 1) > 1;
        let began_ns = clock.now_ns();
        assert!(until(clock, u64::MAX, halted) - began_ns < 60_000_000_000, "a halted wait ends after a sleep or two");
    }
}
