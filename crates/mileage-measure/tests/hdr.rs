//! The histogram against `HdrHistogram` on the same values, each within its own stated error of the sorted values.

use mileage_measure::Histogram;
use proptest::prelude::*;

/// Latencies from a cached read to a stalled device, 1 ns to 20 minutes, uniform in the logarithm.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec((0.0_f64..40.0).prop_map(|log| log.exp2() as u64), 1..2000)
}

proptest! {
    #[test]
    fn quantiles_agree(mut values in latencies()) {
        let mut ours = Histogram::default();
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 41, 3).unwrap();
        for value in &values {
            ours.record(*value);
            theirs.record(*value).unwrap();
        }
        values.sort_unstable();
        prop_assert_eq!((ours.count(), theirs.len()), (values.len() as u64, values.len() as u64));
        prop_assert_eq!(ours.to_data().max_ns, *values.last().unwrap());
        prop_assert_eq!(ours.to_data().min_ns, values[0]);
        for q in [0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0] {
            let (mine, other) = (ours.quantile_ns(q).unwrap() as f64, theirs.value_at_quantile(q) as f64);
            // 1/256 on our side, one in the third digit on theirs, which answers with the top of its bucket.
            let allowed = other * (1.0 / 256.0 + 0.001) + 1.0;
            prop_assert!((mine - other).abs() <= allowed, "q {}: {} against {} of {} values", q, mine, other, values.len());
        }
        let mean = (ours.mean_ns().unwrap(), theirs.mean());
        prop_assert!((mean.0 - mean.1).abs() <= mean.0 * 0.001 + 1.0, "{:?}", mean);
    }

    #[test]
    fn merging_agrees_as_well(a in latencies(), b in latencies()) {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            histogram
        };
        let mut merged = of(&a);
        merged.merge(&of(&b));
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 41, 3).unwrap();
        a.iter().chain(&b).for_each(|value| theirs.record(*value).unwrap());
        for q in [0.5, 0.99] {
            let (mine, other) = (merged.quantile_ns(q).unwrap() as f64, theirs.value_at_quantile(q) as f64);
            prop_assert!((mine - other).abs() <= other * (1.0 / 256.0 + 0.001) + 1.0, "{} against {}", mine, other);
        }
    }
}
