//! The shuffle in constant memory: each record once, in any span, in an order that statistics cannot distinguish from chance.

use super::driver::{offsets, seed};
use super::refusals::plain;
use mileage_workload::{Execution, PatternKind, Step, Stop, Workload};
use proptest::prelude::*;

fn shuffle(records: u64, passes: u64, seed: u64) -> Workload {
    let span_bytes = records * 4096;
    let stop = Stop { bytes: Some(passes * span_bytes), ..Stop::default() };
    Workload { pattern: PatternKind::Shuffled, seed, span_bytes, stop, ..plain() }
}

/// The first `count` records of a workload that may have very many.
fn first_of(workload: &Workload, count: usize) -> Vec<u64> {
    let mut execution = Execution::new(workload, 0).unwrap();
    let (mut found, mut out) = (Vec::with_capacity(count), Vec::new());
    while found.len() < count && execution.next(0, &mut out) != Step::Done {
        out.iter().for_each(|_| execution.complete(0));
        found.extend(out.drain(..).map(|op| op.offset_bytes / u64::from(workload.record_bytes)));
    }
    found.truncate(count);
    found
}

proptest! {
    #[test]
    fn every_record_once_per_pass(seed in any::<u64>(), records in 1_u64..3000, threads in 1_u32..5) {
        prop_assume!(records >= u64::from(threads));
        let span_bytes = records * 4096;
        let stop = Stop { bytes: Some(2 * span_bytes), ..Stop::default() };
        let workload = Workload { pattern: PatternKind::Shuffled, seed, span_bytes, threads, stop, ..plain() };
        let mut visits = vec![0_u64; records as usize];
        offsets(&workload).iter().for_each(|record| visits[*record as usize] += 1);
        prop_assert!(records % u64::from(threads) != 0 || visits.iter().all(|count| *count == 2), "{visits:?}");
        prop_assert_eq!(visits.iter().sum::<u64>(), 2 * records);
    }
}

#[test]
fn every_record_once_around_each_power_of_two_up_to_millions() {
    for bits in 0..21 {
        for records in [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << bits >> 1] {
            let mut visited = vec![false; records as usize];
            if records == 0 {
                continue;
            }
            for record in first_of(&shuffle(records, 1, seed()), records as usize) {
                assert!(!std::mem::replace(&mut visited[record as usize], true), "{record} of {records} came twice");
            }
            assert!(visited.iter().all(|visited| *visited), "a record of {records} was skipped");
        }
    }
}

/// The largest spans cannot be visited whole in a test; no record may come twice in a part of the pass, and the part
/// has to be spread over the span.
#[test]
fn spans_of_up_to_a_million_million_records() {
    // 1 TiB of 4 KiB, 1 TiB of 512 B, and the most there may be.
    for records in [1_u64 << 28, 1 << 31, (1 << 40) - 7, 1 << 40] {
        let workload = Workload { record_bytes: 512, ..shuffle(records / 8 * 8, 1, seed()) };
        let workload = Workload {
            span_bytes: records * 512,
            stop: Stop { operations: Some(1 << 40), ..Stop::default() },
            ..workload
        };
        let found = first_of(&workload, 200_000);
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), found.len());
        assert!(sorted[199_999] < records);
        let counts = histogram(&found, records, 64);
        assert_uniform(&counts, &format!("places in {records} records"));
    }
    let beyond = Workload { record_bytes: 512, ..shuffle((1 << 37) + 8, 1, 1) };
    assert_eq!(
        beyond.check().unwrap_err().to_string(),
        "span_bytes, in records, one for each thread at least, is 1099511627840: expected 1 to 1099511627776"
    );
}

fn histogram(values: &[u64], below: u64, cells: usize) -> Vec<f64> {
    let mut counts = vec![0.0; cells];
    values.iter().for_each(|value| counts[(u128::from(*value) * cells as u128 / u128::from(below)) as usize] += 1.0);
    counts
}

fn chi_squared(counts: &[f64]) -> f64 {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.iter().map(|count| (count - mean).powi(2) / mean).sum()
}

/// Pearson's chi-squared of equal shares: mean n - 1, variance 2 (n - 1); five deviations above, one cell in a million.
fn assert_uniform(counts: &[f64], what: &str) {
    let chi_squared = chi_squared(counts);
    let freedom = counts.len() as f64 - 1.0;
    assert!(chi_squared < freedom + 5.0 * (2.0 * freedom).sqrt() + 10.0, "{what}: {chi_squared} of {freedom}");
}

