//! Random access patterns: uniform, hot and cold areas, and partly sequential.

use super::random::{below, stream};
use crate::workload::Workload;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Uniform over the whole span.
#[derive(Clone, Debug)]
pub(crate) struct Uniform {
    count: u64,
    rng: Xoshiro256PlusPlus,
}

impl Uniform {
    pub(crate) fn new(workload: &Workload, thread: u32) -> Self {
        Self { count: workload.records(), rng: stream(workload.seed, thread, 0) }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            *record = below(&mut self.rng, self.count);
        }
    }
}

/// A hot part in front, a cold one behind, uniform inside each.
#[derive(Clone, Debug)]
pub(crate) struct HotCold {
    hot: u64,
    cold: u64,
    access_percent: u64,
    rng: Xoshiro256PlusPlus,
}

impl HotCold {
    pub(crate) fn new(workload: &Workload, thread: u32, hot_percent: u8, access_percent: u8) -> Self {
        let records = workload.records();
        let hot = (u128::from(records) * u128::from(hot_percent) / 100).max(1) as u64;
        let rng = stream(workload.seed, thread, 0);
        Self { hot, cold: records - hot, access_percent: u64::from(access_percent), rng }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            *record = if below(&mut self.rng, 100) < self.access_percent {
                below(&mut self.rng, self.hot)
            } else {
                self.hot + below(&mut self.rng, self.cold)
            };
        }
    }
}

/// Sequential records with random jumps.
#[derive(Clone, Debug)]
pub(crate) struct PartlySequential {
    count: u64,
    random_percent: u64,
    position: u64,
    rng: Xoshiro256PlusPlus,
}

impl PartlySequential {
    pub(crate) fn new(workload: &Workload, thread: u32, first: u64, random_percent: u8) -> Self {
        let (count, rng) = (workload.records(), stream(workload.seed, thread, 0));
        Self { count, random_percent: u64::from(random_percent), position: first, rng }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            if below(&mut self.rng, 100) < self.random_percent {
                self.position = below(&mut self.rng, self.count);
            }
            *record = self.position;
            self.position = if self.position + 1 == self.count { 0 } else { self.position + 1 };
        }
    }
}
