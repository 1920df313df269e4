//! The clock that times all operations of the engine.
//!
//! Where the processor has an invariant time stamp counter and the kernel keeps time by it, the counter is read
//! directly (about 10 ns) and converted with a multiplier found once per process against `CLOCK_MONOTONIC_RAW`;
//! anywhere else that clock is read itself (about 23 ns, through the vDSO). Neither is adjusted during a run.
//!
//! The multiplier is as good as the two readings it comes from: some nanoseconds over `CALIBRATION_NS`, which is
//! about one part in a million. [`Drift`] checks it over every run.

#[cfg(target_arch = "x86_64")]
use crate::tsc;
use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;

/// The multiplier's binary point. Rates down to 63 MHz fit in the bits above it.
const POINT: u32 = 60;
/// Duration of the calibration of the counter against the kernel's clock.
const CALIBRATION_NS: u64 = 4_000_000;
/// Readings taken at either end, of which the one that took least counts.
const READINGS: u32 = 64;

/// `CLOCK_MONOTONIC_RAW` is read.
pub(crate) const RAW: &str = "monotonic_raw";
/// The time stamp counter is read.
pub(crate) const TSC: &str = "tsc";

/// How the counter becomes nanoseconds: `origin_ns + (ticks - origin_ticks) * multiplier / 2^60`.
#[derive(Clone, Copy, Debug)]
struct Scale {
    origin_ticks: u64,
    origin_ns: u64,
    multiplier: u64,
}

static SCALE: OnceLock<Option<Scale>> = OnceLock::new();

/// Now in nanoseconds, on the time line of `CLOCK_MONOTONIC_RAW`. The first call of a process may take
/// `CALIBRATION_NS`; later ones are no system call.
#[inline]
pub fn now_ns() -> u64 {
    now_by(*SCALE.get_or_init(calibrate))
}

#[inline]
fn now_by(scale: Option<Scale>) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(scale) = scale {
        return scale.ns(tsc::ticks());
    }
    raw_ns()
}

/// `tsc` or `monotonic_raw`: what [`now_ns`] reads in this process.
pub(crate) fn name() -> &'static str {
    if SCALE.get_or_init(calibrate).is_some() { TSC } else { RAW }
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
#[inline]
pub(crate) fn raw_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Scale {
    #[inline]
    fn ns(self, ticks: u64) -> u64 {
        // Another processor's counter may be a few ticks behind the one that calibrated.
        let passed = ticks.saturating_sub(self.origin_ticks);
        self.origin_ns + ((u128::from(passed) * u128::from(self.multiplier)) >> POINT) as u64
    }
}

/// The clock as a loop reads it: nanoseconds since the instant at which the run's threads were released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    /// Its own, so that a loop has it at hand.
    scale: Option<Scale>,
    origin_ns: u64,
}

impl RunClock {
    /// A clock that was zero at `origin_ns` of [`now_ns`].
    pub(crate) fn since(origin_ns: u64) -> Self {
        Self { scale: *SCALE.get_or_init(calibrate), origin_ns }
    }

