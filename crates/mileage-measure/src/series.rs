//! Rate, latency and counters of one run per interval.
//!
//! The number of intervals is bounded: when the last one is full, neighbours are joined in pairs and the interval
//! doubles. A run of a second and a run of a month take the same memory, and nothing is allocated while recording.
//!
//! Each interval has a latency histogram with the buckets of [`Histogram`], so that its quantiles are as exact (within
//! 0.4 %) and all intervals together are the run's histogram. The current interval has a whole histogram; those of finished ones
//! are packed into half a mebibyte, and when that is full (some thousand buckets to every interval of 512), neighbours
//! are joined as well.

mod transfer_form;

pub use transfer_form::SeriesState;

use crate::histogram::{Extremes, Histogram, bucket_of, quantile_ns_of};
use crate::sparse_histogram::{Place, Sparse, joined};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const INTERVALS_MAX: usize = 512;

/// An interval that is over.
#[derive(Clone, Copy, Debug)]
struct Interval {
    bytes_read: u64,
    bytes_written: u64,
    ops: u64,
    extremes: Extremes,
    buckets: Place,
}

/// The current interval.
#[derive(Clone, Debug)]
struct CurrentInterval {
    bytes_read: u64,
    bytes_written: u64,
    latency: Histogram,
}

/// A completed operation, to be counted in a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedOperation {
    /// Completion time, in nanoseconds since the run began.
    pub at_ns: u64,
    /// Bytes that it read.
    pub bytes_read: u64,
    /// Bytes that it wrote.
    pub bytes_written: u64,
    /// From its submission to its completion.
    pub latency_ns: u64,
}

/// Completions per interval of time since the run began, and counters as they stood at each interval's end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "SeriesState", try_from = "SeriesState")]
pub struct Series {
    /// Start of the open interval.
    open_start_ns: u64,
    /// Length of the open interval; 0 before the series has begun, so that no operation falls into it.
    open_length_ns: u64,
    open: CurrentInterval,
    first_interval_ns: u64,
    interval_ns: u64,
    closed: Vec<Interval>,
    buckets: Sparse,
    counter_names: &'static [&'static str],
    /// `counters[name][interval]`, cumulative within the run, the open interval last.
    counters: Vec<Vec<u64>>,
}

stored! {
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
        /// Median of their latencies in nanoseconds, within 0.4 %; 0 where no operation completed. Empty, like the two
        /// lists below, in records of before these were kept.
        #[serde(default)]
        pub latency_p50_ns: Vec<u64>,
        /// 99th percentile of their latencies in nanoseconds, within 0.4 %; 0 where no operation completed.
        #[serde(default)]
        pub latency_p99_ns: Vec<u64>,
        /// The largest of their latencies in nanoseconds, exact; 0 where no operation completed.
        #[serde(default)]
        pub latency_max_ns: Vec<u64>,
        /// Counters, cumulative since the run began, at the interval's end.
        pub counters: BTreeMap<String, Vec<u64>>,
    }
}

