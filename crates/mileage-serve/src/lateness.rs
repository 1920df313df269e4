//! How late answers are: the difference between the instant of an answer and its modelled instant; and how long requests were
//! at the drive by the model.

use crate::stats::LatenessStats;
use mileage_measure::Histogram;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Lateness {
    histogram: Histogram,
    max_ns: u64,
    late_ns: u128,
    modelled_ns: u128,
}

impl Lateness {
    /// An answer at `now` that was due at `due`, of a request that was at the drive for `modelled` of the host's time.
    pub fn record(&mut self, due: Instant, now: Instant, modelled: Duration) {
        let late_ns = now.saturating_duration_since(due).min(Duration::from_secs(3600)).as_nanos() as u64;
        self.histogram.record(late_ns);
        self.max_ns = self.max_ns.max(late_ns);
        self.late_ns += u128::from(late_ns);
        self.modelled_ns += modelled.as_nanos();
    }

    pub fn stats(&self) -> LatenessStats {
        let quantile = |q| self.histogram.quantile_ns(q);
        let answers = self.histogram.count();
        let mean = |sum_ns: u128| sum_ns.checked_div(answers.into()).map(|ns| ns as u64);
        LatenessStats {
            answers,
            mean_ns: mean(self.late_ns),
            modelled_ns_mean: mean(self.modelled_ns),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: (answers > 0).then_some(self.max_ns),
        }
    }
}