    /// Nanoseconds since the origin; 0 for the instant before it that another processor's counter may show.
    #[inline]
    pub(crate) fn now_ns(self) -> u64 {
        now_by(self.scale).saturating_sub(self.origin_ns)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn calibrate() -> Option<Scale> {
    None
}

#[cfg(target_arch = "x86_64")]
#[cold]
fn calibrate() -> Option<Scale> {
    if !tsc::usable() {
        return None;
    }
    let first = pair();
    std::thread::sleep(std::time::Duration::from_nanos(CALIBRATION_NS));
    scale(first, pair())
}

/// The scale that two simultaneous readings of both clocks give, as `(ticks, ns)`; `None` if they make no sense.
fn scale(first: (u64, u64), last: (u64, u64)) -> Option<Scale> {
    let (ticks, ns) = (last.0.checked_sub(first.0)?, last.1.checked_sub(first.1)?);
    let multiplier = (u128::from(ns) << POINT).checked_div(u128::from(ticks))?;
    let multiplier = u64::try_from(multiplier).ok().filter(|multiplier| *multiplier > 0)?;
    Some(Scale { origin_ticks: last.0, origin_ns: last.1, multiplier })
}

/// Both clocks at one instant: the reading of the kernel's that the narrowest pair of the counter's encloses.
#[cfg(target_arch = "x86_64")]
fn pair() -> (u64, u64) {
    let reading = |_| {
        let before = tsc::ticks();
        let ns = raw_ns();
        let width = tsc::ticks().saturating_sub(before);
        (width, before + width / 2, ns)
    };
    let (_, ticks, ns) = (0..READINGS).map(reading).min().expect("there is more than one reading");
    (ticks, ns)
}

/// Deviation of the engine's clock from `CLOCK_MONOTONIC_RAW` over an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drift {
    clock_ns: u64,
    raw_ns: u64,
}

impl Drift {
    /// Begin to watch.
    pub(crate) fn begin() -> Self {
        // The narrowest of a few readings: a thread that loses its processor between the two would see a gain.
        let reading = |_| {
            let before = now_ns();
            let raw_ns = raw_ns();
            let width = now_ns().saturating_sub(before);
            (width, Self { clock_ns: before + width / 2, raw_ns })
        };
        (0..8).map(reading).min_by_key(|(width, _)| *width).expect("there is more than one reading").1
    }

    /// Nanoseconds gained since (negative: lost).
    pub(crate) fn gained_ns(self) -> i64 {
        let now = Self::begin();
        (now.clock_ns.wrapping_sub(self.clock_ns)).wrapping_sub(now.raw_ns.wrapping_sub(self.raw_ns)).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::{Drift, RAW, TSC, name, now_ns, raw_ns, scale};
    use std::time::Duration;

    #[test]
    fn it_never_runs_backwards_and_keeps_to_the_kernels_clock() {
        let drift = Drift::begin();
        let (began_ns, mut last_ns) = (raw_ns(), now_ns());
        while raw_ns() - began_ns < 200_000_000 {
            let next_ns = now_ns();
            assert!(next_ns >= last_ns, "{last_ns} then {next_ns}");
            last_ns = next_ns;
        }
        let gained_ns = drift.gained_ns();
        // 50 parts in a million: what a calibration disturbed by a busy machine still reaches.
        assert!(gained_ns.abs() < 10_000, "{} gained {gained_ns} ns in 0.2 s", name());
    }

    #[test]
    fn threads_share_one_time_line() {
        for _ in 0..50 {
            let before_ns = now_ns();
            let there_ns = std::thread::spawn(now_ns).join().unwrap();
            let after_ns = now_ns();
            assert!((before_ns..=after_ns).contains(&there_ns), "{before_ns} {there_ns} {after_ns}");
        }
    }

    #[test]
    fn the_choice_is_one_of_two_and_the_time_line_is_the_kernels() {
        assert!([TSC, RAW].contains(&name()));
        std::thread::sleep(Duration::from_millis(1));
        assert!(now_ns().abs_diff(raw_ns()) < 1_000_000_000, "one origin");
    }

    #[test]
    fn the_scale_is_exact_arithmetic() {
        // 3 GHz: 12 000 000 ticks in 4 ms; a month later the sum is still within its rounding.
        let three_ghz = scale((1_000, 500), (12_001_000, 4_000_500)).unwrap();
        let month_ns = 2_592_000_000_000_000_u64;
        assert!(three_ghz.ns(12_001_000 + 3 * month_ns).abs_diff(4_000_500 + month_ns) <= 1);
        assert_eq!(three_ghz.ns(0), 4_000_500, "never before its origin");
        assert!(scale((5, 5), (5, 9)).is_none(), "a counter that stands still is no clock");
        assert!(scale((9, 5), (5, 9)).is_none(), "nor one that runs backwards");
        assert!(scale((0, 0), (1, 1_000_000)).is_none(), "nor one too slow");
    }
}
