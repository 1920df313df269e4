//! Start times of the operations of one thread: arrivals of the open loop, and the rate cap of the closed one.
//!
//! Rates are totals over the threads, which know nothing of each other: of evenly spaced arrivals 0, 1, 2, ... thread
//! `k` of `n` takes `k`, `k + n`, `k + 2n`, ...; of a Poisson process each takes an independent one of a rate `n`
//! times smaller (the sum of independent Poisson processes is one). A ramp bends time: an arrival is drawn on the
//! scale of the expected count, and its instant is where the integral of the rate reaches that count.

use crate::load_model::{Cap, Open, Ramp, Spacing};
use crate::pattern::stream;
use rand::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

const NS_PER_S: u64 = 1_000_000_000;

/// Longest delay that a thread makes up for after a stall; beyond it, the rate stays at the cap.
pub(crate) const CATCH_UP_NS: u64 = 1_000_000;

/// Instants, in nanoseconds since the thread's start, at which one thread's operations are due.
#[derive(Clone, Debug)]
pub(crate) enum Arrivals {
    /// A constant rate: exact, in whole nanoseconds and a remainder.
    Even { at_ns: u64, remainder: u64, step: u64, rate: u64 },
    /// Even arrivals under a ramp.
    Bent { count: f64, threads: f64, open: Open },
    /// A Poisson process, under a ramp or not.
    Poisson { count: f64, threads: f64, open: Open, rng: Xoshiro256PlusPlus },
}

impl Arrivals {
    pub(crate) fn new(open: Open, seed: u64, thread: u32, threads: u32) -> Self {
        let rate = open.operations_per_s;
        match (open.spacing, open.ramp) {
            (Spacing::Constant, None) => {
                let first = u64::from(thread) * NS_PER_S;
                Self::Even { at_ns: first / rate, remainder: first % rate, step: u64::from(threads) * NS_PER_S, rate }
            }
            (Spacing::Constant, Some(_)) => Self::Bent { count: f64::from(thread), threads: f64::from(threads), open },
            (Spacing::Poisson, _) => {
                Self::Poisson { count: 0.0, threads: f64::from(threads), open, rng: stream(seed, thread, 3) }
            }
        }
    }

    /// Due time of the next operation.
    #[inline]
    pub(crate) fn next_ns(&mut self) -> u64 {
        match self {
            Self::Even { at_ns, remainder, step, rate } => {
                let now_ns = *at_ns;
                *remainder += *step % *rate;
                let carry = u64::from(*remainder >= *rate);
                *remainder -= carry * *rate;
                *at_ns = now_ns.saturating_add(*step / *rate + carry);
                now_ns
            }
            Self::Bent { count, threads, open } => {
                let now_ns = instant_ns(open, *count);
                *count += *threads;
                now_ns
            }
            Self::Poisson { count, threads, open, rng } => {
                *count += *threads * unit_exponential(rng);
                instant_ns(open, *count)
            }
        }
    }
}

/// An exponential variate of mean 1, by inversion: -ln u, u uniform in (0, 1].
#[inline]
fn unit_exponential(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -uniform.ln()
}

/// Time at which the expected count of arrivals reaches `count`: the inverse of the integral of the rate.
///
/// During the ramp the count is `a t + (b - a) t^2 / 2T`; its root is taken in the form that does not cancel.
#[inline]
fn instant_ns(open: &Open, count: f64) -> u64 {
    let from_per_s = open.operations_per_s as f64;
    let seconds = match open.ramp {
        None => count / from_per_s,
        Some(Ramp { to_operations_per_s, over_ns }) => {
            let (to_per_s, over_s) = (to_operations_per_s as f64, over_ns as f64 / NS_PER_S as f64);
            let in_ramp = 0.5 * (from_per_s + to_per_s) * over_s;
            if count >= in_ramp {
                over_s + (count - in_ramp) / to_per_s
            } else {
                let slope = (to_per_s - from_per_s) / over_s;
                2.0 * count / (from_per_s + (from_per_s * from_per_s + 2.0 * slope * count).max(0.0).sqrt())
            }
        }
    };
    (seconds * NS_PER_S as f64) as u64
}

/// The cap of the closed loop: each operation moves the earliest start of the next.
#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    bytes: bool,
    rate: u128,
    threads: u128,
    /// Earliest start of the next operation, since the thread's start.
    slot_ns: u64,
    remainder: u128,
}

impl Throttle {
    pub(crate) fn new(cap: Cap, record_bytes: u32, thread: u32, threads: u32) -> Self {
        let (bytes, rate, amount) = match cap {
            Cap::OperationsPerS(rate) => (false, rate, 1),
            Cap::BytesPerS(rate) => (true, rate, u128::from(record_bytes)),
        };
        let rate = u128::from(rate);
        let slot_ns = (u128::from(thread) * amount * u128::from(NS_PER_S) / rate) as u64;
        Self { bytes, rate, threads: u128::from(threads), slot_ns, remainder: 0 }
    }

    pub(crate) fn slot_ns(&self) -> u64 {
        self.slot_ns
    }

    /// An operation of `length_bytes` starts `at_ns` after the thread's start.
    pub(crate) fn spend(&mut self, at_ns: u64, length_bytes: u32) {
        let amount = if self.bytes { u128::from(length_bytes) } else { 1 };
        let spent = amount * self.threads * u128::from(NS_PER_S) + self.remainder;
        self.remainder = spent % self.rate;
        let gap_ns = u64::try_from(spent / self.rate).unwrap_or(u64::MAX);
        self.slot_ns = self.slot_ns.max(at_ns.saturating_sub(CATCH_UP_NS)).saturating_add(gap_ns);
    }
}
