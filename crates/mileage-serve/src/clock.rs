//! Between the clock of the host and that of the drive.

use std::str::FromStr;
use std::time::{Duration, Instant};

/// How fast the time of the drive passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// This factor times as fast as that of the host; 1 is real time.
    Times(f64),
    /// As fast as requests come: each is answered at once, and the drive's clock moves on to its completion. Requests that
    /// the host has outstanding at the same time follow each other on that clock.
    Unbounded,
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let times = match text {
            "real" => return Ok(Self::Times(1.0)),
            "unbounded" => return Ok(Self::Unbounded),
            _ => text.strip_prefix('x').and_then(|times| times.parse::<f64>().ok()),
        };
        times.filter(|times| (0.001..=1000.0).contains(times)).map(Self::Times).ok_or_else(|| {
            format!("speed {text:?}: expected real, unbounded, or a factor from x0.001 to x1000 such as x10")
        })
    }
}

/// Maps the host's clock to the drive's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    speed: Speed,
    host: Instant,
    drive_ns: u64,
}

impl Clock {
    /// A clock that shows `drive_ns` now.
    pub fn new(speed: Speed, drive_ns: u64) -> Self {
        Self { speed, host: Instant::now(), drive_ns }
    }

    pub fn is_unbounded(&self) -> bool {
        self.speed == Speed::Unbounded
    }

    /// Set the drive's clock.
    pub fn set(&mut self, drive_ns: u64) {
        *self = Self::new(self.speed, drive_ns);
    }

    /// The drive's time at an instant of the host.
    pub fn drive_ns(&self, host: Instant) -> u64 {
        match self.speed {
            Speed::Unbounded => self.drive_ns,
            Speed::Times(times) => {
                let passed_ns = host.saturating_duration_since(self.host).as_nanos() as f64;
                self.drive_ns + (passed_ns * times) as u64
            }
        }
    }

    /// The first instant of the host at which the drive's clock shows `drive_ns` or more.
    pub fn host(&self, drive_ns: u64) -> Instant {
        match self.speed {
            Speed::Unbounded => self.host,
            Speed::Times(times) => {
                let ahead_ns = drive_ns.saturating_sub(self.drive_ns) as f64 / times;
                // An instant beyond a year is as good as never.
                self.host + Duration::from_nanos(ahead_ns.ceil().min(3.15e16) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_parsed_or_refused() {
        assert_eq!("real".parse(), Ok(Speed::Times(1.0)));
        assert_eq!("x10".parse(), Ok(Speed::Times(10.0)));
        assert_eq!("unbounded".parse(), Ok(Speed::Unbounded));
        for text in ["", "x", "x0", "x-1", "xNaN", "10", "fast"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
    }

    #[test]
    fn clock_maps_there_and_back() {
        for times in [0.5, 1.0, 10.0] {
            let clock = Clock::new(Speed::Times(times), 5_000);
            for ns in [5_000, 5_001, 1_000_000, 7_000_000_000] {
                let back = clock.drive_ns(clock.host(ns));
                assert!(back >= ns && back - ns <= times as u64 + 1, "{ns} became {back} at {times}");
            }
        }
    }
}
