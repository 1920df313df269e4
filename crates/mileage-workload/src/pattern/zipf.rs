//! Zipf's law over any number of records, exactly, in constant memory and time.
//!
//! Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996): the chance of rank k is proportional to h(k) = k^-theta. A point under the
//! integral H of h is drawn by inversion and rounded to the nearest rank; it is accepted if it lies in the part of width
//! h(k) that belongs to the rank. For most points a fixed distance from the rank decides without evaluating H again.

use super::permutation::Permutation;
use super::random::{SHARED, stream};
use crate::workload::Workload;
use rand::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Ranks by Zipf's law, spread over the span.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    count: u64,
    ranks: Ranks,
    places: Permutation,
    rng: Xoshiro256PlusPlus,
}

impl Zipf {
    pub(crate) fn new(workload: &Workload, thread: u32, theta_hundredths: u32) -> Self {
        let count = workload.records();
        // All threads share one order of popularity, so that the hot records are the same for all.
        let places = Permutation::over(count, &mut stream(workload.seed, SHARED, 0));
        let ranks = Ranks::new(count, f64::from(theta_hundredths) / 100.0);
        Self { count, ranks, places, rng: stream(workload.seed, thread, 0) }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            *record = self.places.below(self.count, self.ranks.next(&mut self.rng) - 1);
        }
    }
}

/// Ranks 1 to `count`.
#[derive(Clone, Debug)]
struct Ranks {
    count: f64,
    theta: f64,
    /// H(3/2) - h(1), where the drawn points begin, and H(count + 1/2), where they end.
    low: f64,
    high: f64,
    /// A point at most this far below its rank belongs to it.
    near: f64,
}

impl Ranks {
    fn new(count: u64, theta: f64) -> Self {
        let mut ranks = Self { count: count as f64, theta, low: 0.0, high: 0.0, near: 0.0 };
        ranks.low = ranks.integral(1.5) - 1.0;
        ranks.high = ranks.integral(ranks.count + 0.5);
        ranks.near = 2.0 - ranks.inverse(ranks.integral(2.5) - ranks.density(2.0));
        ranks
    }

    /// h(x) = x^-theta.
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// H(x), the integral of h from 1 to x: (x^(1 - theta) - 1) / (1 - theta), ln x in the limit.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let bent = (1.0 - self.theta) * log;
        if bent.abs() < 1e-8 { log * (1.0 + bent / 2.0) } else { log * bent.exp_m1() / bent }
    }

    /// The x at which H is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Clamp: rounding may give values below -1 when theta is above 1, for which there is no x.
        let bent = ((1.0 - self.theta) * area).max(-1.0);
        let log = if bent.abs() < 1e-8 { area * (1.0 - bent / 2.0) } else { area * bent.ln_1p() / bent };
        log.exp()
    }

    fn next(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            // Uniform in (low, high].
            let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let area = self.high + uniform * (self.low - self.high);
            let point = self.inverse(area);
            let rank = (point + 0.5).floor().clamp(1.0, self.count);
            if rank - point <= self.near || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }
}
