//! Load models: when operations start.

use crate::error::{Error, in_range};
use serde::{Deserialize, Serialize};

/// When operations start. The default is the closed loop: the next one as soon as one completes. Rates are totals over
/// all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Open loop: operations are due by a clock, whether earlier ones have completed or not. `depth` bounds how many are
    /// outstanding; those that are due and must wait keep their intended start.
    #[serde(default)]
    pub open: Option<Open>,
    /// Closed loop, but not faster than this: each operation moves the earliest start of the thread's next one. A
    /// thread that is late catches up what it lost in the last millisecond and no more.
    #[serde(default)]
    pub cap: Option<Cap>,
    /// A pause of the thread each time a given number of operations has completed.
    #[serde(default)]
    pub think: Option<Think>,
    /// Time at the start during which operations are done and not counted, in nanoseconds, up to a year. The stop rule
    /// counts from its end, for operations and bytes as well as for time.
    #[serde(default)]
    pub warm_up_ns: u64,
}

/// Arrivals of the open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Operations per second, 1 to 10^9.
    pub operations_per_s: u64,
    /// Distribution of the time between arrivals.
    pub spacing: Spacing,
    /// From the thread's start, warm-up included, the rate changes linearly to `to_operations_per_s` over `over_ns`,
    /// and stays there.
    #[serde(default)]
    pub ramp: Option<Ramp>,
}

/// Distribution of the time between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// At equal intervals.
    Constant,
    /// Exponential gaps, seeded: a Poisson process.
    Poisson,
}

/// A linear change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Operations per second at its end, 1 to 10^9.
    pub to_operations_per_s: u64,
    /// Duration of the ramp in nanoseconds, 1 to a year.
    pub over_ns: u64,
}

/// A limit of the closed loop's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// Operations per second, 1 to 10^9.
    OperationsPerS(u64),
    /// Bytes per second, 1 to 10^15.
    BytesPerS(u64),
}

/// Think time; with more than one operation before it, a burst with a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Length of the pause in nanoseconds, 1 to a year, from the completion of the last operation before it.
    pub pause_ns: u64,
    /// Operations between two pauses, 1 or more.
    pub every_operations: u64,
}

/// A billion: one operation per nanosecond, the resolution of every time here.
const OPERATIONS_PER_S_MAX: u64 = 1_000_000_000;
const BYTES_PER_S_MAX: u64 = 1_000_000_000_000_000;
/// A year of 365 days.
const TIME_MAX_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

impl Load {
    /// Check that operations can start in this way.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(Open { operations_per_s, ramp, .. }) = self.open {
            in_range("load.open.operations_per_s", operations_per_s, 1, OPERATIONS_PER_S_MAX)?;
            if let Some(Ramp { to_operations_per_s, over_ns }) = ramp {
                in_range("load.open.ramp.to_operations_per_s", to_operations_per_s, 1, OPERATIONS_PER_S_MAX)?;
                in_range("load.open.ramp.over_ns", over_ns, 1, TIME_MAX_NS)?;
            }
            let alone = |what, found: Option<String>| match found {
                Some(found) => Err(Error::Refused {
                    what,
                    found,
                    expected: "in the open loop the rate alone says when operations start: leave one of the two out",
                }),
                None => Ok(()),
            };
            alone("load.cap", self.cap.map(|cap| format!("{cap:?}")))?;
            alone("load.think", self.think.map(|think| format!("{think:?}")))?;
        }
        match self.cap {
            Some(Cap::OperationsPerS(rate)) => {
                in_range("load.cap.operations_per_s", rate, 1, OPERATIONS_PER_S_MAX)?;
            }
            Some(Cap::BytesPerS(rate)) => in_range("load.cap.bytes_per_s", rate, 1, BYTES_PER_S_MAX)?,
            None => {}
        }
        if let Some(Think { pause_ns, every_operations }) = self.think {
            in_range("load.think.pause_ns", pause_ns, 1, TIME_MAX_NS)?;
            in_range("load.think.every_operations", every_operations, 1, u64::MAX)?;
        }
        in_range("load.warm_up_ns", self.warm_up_ns, 0, TIME_MAX_NS)
    }
}
