//! Log-linear latency histogram, as HDR histograms and fio keep it.
//!
//! Values below 2^8 ns have a bucket each; above, every power of two is cut into 2^7 equal buckets, so that a
//! bucket's midpoint is within 1/256 = 0.39 % of every value in it. Merging is exact: addition of counts.

use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 7;
/// Buckets per power of two.
pub const SUB_BUCKETS_PER_OCTAVE: usize = 1 << SUB_BITS;
const LINEAR: u64 = 1 << (SUB_BITS + 1);
pub(crate) const BUCKETS: usize = (65 - SUB_BITS as usize) << SUB_BITS;

/// Counts of latencies in nanoseconds, 0 to `u64::MAX`, each known to 0.4 %.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "HistogramData", try_from = "HistogramData")]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

stored! {
    /// The stored form of a histogram: only its non-empty buckets.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct HistogramData {
        /// Values recorded.
        pub count: u64,
        /// Their exact sum, in nanoseconds (saturated at `u64::MAX`).
        pub sum_ns: u64,
        /// The smallest value in nanoseconds, exact; 0 when empty.
        pub min_ns: u64,
        /// The largest value in nanoseconds, exact; 0 when empty.
        pub max_ns: u64,
        /// `(bucket index, count)`, ascending by index.
        pub buckets: Vec<(u32, u64)>,
    }
}

impl From<Histogram> for HistogramData {
    fn from(histogram: Histogram) -> Self {
        histogram.to_data()
    }
}

impl TryFrom<HistogramData> for Histogram {
    type Error = &'static str;

    fn try_from(data: HistogramData) -> Result<Self, Self::Error> {
        Self::from_data(&data).ok_or("a histogram whose parts do not add up")
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

/// The bucket of a value. Values below 256 map to themselves.
#[inline]
fn index_of(value: u64) -> usize {
    if value < LINEAR {
        value as usize
    } else {
        let octave = value.ilog2() - SUB_BITS;
        ((octave as usize) << SUB_BITS) + (value >> octave) as usize
    }
}

/// First value of a bucket, and how many values it spans.
fn bounds_of(index: usize) -> (u64, u64) {
    if (index as u64) < LINEAR {
        return (index as u64, 1);
    }
    let octave = (index >> SUB_BITS) - 1;
    let mantissa = (index & (SUB_BUCKETS_PER_OCTAVE - 1)) | SUB_BUCKETS_PER_OCTAVE;
    ((mantissa as u64) << octave, 1 << octave)
}

/// Sum, minimum and maximum of some values, kept exactly in addition to their buckets.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "the unit is part of a name")]
pub(crate) struct Extremes {
    /// Saturates.
    pub(crate) sum_ns: u64,
    /// `u64::MAX` of no values.
    pub(crate) min_ns: u64,
    /// 0 of no values.
    pub(crate) max_ns: u64,
}

impl Extremes {
    /// Combine two.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            min_ns: self.min_ns.min(other.min_ns),
            max_ns: self.max_ns.max(other.max_ns),
        }
    }
}

/// The bucket that a value falls into.
pub(crate) fn bucket_of(value_ns: u64) -> usize {
    index_of(value_ns)
}

/// Midpoint of the bucket that holds the value of rank ceil(q n), of `count` values in ascending buckets; `None` when
/// the buckets hold fewer.
pub(crate) fn quantile_ns_of(entries: impl Iterator<Item = (usize, u64)>, count: u64, q: f64) -> Option<u64> {
    let rank = ((q * count as f64).ceil() as u64).clamp(1, count.max(1));
    let mut seen = 0;
    for (index, count) in entries {
        seen += count;
        if seen >= rank {
            let (low, width) = bounds_of(index);
            return Some(low + width / 2);
        }
    }
    None
}