impl Series {
    /// A series that starts with intervals of `interval_ns` nanoseconds (at least 1) and follows the named counters.
    pub fn new(interval_ns: u64, counter_names: &'static [&'static str]) -> Self {
        let interval_ns = interval_ns.max(1);
        Self {
            open_start_ns: 0,
            open_length_ns: 0,
            open: CurrentInterval { bytes_read: 0, bytes_written: 0, latency: Histogram::default() },
            first_interval_ns: interval_ns,
            interval_ns,
            closed: Vec::with_capacity(INTERVALS_MAX),
            buckets: Sparse::new(),
            counter_names,
            counters: counter_names.iter().map(|_| Vec::with_capacity(INTERVALS_MAX)).collect(),
        }
    }

    /// End of the interval that is being filled, in nanoseconds since the run began. A caller that follows counters
    /// calls [`Series::note_counters`] before it records past this.
    #[inline]
    pub fn interval_end_ns(&self) -> u64 {
        self.open_start_ns.saturating_add(self.interval_ns)
    }

    /// Count one completion. True if that closed intervals, which takes a microsecond or so: who times operations
    /// reads the clock again.
    #[inline]
    pub fn record(&mut self, completed: CompletedOperation) -> bool {
        // One comparison for both ends: a time before the open interval wraps to a huge number, and a length of 0 fits
        // nothing.
        let elsewhere = completed.at_ns.wrapping_sub(self.open_start_ns) >= self.open_length_ns;
        if elsewhere && !self.turn_to(completed.at_ns) {
            self.record_late(completed);
            return true;
        }
        self.open.bytes_read += completed.bytes_read;
        self.open.bytes_written += completed.bytes_written;
        self.open.latency.record(completed.latency_ns);
        elsewhere
    }

    /// The run lasted to `at_ns`: intervals in which nothing completed are kept up to there.
    pub fn last_to(&mut self, at_ns: u64) {
        self.turn_to(at_ns);
    }

    /// Make the interval of `at_ns` the open one; false if it is over already.
    #[cold]
    fn turn_to(&mut self, at_ns: u64) -> bool {
        if self.open_length_ns == 0 {
            self.open_length_ns = self.interval_ns;
            self.counters.iter_mut().for_each(|values| values.push(0));
        }
        // Double before closing: after a long pause, closing interval by interval at the old length would take millions
        // of steps.
        while (at_ns / self.interval_ns) as usize >= INTERVALS_MAX {
            self.double();
        }
        while at_ns.saturating_sub(self.open_start_ns) >= self.interval_ns {
            self.close();
        }
        at_ns >= self.open_start_ns
    }

    /// Begin the next interval, or make room for it by doubling.
    fn close(&mut self) {
        // Doubling also helps if the packed buckets are full, since neighbours share most of their buckets.
        let room = self.closed.len() + 1 < INTERVALS_MAX;
        let Some(buckets) = room.then(|| self.buckets.append(self.open.latency.entries())).flatten() else {
            self.double();
            return;
        };
        let CurrentInterval { bytes_read, bytes_written, latency } = &mut self.open;
        let (ops, extremes) = (latency.count(), latency.extremes());
        self.closed.push(Interval {
            bytes_read: std::mem::take(bytes_read),
            bytes_written: std::mem::take(bytes_written),
            ops,
            extremes,
            buckets,
        });
        latency.clear();
        self.open_start_ns += self.interval_ns;
        for values in &mut self.counters {
            values.push(values.last().copied().unwrap_or(0));
        }
    }

    #[cold]
    fn double(&mut self) {
        let intervals = self.closed.len() + 1;
        // An odd interval has no partner among the closed ones: it joins the open interval.
        if self.closed.len() % 2 == 1
            && let Some(last) = self.closed.pop()
        {
            self.open.bytes_read += last.bytes_read;
            self.open.bytes_written += last.bytes_written;
            self.open.latency.add_entries(self.buckets.entries(last.buckets), last.extremes);
        }
        let pairs = self.closed.len() / 2;
        let mut rewriting = self.buckets.rewrite();
        for pair in 0..pairs {
            let (left, right) = (self.closed[2 * pair], self.closed[2 * pair + 1]);
            self.closed[pair] = Interval {
                bytes_read: left.bytes_read + right.bytes_read,
                bytes_written: left.bytes_written + right.bytes_written,
                ops: left.ops + right.ops,
                extremes: left.extremes.and(right.extremes),
                buckets: rewriting.join(left.buckets, right.buckets),
            };
        }
        rewriting.finish();
        self.closed.truncate(pairs);
        for values in self.counters.iter_mut().filter(|values| !values.is_empty()) {
            // Counters are cumulative, so the later one of two joined intervals has the value of both.
            (0..=pairs).for_each(|pair| values[pair] = values[(2 * pair + 1).min(intervals - 1)]);
            values.truncate(pairs + 1);
        }
        self.interval_ns *= 2;
        self.open_start_ns = pairs as u64 * self.interval_ns;
        if self.open_length_ns > 0 {
            self.open_length_ns = self.interval_ns;
        }
    }

    /// Add a completion to an interval that is closed already.
    #[cold]
    fn record_late(&mut self, completed: CompletedOperation) {
        let CompletedOperation { at_ns, bytes_read, bytes_written, latency_ns } = completed;
        let index = (at_ns / self.interval_ns) as usize;
        let Some((buckets, longer)) = self.buckets.insert(self.closed[index].buckets, bucket_of(latency_ns)) else {
            self.double();
            self.record(completed);
            return;
        };
        let interval = &mut self.closed[index];
        interval.buckets = buckets;
        interval.bytes_read += bytes_read;
        interval.bytes_written += bytes_written;
        interval.ops += 1;
        let one = Extremes { sum_ns: latency_ns, min_ns: latency_ns, max_ns: latency_ns };
        interval.extremes = interval.extremes.and(one);
        // The packed bytes of all later intervals have moved by the length of the inserted entry.
        for later in &mut self.closed[index + 1..] {
            later.buckets = later.buckets.moved(longer);
        }
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

    /// Add the completions of another thread of the same run. Counters are kept from `self`. The result is what
    /// recording both in one series would have given.
    ///
    /// # Panics
    /// When the starting intervals were not the same, so that no doubling makes them equal.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.first_interval_ns, other.first_interval_ns, "series of one run start with one interval");
        if other.open_length_ns == 0 {
            return;
        }
        // Cloned, because meeting changes the interval of both series, and the caller keeps the other one.
        let mut other = other.clone();
        self.turn_to(other.open_start_ns);
        let buckets = loop {
            self.meet(&mut other);
            match self.joined_buckets(&other) {
                Some(buckets) => break buckets,
                // Both do not fit together at this interval: double, which the next round does to the other one as
                // well.
                None => self.double(),
            }
        };
        for (mine, theirs) in self.closed.iter_mut().zip(&other.closed) {
            mine.bytes_read += theirs.bytes_read;
            mine.bytes_written += theirs.bytes_written;
            mine.ops += theirs.ops;
            mine.extremes = mine.extremes.and(theirs.extremes);
        }
        let (sparse, places) = buckets;
        self.buckets = sparse;
        self.closed.iter_mut().zip(places).for_each(|(interval, place)| interval.buckets = place);
        self.open.bytes_read += other.open.bytes_read;
        self.open.bytes_written += other.open.bytes_written;
        self.open.latency.merge(&other.open.latency);
    }

    /// Bring both to the longer interval and the later open interval.
    fn meet(&mut self, other: &mut Self) {
        loop {
            match (self.interval_ns.cmp(&other.interval_ns), self.closed.len().cmp(&other.closed.len())) {
                (std::cmp::Ordering::Less, _) => self.double(),
                (std::cmp::Ordering::Greater, _) => other.double(),
                (_, std::cmp::Ordering::Less) => self.close(),
                (_, std::cmp::Ordering::Greater) => other.close(),
                _ => return,
            }
        }
    }

    /// The buckets of both, interval by interval; `None` when they need more room than there is.
    fn joined_buckets(&self, other: &Self) -> Option<(Sparse, Vec<Place>)> {
        let mut sparse = Sparse::new();
        let pairs = self.closed.iter().zip(&other.closed);
        let places: Option<Vec<Place>> = pairs
            .map(|(mine, theirs)| {
                let (mine, theirs) = (self.buckets.entries(mine.buckets), other.buckets.entries(theirs.buckets));
                sparse.append(joined(mine, theirs))
            })
            .collect();
        Some((sparse, places?))
    }

    /// The latencies of all intervals together, in the buckets of [`Histogram`].
    pub fn latency(&self) -> Histogram {
        let mut all = self.open.latency.clone();
        for interval in &self.closed {
            all.add_entries(self.buckets.entries(interval.buckets), interval.extremes);
        }
        all
    }

    /// The stored form.
    pub fn to_data(&self) -> SeriesData {
        let mut data = SeriesData { interval_ns: self.interval_ns, ..SeriesData::default() };
        for interval in &self.closed {
            data.push(interval, || self.buckets.entries(interval.buckets));
        }
        if self.open_length_ns > 0 {
            let CurrentInterval { bytes_read, bytes_written, latency } = &self.open;
            let (ops, extremes, buckets) = (latency.count(), latency.extremes(), Place::default());
            let open = Interval { bytes_read: *bytes_read, bytes_written: *bytes_written, ops, extremes, buckets };
            data.push(&open, || latency.entries());
        }
        let counters = self.counter_names.iter().zip(&self.counters);
        data.counters = counters.map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
        data
    }
}

