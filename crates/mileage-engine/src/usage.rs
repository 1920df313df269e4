//! Resources that a thread uses, as accounted by the kernel.

use mileage_measure::Usage;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Processor time, context switches and page faults of a thread, in total or over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadUsage {
    /// Processor time by the thread's clock, which is exact; `getrusage` is as old as the last tick of the scheduler.
    total_ns: u64,
    user_ns: u64,
    system_ns: u64,
    switches_voluntary: u64,
    switches_involuntary: u64,
}

fn kernels_account() -> libc::rusage {
    // SAFETY: a `rusage` is plain numbers, of which all zeros is one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is ours for the call. It cannot fail: who is asked for and where it goes are both valid.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage
}

impl ThreadUsage {
    /// The calling thread's account so far (`CLOCK_THREAD_CPUTIME_ID`, `getrusage(RUSAGE_THREAD)`).
    pub(crate) fn now() -> Self {
        let usage = kernels_account();
        let ns = |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000;
        let total = clock_gettime(ClockId::ThreadCPUTime);
        Self {
            total_ns: total.tv_sec.unsigned_abs() * 1_000_000_000 + total.tv_nsec.unsigned_abs(),
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            switches_voluntary: usage.ru_nvcsw.unsigned_abs(),
            switches_involuntary: usage.ru_nivcsw.unsigned_abs(),
        }
    }

    /// Resources used by the same thread from here to `later`. The kernel's split of user and system time is an
    /// estimate that may run backwards by a tick; the exact total is divided in its proportion, and is the kernel's
    /// own where there was no tick.
    pub(crate) fn until(&self, later: &Self) -> Self {
        let total_ns = later.total_ns.saturating_sub(self.total_ns);
        let (user_ns, system_ns) =
            (later.user_ns.saturating_sub(self.user_ns), later.system_ns.saturating_sub(self.system_ns));
        let share = u128::from(total_ns) * u128::from(user_ns) / u128::from((user_ns + system_ns).max(1));
        Self {
            total_ns,
            user_ns: share as u64,
            system_ns: total_ns - share as u64,
            switches_voluntary: later.switches_voluntary.saturating_sub(self.switches_voluntary),
            switches_involuntary: later.switches_involuntary.saturating_sub(self.switches_involuntary),
        }
    }

    /// User and system time in seconds.
    pub(crate) fn seconds(&self) -> (f64, f64) {
        (self.user_ns as f64 / 1e9, self.system_ns as f64 / 1e9)
    }

    /// Add it to a run's usage.
    pub(crate) fn add_to(&self, usage: &mut Usage) {
        usage.user_ns += self.user_ns;
        usage.system_ns += self.system_ns;
        usage.switches_voluntary += self.switches_voluntary;
        usage.switches_involuntary += self.switches_involuntary;
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadUsage;
    use mileage_measure::Usage;
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    fn thread_ns() -> u64 {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
    }

    #[test]
    fn it_agrees_with_the_threads_clock_and_counts_sleeps() {
        let (spent, began_ns) = (ThreadUsage::now(), thread_ns());
        let mut sum = 0_u64;
        while thread_ns() - began_ns < 60_000_000 {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        (0..3).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
        let (spent, took_ns) = (spent.until(&ThreadUsage::now()), thread_ns() - began_ns);
        let mut usage = Usage::default();
        spent.add_to(&mut usage);
        // The two readings differ by a few calls only, so compare with a tolerance of that size.
        assert!((usage.user_ns + usage.system_ns).abs_diff(took_ns) < 1_000_000, "{usage:?} against {took_ns} ns");
        assert!(usage.switches_voluntary >= 3, "{usage:?}");
    }
}