impl Histogram {
    /// Count one latency of `value_ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.counts[index_of(value_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Add everything another histogram holds; the order of merging never matters.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact mean in nanoseconds; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Nearest-rank quantile in nanoseconds, `q` in 0..=1: the midpoint of the bucket that holds the value of rank
    /// ceil(q n), held inside the exact minimum and maximum. `None` when empty.
    ///
    /// # Panics
    /// When `q` is outside 0..=1: a programmer's mistake.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        assert!((0.0..=1.0).contains(&q), "quantile {q} is outside 0..=1");
        if self.count == 0 {
            return None;
        }
        let value_ns = quantile_ns_of(self.entries(), self.count, q).unwrap_or(self.max_ns);
        Some(value_ns.clamp(self.min_ns, self.max_ns))
    }

    /// The buckets that hold something, ascending, with their counts.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, u64)> {
        let held = if self.count == 0 { 0..0 } else { index_of(self.min_ns)..index_of(self.max_ns) + 1 };
        let first = held.start;
        let counts = self.counts[held].iter().enumerate();
        counts.filter(|(_, count)| **count > 0).map(move |(index, count)| (first + index, *count))
    }

    /// Forget everything.
    pub(crate) fn clear(&mut self) {
        if self.count > 0 {
            self.counts[index_of(self.min_ns)..=index_of(self.max_ns)].fill(0);
        }
        (self.count, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, u64::MAX, 0);
    }

    /// Add what buckets are known to hold. Of the values themselves only the extremes are known.
    pub(crate) fn add_entries(&mut self, entries: impl Iterator<Item = (usize, u64)>, extremes: Extremes) {
        for (index, count) in entries {
            self.counts[index] += count;
            self.count += count;
        }
        self.sum_ns += u128::from(extremes.sum_ns);
        self.min_ns = self.min_ns.min(extremes.min_ns);
        self.max_ns = self.max_ns.max(extremes.max_ns);
    }

    /// Sum and extremes.
    pub(crate) fn extremes(&self) -> Extremes {
        let sum_ns = u64::try_from(self.sum_ns).unwrap_or(u64::MAX);
        Extremes { sum_ns, min_ns: self.min_ns, max_ns: self.max_ns }
    }

    /// The stored form.
    pub fn to_data(&self) -> HistogramData {
        HistogramData {
            count: self.count,
            sum_ns: u64::try_from(self.sum_ns).unwrap_or(u64::MAX),
            min_ns: if self.count == 0 { 0 } else { self.min_ns },
            max_ns: self.max_ns,
            buckets: self.entries().map(|(index, count)| (index as u32, count)).collect(),
        }
    }

    /// A histogram from its stored form; `None` when the parts do not agree (index out of range, wrong total, extremes
    /// outside the buckets).
    pub fn from_data(data: &HistogramData) -> Option<Self> {
        let mut histogram = Self::default();
        for (index, count) in &data.buckets {
            let held = histogram.counts.get_mut(*index as usize)?;
            *held = held.checked_add(*count)?;
            histogram.count = histogram.count.checked_add(*count)?;
        }
        if data.count > 0 {
            let ends = (data.buckets.iter().map(|(index, _)| *index).min(), data.buckets.iter().map(|b| b.0).max());
            if ends != (Some(index_of(data.min_ns) as u32), Some(index_of(data.max_ns) as u32)) {
                return None;
            }
            (histogram.min_ns, histogram.max_ns) = (data.min_ns, data.max_ns);
        }
        histogram.sum_ns = u128::from(data.sum_ns);
        (histogram.count == data.count).then_some(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, Histogram, bounds_of, index_of};
    use proptest::prelude::*;

    #[test]
    fn buckets_tile_the_whole_range_without_gap_or_overlap() {
        let mut next = 0_u128;
        for index in 0..BUCKETS {
            let (low, width) = bounds_of(index);
            assert_eq!(u128::from(low), next, "bucket {index}");
            assert_eq!(index_of(low), index);
            assert_eq!(index_of(low + (width - 1)), index);
            next = u128::from(low) + u128::from(width);
        }
        assert_eq!(next, 1 << 64);
    }

    #[test]
    fn an_empty_histogram_answers_none() {
        let empty = Histogram::default();
        assert_eq!((empty.quantile_ns(0.5), empty.mean_ns(), empty.count()), (None, None, 0));
        assert_eq!(Histogram::from_data(&empty.to_data()).unwrap().to_data(), empty.to_data());
    }

    #[test]
    fn a_stored_form_that_does_not_add_up_is_refused() {
        let mut data = Histogram::default().to_data();
        data.count = 1;
        assert!(Histogram::from_data(&data).is_none());
        data.buckets = vec![(u32::MAX, 1)];
        assert!(Histogram::from_data(&data).is_none());
        (data.buckets, data.min_ns, data.max_ns) = (vec![(7, 1)], 8, 7);
        assert!(Histogram::from_data(&data).is_none());
        data.min_ns = 7;
        assert!(Histogram::from_data(&data).is_some());
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    proptest! {
        #[test]
        fn quantiles_are_within_0_4_percent_of_the_sorted_values(
            mut values in prop::collection::vec(prop_oneof![0_u64..4096, any::<u64>(), 1_u64..10_000_000_000], 1..300),
            q in 0.0_f64..=1.0,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (exact, got) = (values[rank - 1] as f64, histogram.quantile_ns(q).unwrap() as f64);
            prop_assert!((got - exact).abs() <= exact * 0.004 + 0.5, "{} against {}", got, exact);
        }

        #[test]
        fn merging_is_recording_everything(a in prop::collection::vec(any::<u64>(), 0..99), b in prop::collection::vec(any::<u64>(), 0..99)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let whole = of(&[a, b].concat());
            prop_assert_eq!(merged.to_data(), whole.to_data());
            prop_assert_eq!(Histogram::from_data(&whole.to_data()).unwrap().to_data(), whole.to_data());
        }
    }
}
