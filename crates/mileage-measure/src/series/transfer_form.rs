//! Serialised time series for transfer between processes. Unlike the stored form it can still be merged exactly.

use super::{CurrentInterval, Interval, Series};
use crate::histogram::{Histogram, HistogramData};
use crate::sparse_histogram::Sparse;
use serde::{Deserialize, Serialize};

/// A [`Series`] without its device counters, which only the process that reads them records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesState {
    first_interval_ns: u64,
    interval_ns: u64,
    /// The last one is still open; empty before the series has begun.
    intervals: Vec<IntervalState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IntervalState {
    bytes_read: u64,
    bytes_written: u64,
    latency: HistogramData,
}

impl From<Series> for SeriesState {
    fn from(series: Series) -> Self {
        let closed = series.closed.iter().map(|interval| {
            let mut latency = Histogram::default();
            latency.add_entries(series.buckets.entries(interval.buckets), interval.extremes);
            let Interval { bytes_read, bytes_written, .. } = *interval;
            IntervalState { bytes_read, bytes_written, latency: latency.to_data() }
        });
        let open = (series.open_length_ns > 0).then(|| {
            let CurrentInterval { bytes_read, bytes_written, latency } = &series.open;
            IntervalState { bytes_read: *bytes_read, bytes_written: *bytes_written, latency: latency.to_data() }
        });
        let intervals = closed.chain(open).collect();
        Self { first_interval_ns: series.first_interval_ns, interval_ns: series.interval_ns, intervals }
    }
}

impl TryFrom<SeriesState> for Series {
    type Error = &'static str;

    fn try_from(state: SeriesState) -> Result<Self, Self::Error> {
        let SeriesState { first_interval_ns, interval_ns, intervals } = state;
        if first_interval_ns == 0 || interval_ns < first_interval_ns {
            return Err("a series whose interval is none");
        }
        let mut series = Self::new(first_interval_ns, &[]);
        series.interval_ns = interval_ns;
        let Some((open, closed)) = intervals.split_last() else { return Ok(series) };
        if closed.len() >= super::INTERVALS_MAX {
            return Err("a series of more intervals than one has");
        }
        series.buckets = Sparse::new();
        for interval in closed {
            let latency = Histogram::try_from(interval.latency.clone())?;
            let buckets = series.buckets.append(latency.entries()).ok_or("a series that does not fit in one")?;
            let IntervalState { bytes_read, bytes_written, .. } = *interval;
            let (ops, extremes) = (latency.count(), latency.extremes());
            series.closed.push(Interval { bytes_read, bytes_written, ops, extremes, buckets });
        }
        series.open_start_ns = interval_ns * closed.len() as u64;
        series.open_length_ns = interval_ns;
        series.open = CurrentInterval {
            bytes_read: open.bytes_read,
            bytes_written: open.bytes_written,
            latency: Histogram::try_from(open.latency.clone())?,
        };
        Ok(series)
    }
}

#[cfg(test)]
mod tests {
    use super::SeriesState;
    use crate::{CompletedOperation, Series};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_arrives_merges_as_what_was_sent(
            a in prop::collection::vec((0_u64..1 << 30, 0_u64..1 << 40), 0..99),
            b in prop::collection::vec((0_u64..1 << 33, 0_u64..1 << 20), 0..99),
        ) {
            let record = |completions: &[(u64, u64)]| {
                let mut series = Series::new(1000, &[]);
                for (at_ns, latency_ns) in completions {
                    series.record(CompletedOperation { at_ns: *at_ns, bytes_read: 1, bytes_written: 2, latency_ns: *latency_ns });
                }
                series
            };
            let sent = |series: &Series| {
                let text = serde_json::to_string(series).unwrap();
                serde_json::from_str::<Series>(&text).unwrap()
            };
            let (mine, theirs) = (record(&a), record(&b));
            prop_assert_eq!(sent(&mine).to_data(), mine.to_data());
            let (mut direct, mut arrived) = (mine.clone(), sent(&mine));
            direct.merge(&theirs);
            arrived.merge(&sent(&theirs));
            prop_assert_eq!(arrived.to_data(), direct.to_data());
            prop_assert_eq!(arrived.latency().to_data(), direct.latency().to_data());
        }
    }

    #[test]
    fn a_state_that_makes_no_sense_is_refused() {
        let mut series = Series::new(10, &[]);
        series.record(CompletedOperation { at_ns: 25, bytes_read: 1, bytes_written: 1, latency_ns: 7 });
        let good = SeriesState::from(series);
        assert!(Series::try_from(good.clone()).is_ok());
        let mut short = good.clone();
        short.intervals[2].latency.count = 9;
        assert!(Series::try_from(short).is_err());
        assert!(Series::try_from(SeriesState { interval_ns: 0, ..good.clone() }).is_err());
        let many = vec![good.intervals[0].clone(); 600];
        assert!(Series::try_from(SeriesState { intervals: many, ..good }).is_err());
    }
}
