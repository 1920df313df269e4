//! When operations start.

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
    /// Closed loop, but not faster than this.
    #[serde(default)]
    pub cap: Option<Cap>,
    /// A pause of the thread after every so many operations have completed.
    #[serde(default)]
    pub think: Option<Think>,
    /// Time at the start during which operations are done and not counted, in nanoseconds.
    #[serde(default)]
    pub warm_up_ns: u64,
}

/// Arrivals of the open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Operations per second, 1 or more.
    pub operations_per_s: u64,
    /// How arrivals are spaced.
    pub spacing: Spacing,
    /// The rate changes linearly to `to_operations_per_s` over `over_ns`, and stays there.
    #[serde(default)]
    pub ramp: Option<Ramp>,
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Evenly.
    Constant,
    /// Exponential gaps, seeded: a Poisson process.
    Poisson,
}

/// A linear change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Operations per second at its end, 1 or more.
    pub to_operations_per_s: u64,
    /// How long it takes, in nanoseconds, 1 or more.
    pub over_ns: u64,
}

/// A limit of the closed loop's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// Operations per second, 1 or more.
    OperationsPerS(u64),
    /// Bytes per second, 1 or more.
    BytesPerS(u64),
}

/// Think time; with more than one operation before it, a burst with a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Length of the pause in nanoseconds, 1 or more, from the completion of the last operation before it.
    pub pause_ns: u64,
    /// Operations between two pauses, 1 or more.
    pub every_operations: u64,
}