/// Over many passes, every record comes at every place equally often, and every step from one record to the next is
/// equally likely.
#[test]
fn places_and_steps_are_uniform_over_the_passes() {
    let seed = seed();
    for records in [2_u64, 3, 5, 8, 13, 16, 40, 100] {
        let passes = 20_000;
        let found = offsets(&shuffle(records, passes, seed ^ records));
        let n = records as usize;
        let (mut places, mut steps) = (vec![0.0; n * n], vec![0.0; n - 1]);
        for pass in found.chunks(n) {
            pass.iter().enumerate().for_each(|(place, record)| places[place * n + *record as usize] += 1.0);
            pass.windows(2).for_each(|pair| steps[((pair[1] + records - pair[0]) % records) as usize - 1] += 1.0);
        }
        assert_uniform(&places, &format!("places of {records}"));
        assert_uniform(&steps, &format!("steps of {records}"));
    }
}

/// The keyed permutation of larger spans, pass by pass: a weak key would show in one of them, a weak family in the
/// mean over all.
#[test]
fn steps_are_uniform_within_every_pass() {
    let seed = seed();
    for (records, passes) in [(4097_u64, 300), (8192, 200), (65_536, 30), (100_000, 20)] {
        let found = offsets(&shuffle(records, passes, seed));
        for lag in [1, 2, 64] {
            let mut sum = 0.0;
            for pass in found.chunks(records as usize) {
                let steps = pass.windows(lag + 1).map(|of| (of[lag] + records - of[0]) % records);
                let counts = histogram(&steps.collect::<Vec<u64>>(), records, 64);
                assert_uniform(&counts, &format!("steps {lag} apart of {records}"));
                sum += chi_squared(&counts);
            }
            let deviation = (2.0 * 63.0 / passes as f64).sqrt();
            let mean = sum / passes as f64;
            assert!((mean - 63.0).abs() < 5.0 * deviation, "{records} records, {lag} apart: mean {mean}");
        }
    }
}

/// Of a long pass, the signs of successive differences: a fair order rises in half of the places, and rises and falls
/// alternate in two thirds of them.
#[test]
fn a_long_pass_has_no_trend() {
    for records in [1_000_u64, 65_536, 1_000_003] {
        let found = first_of(&shuffle(records, 1, seed()), records as usize);
        let n = records as f64;
        let rises = found.windows(2).filter(|pair| pair[1] > pair[0]).count() as f64;
        // Rises: mean (n - 1) / 2, variance (n + 1) / 12. Turns: mean 2 (n - 2) / 3, variance (16 n - 29) / 90.
        assert!((rises - (n - 1.0) / 2.0).abs() < 5.0 * ((n + 1.0) / 12.0).sqrt(), "{rises} rises of {records}");
        let turns = found.windows(3).filter(|of| (of[1] > of[0]) != (of[2] > of[1])).count() as f64;
        let deviation = ((16.0 * n - 29.0) / 90.0).sqrt();
        assert!((turns - 2.0 * (n - 2.0) / 3.0).abs() < 5.0 * deviation, "{turns} turns of {records}");
        // Steps, in 256 classes.
        let steps: Vec<u64> = found.windows(2).map(|pair| (pair[1] + records - pair[0]) % records).collect();
        assert_uniform(&histogram(&steps, records, 256), &format!("steps of {records}"));
    }
}

#[test]
fn passes_threads_and_seeds_differ() {
    let found = offsets(&shuffle(1000, 2, 5));
    let equal = found[..1000].iter().zip(&found[1000..]).filter(|(a, b)| a == b).count();
    // Places where two random orders agree: Poisson of mean 1.
    assert!(equal < 10, "{equal}");
    let threads = Workload { threads: 2, ..shuffle(2000, 1, 5) };
    let found = offsets(&threads);
    let equal = found[..1000].iter().zip(&found[1000..]).filter(|(a, b)| **a + 1000 == **b).count();
    assert!(equal < 10, "{equal}");
    assert_ne!(offsets(&shuffle(1000, 1, 5)), offsets(&shuffle(1000, 1, 6)));
}
