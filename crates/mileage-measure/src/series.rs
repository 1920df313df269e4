//! One run's rate, latency and counters per interval.
//!
//! The number of intervals is bounded: when the last one is full, neighbours are joined in pairs and the interval
//! doubles. A run of a second and a run of a month take the same memory, and nothing is allocated while recording.

use serde::{Deserialize, Serialize};

const INTERVALS_MAX: usize = 512;

#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    bytes_read: u64,
    bytes_written: u64,
    ops: u64,
    latency_sum_ns: u64,
}

/// Completions per interval of time since the run began, and counters as they stood at each interval's end.
#[derive(Clone, Debug)]
pub struct Series {
    interval_ns: u64,
    intervals: Vec<Interval>,
    counter_names: &'static [&'static str],
    /// `counters[name][interval]`, cumulative within the run.
    counters: Vec<Vec<u64>>,
}

/// A series as it is stored; all lists have one entry per interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesData {
    /// Length of every interval, in nanoseconds.
    pub interval_ns: u64,
    /// Bytes read by operations that completed in the interval.
    pub bytes_read: Vec<u64>,
    /// Bytes written by operations that completed in the interval.
    pub bytes_written: Vec<u64>,
    /// Operations that completed in the interval.
    pub ops: Vec<u64>,
    /// Sum of their latencies, in nanoseconds.
    pub latency_sum_ns: Vec<u64>,
    /// Counters, cumulative since the run began, at the interval's end.
    pub counters: std::collections::BTreeMap<String, Vec<u64>>,
}