impl SeriesData {
    fn push<E: Iterator<Item = (usize, u64)>>(&mut self, interval: &Interval, entries: impl Fn() -> E) {
        let Interval { bytes_read, bytes_written, ops, extremes, .. } = *interval;
        let quantile_ns = |q| {
            let midpoint_ns = quantile_ns_of(entries(), ops, q).unwrap_or(0);
            midpoint_ns.min(extremes.max_ns).max(if ops == 0 { 0 } else { extremes.min_ns })
        };
        self.bytes_read.push(bytes_read);
        self.bytes_written.push(bytes_written);
        self.ops.push(ops);
        self.latency_sum_ns.push(extremes.sum_ns);
        self.latency_p50_ns.push(quantile_ns(0.5));
        self.latency_p99_ns.push(quantile_ns(0.99));
        self.latency_max_ns.push(extremes.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::{CompletedOperation, INTERVALS_MAX, Series};
    use crate::histogram::Histogram;
    use proptest::prelude::*;

    /// A write of one byte.
    fn wrote(at_ns: u64, latency_ns: u64) -> CompletedOperation {
        CompletedOperation { at_ns, bytes_read: 0, bytes_written: 1, latency_ns }
    }

    #[test]
    fn counters_keep_the_value_at_the_end_of_each_joined_interval() {
        let mut series = Series::new(10, &["programs"]);
        for at_ns in 0..10 * INTERVALS_MAX as u64 {
            series.record(wrote(at_ns, 1));
            series.note_counters(&[at_ns + 1]);
        }
        series.record(wrote(10 * INTERVALS_MAX as u64, 1));
        let data = series.to_data();
        assert_eq!(data.interval_ns, 20);
        assert_eq!(data.counters["programs"][..3], [20, 40, 60]);
    }

    #[test]
    fn intervals_in_which_nothing_completed_are_kept() {
        let mut series = Series::new(10, &[]);
        assert_eq!(series.to_data().ops, [0_u64; 0], "nothing has begun");
        series.record(wrote(5, 7));
        series.record(wrote(35, 9));
        series.last_to(61);
        let data = series.to_data();
        assert_eq!(data.ops, [1, 0, 0, 1, 0, 0, 0]);
        assert_eq!(data.latency_p50_ns, [7, 0, 0, 9, 0, 0, 0]);
        assert_eq!(data.latency_max_ns, [7, 0, 0, 9, 0, 0, 0]);
    }

    #[test]
    fn when_the_room_for_buckets_is_full_intervals_are_joined_and_nothing_is_lost() {
        let mut series = Series::new(1 << 20, &[]);
        // Touch about 7000 buckets in every interval, so that a few dozen intervals fill the packed room.
        let mut values = 0;
        for interval in 0..200_u64 {
            for octave in 0..57 {
                for step in 0..128 {
                    series.record(wrote((interval << 20) + 1, (128 + step) << octave));
                    values += 1;
                }
            }
        }
        let data = series.to_data();
        assert!(data.interval_ns > 1 << 20 && data.ops.len() > 8, "{} of {}", data.ops.len(), data.interval_ns);
        assert_eq!((data.ops.iter().sum::<u64>(), series.latency().count()), (values, values));
    }

    /// Completions as `(at_ns, latency_ns)` in one series of 1000 ns.
    fn of(completions: &[(u64, u64)]) -> Series {
        let mut series = Series::new(1000, &[]);
        completions.iter().for_each(|(at_ns, latency_ns)| {
            series.record(CompletedOperation {
                at_ns: *at_ns,
                bytes_read: 1,
                bytes_written: 2,
                latency_ns: *latency_ns,
            });
        });
        series
    }

    fn completions(span_ns: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0..span_ns, prop_oneof![0_u64..5000, any::<u64>()]), 1..99)
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_memory_is_bounded(mut times in prop::collection::vec(0_u64..1 << 40, 1..400), first in 1_u64..1 << 20) {
            times.sort_unstable();
            let mut series = Series::new(first, &["n"]);
            for (count, at_ns) in times.iter().enumerate() {
                series.record(CompletedOperation { at_ns: *at_ns, bytes_read: 3, bytes_written: 5, latency_ns: 7 });
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
        fn merging_threads_is_recording_all(a in completions(1 << 30), b in completions(1 << 34), c in completions(4000)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            merged.merge(&of(&c));
            prop_assert_eq!(merged.to_data(), of(&[a, b, c].concat()).to_data());
        }

        #[test]
        fn the_order_of_recording_does_not_matter(mut all in completions(1 << 24)) {
            let late = of(&all).to_data();
            all.sort_unstable();
            prop_assert_eq!(late, of(&all).to_data());
        }

        #[test]
        fn intervals_sum_to_the_histogram_and_their_quantiles_are_those_of_their_values(all in completions(1 << 20)) {
            let series = of(&all);
            let mut whole = Histogram::default();
            all.iter().for_each(|(_, latency_ns)| whole.record(*latency_ns));
            prop_assert_eq!(series.latency().to_data(), whole.to_data());
            let data = series.to_data();
            for index in 0..data.ops.len() {
                let inside = |at_ns: u64| at_ns / data.interval_ns == index as u64;
                let mut latencies: Vec<u64> = all.iter().filter(|(at_ns, _)| inside(*at_ns)).map(|(_, ns)| *ns).collect();
                latencies.sort_unstable();
                prop_assert_eq!(data.ops[index], latencies.len() as u64);
                let Some(max_ns) = latencies.last() else { continue };
                prop_assert_eq!(data.latency_max_ns[index], *max_ns);
                for (q, got) in [(0.5, data.latency_p50_ns[index]), (0.99, data.latency_p99_ns[index])] {
                    let exact = latencies[(q * latencies.len() as f64).ceil() as usize - 1] as f64;
                    prop_assert!((got as f64 - exact).abs() <= exact * 0.004 + 0.5, "{} against {}", got, exact);
                }
            }
        }
    }
}
