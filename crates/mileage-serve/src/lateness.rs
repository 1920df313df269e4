//! How late answers are: the difference between the instant of an answer and its modelled instant.

use crate::stats::LatenessStats;
use mileage_measure::Histogram;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Lateness {
    histogram: Histogram,
    max_ns: u64,
}

impl Lateness {
    pub fn record(&mut self, due: Instant, now: Instant) {
        let late_ns = now.saturating_duration_since(due).min(Duration::from_secs(3600)).as_nanos() as u64;
        self.histogram.record(late_ns);
        self.max_ns = self.max_ns.max(late_ns);
    }

    pub fn stats(&self) -> LatenessStats {
        let quantile = |q| self.histogram.quantile_ns(q);
        LatenessStats {
            answers: self.histogram.count(),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: (self.histogram.count() > 0).then_some(self.max_ns),
        }
    }
}