impl Series {
    /// A series that starts with intervals of `interval_ns` nanoseconds (at least 1) and follows the named counters.
    pub fn new(interval_ns: u64, counter_names: &'static [&'static str]) -> Self {
        Self {
            interval_ns: interval_ns.max(1),
            intervals: Vec::with_capacity(INTERVALS_MAX),
            counter_names,
            counters: counter_names.iter().map(|_| Vec::with_capacity(INTERVALS_MAX)).collect(),
        }
    }

    /// When the interval that is being filled ends, in nanoseconds since the run began.
    /// A caller that follows counters calls [`Series::note_counters`] before it records past this.
    #[inline]
    pub fn interval_end_ns(&self) -> u64 {
        self.interval_ns.saturating_mul(self.intervals.len().max(1) as u64)
    }

    /// Count one completion, `at_ns` after the run began.
    #[inline]
    pub fn record(&mut self, at_ns: u64, bytes_read: u64, bytes_written: u64, latency_ns: u64) {
        let mut index = (at_ns / self.interval_ns) as usize;
        if index >= self.intervals.len() {
            index = self.extend_to(at_ns);
        }
        let interval = &mut self.intervals[index];
        interval.bytes_read += bytes_read;
        interval.bytes_written += bytes_written;
        interval.ops += 1;
        interval.latency_sum_ns += latency_ns;
    }

    #[cold]
    fn extend_to(&mut self, at_ns: u64) -> usize {
        while (at_ns / self.interval_ns) as usize >= INTERVALS_MAX {
            self.double();
        }
        let index = (at_ns / self.interval_ns) as usize;
        if index >= self.intervals.len() {
            self.intervals.resize(index + 1, Interval::default());
        }
        for values in &mut self.counters {
            let last = values.last().copied().unwrap_or(0);
            values.resize(self.intervals.len(), last);
        }
        index
    }

    fn double(&mut self) {
        let pairs = self.intervals.len().div_ceil(2);
        for pair in 0..pairs {
            let left = self.intervals[2 * pair];
            let right = self.intervals.get(2 * pair + 1).copied().unwrap_or_default();
            self.intervals[pair] = Interval {
                bytes_read: left.bytes_read + right.bytes_read,
                bytes_written: left.bytes_written + right.bytes_written,
                ops: left.ops + right.ops,
                latency_sum_ns: left.latency_sum_ns + right.latency_sum_ns,
            };
            for values in &mut self.counters {
                values[pair] = values[(2 * pair + 1).min(values.len() - 1)];
            }
        }
        self.intervals.truncate(pairs);
        self.counters.iter_mut().for_each(|values| values.truncate(pairs));
        self.interval_ns *= 2;
    }

    /// State of the counters now, in the order of the names given to [`Series::new`], cumulative within the run.
    ///
    /// # Panics
    /// When their number is not the number of names: a programmer's mistake.
    pub fn note_counters(&mut self, values: &[u64]) {
        assert_eq!(values.len(), self.counter_names.len());
        for (list, value) in self.counters.iter_mut().zip(values) {
            if let Some(last) = list.last_mut() {
                *last = *value;
            }
        }
    }

    /// Add the completions of another thread of the same run. Counters are kept from `self`.
    ///
    /// # Panics
    /// When the starting intervals were not the same, so that no doubling makes them equal.
    pub fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.interval_ns < other.interval_ns {
            self.double();
        }
        while other.interval_ns < self.interval_ns {
            other.double();
        }
        assert_eq!(self.interval_ns, other.interval_ns, "series of one run start with one interval");
        if self.intervals.len() < other.intervals.len() {
            self.extend_to((other.intervals.len() as u64 - 1) * self.interval_ns);
        }
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.bytes_read += theirs.bytes_read;
            mine.bytes_written += theirs.bytes_written;
            mine.ops += theirs.ops;
            mine.latency_sum_ns += theirs.latency_sum_ns;
        }
    }

    /// The stored form.
    pub fn to_data(&self) -> SeriesData {
        let column = |pick: fn(&Interval) -> u64| self.intervals.iter().map(pick).collect();
        let counters = self.counter_names.iter().zip(&self.counters);
        SeriesData {
            interval_ns: self.interval_ns,
            bytes_read: column(|interval| interval.bytes_read),
            bytes_written: column(|interval| interval.bytes_written),
            ops: column(|interval| interval.ops),
            latency_sum_ns: column(|interval| interval.latency_sum_ns),
            counters: counters.map(|(name, values)| ((*name).to_owned(), values.clone())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERVALS_MAX, Series};
    use proptest::prelude::*;

    #[test]
    fn counters_keep_the_value_at_the_end_of_each_joined_interval() {
        let mut series = Series::new(10, &["programs"]);
        for at_ns in 0..10 * INTERVALS_MAX as u64 {
            series.record(at_ns, 0, 1, 1);
            series.note_counters(&[at_ns + 1]);
        }
        series.record(10 * INTERVALS_MAX as u64, 0, 1, 1);
        let data = series.to_data();
        assert_eq!(data.interval_ns, 20);
        assert_eq!(data.counters["programs"][..3], [20, 40, 60]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_memory_is_bounded(mut times in prop::collection::vec(0_u64..1 << 40, 1..400), first in 1_u64..1 << 20) {
            times.sort_unstable();
            let mut series = Series::new(first, &["n"]);
            for (count, at_ns) in times.iter().enumerate() {
                series.record(*at_ns, 3, 5, 7);
                series.note_counters(&[count as u64 + 1]);
            }
            let data = series.to_data();
            prop_assert!(data.ops.len() <= INTERVALS_MAX);
            prop_assert_eq!(data.ops.iter().sum::<u64>(), times.len() as u64);
            prop_assert_eq!(data.bytes_written.iter().sum::<u64>(), 5 * times.len() as u64);
            // The oracle: a cumulative count at an interval's end is the number of completions before that end.
            for (index, value) in data.counters["n"].iter().enumerate() {
                let end_ns = data.interval_ns * (index as u64 + 1);
                prop_assert_eq!(*value, times.iter().filter(|at_ns| **at_ns < end_ns).count() as u64);
            }
        }

        #[test]
        fn merging_two_threads_is_recording_both(a in prop::collection::vec(0_u64..1 << 30, 1..99), b in prop::collection::vec(0_u64..1 << 34, 1..99)) {
            let record = |times: &[u64]| {
                let mut series = Series::new(1000, &[]);
                times.iter().for_each(|at_ns| series.record(*at_ns, 1, 2, 3));
                series
            };
            let mut merged = record(&a);
            merged.merge(&record(&b));
            prop_assert_eq!(merged.to_data(), record(&[a, b].concat()).to_data());
        }
    }
}
