//! The processors of a host: each does one thing at a time, and what comes waits for the first that is free.

use serde::{Deserialize, Serialize};

/// When each processor is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processors {
    free_ns: Vec<u64>,
    /// Processor time used so far.
    pub used_ns: u64,
}

impl Processors {
    /// A number of idle processors.
    pub fn new(count: u32) -> Self {
        Self { free_ns: vec![0; count as usize], used_ns: 0 }
    }

    /// Work of a number of nanoseconds that is ready at `now_ns`: when it is done.
    #[inline]
    pub fn work(&mut self, now_ns: u64, cost_ns: u64) -> u64 {
        self.used_ns += cost_ns;
        let Some(free_ns) = self.free_ns.iter_mut().min() else { return now_ns + cost_ns };
        *free_ns = now_ns.max(*free_ns) + cost_ns;
        *free_ns
    }
}
