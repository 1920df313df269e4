//! Random places that are not uniform, against their distributions; each test prints its seed.

use super::driver::{offsets, seed, simulate};
use super::refusals::plain;
use mileage_workload::{PatternKind, Stop, Workload};

fn draws(pattern: PatternKind, records: u64, operations: u64) -> Workload {
    let stop = Stop { operations: Some(operations), ..Stop::default() };
    Workload { pattern, span_bytes: records * 4096, stop, seed: seed(), ..plain() }
}

/// Pearson's chi-squared against these chances, cells of small expectation joined; at most five deviations above.
fn assert_follows(counts: &[f64], chances: &[f64], what: &str) {
    let total: f64 = counts.iter().sum();
    let (mut chi_squared, mut cells) = (0.0_f64, 0.0_f64);
    let (mut count, mut expected) = (0.0, 0.0);
    for (found, chance) in counts.iter().zip(chances) {
        count += found;
        expected += chance * total;
        if expected >= 20.0 {
            chi_squared += (count - expected).powi(2) / expected;
            cells += 1.0;
            (count, expected) = (0.0, 0.0);
        }
    }
    let freedom = cells - 1.0;
    assert!(freedom >= 1.0, "{what}: too few draws");
    assert!(chi_squared < freedom + 5.0 * (2.0 * freedom).sqrt() + 10.0, "{what}: {chi_squared} of {freedom}");
}

#[test]
fn zipf_follows_its_law() {
    for theta_hundredths in [1, 50, 99, 100, 101, 120, 200, 300] {
        for records in [1_u64, 2, 3, 100, 5000] {
            let found = offsets(&draws(PatternKind::Zipf { theta_hundredths }, records, 200_000));
            let mut counts = vec![0.0; records as usize];
            found.iter().for_each(|record| counts[*record as usize] += 1.0);
            // Popularity is hidden by the permutation: by count, most popular first.
            counts.sort_by(|a: &f64, b| b.total_cmp(a));
            let theta = f64::from(theta_hundredths) / 100.0;
            let weights: Vec<f64> = (1..=records).map(|rank| (rank as f64).powf(-theta)).collect();
            let sum: f64 = weights.iter().sum();
            if records == 1 {
                continue;
            }
            // Sorting favours the law's order among ranks of nearly equal chance, which is why only ranks that
            // are clear of their neighbours are compared one by one.
            let clear: Vec<f64> = weights.iter().map(|weight| weight / sum * 200_000.0).collect();
            let apart = clear.windows(2).take_while(|pair| pair[0] - pair[1] > 8.0 * pair[0].sqrt()).count();
            let (mut few, mut chances) =
                (counts[..apart].to_vec(), weights[..apart].iter().map(|w| w / sum).collect::<Vec<f64>>());
            few.push(counts[apart..].iter().sum());
            chances.push(weights[apart..].iter().sum::<f64>() / sum);
            if apart > 0 {
                assert_follows(&few, &chances, &format!("theta {theta} over {records}"));
            }
        }
    }
}

/// The popular records are elsewhere for another seed, the same for all threads, and spread over the span.
#[test]
fn the_popular_records_are_a_seeded_permutation() {
    let workload = draws(PatternKind::Zipf { theta_hundredths: 120 }, 1 << 30, 60_000);
    let top = |workload: &Workload, thread| {
        let mut counts = std::collections::HashMap::new();
        let log = simulate(workload, |_| 0);
        log.0
            .iter()
            .filter(|it| it.thread == thread)
            .for_each(|it| *counts.entry(it.op.offset_bytes).or_insert(0) += 1);
        let mut counts: Vec<(u64, u64)> = counts.into_iter().map(|(offset, count)| (count, offset / 4096)).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.iter().take(5).map(|(_, record)| *record).collect::<Vec<u64>>()
    };
    let two = Workload { threads: 2, ..workload.clone() };
    assert_eq!(top(&two, 0)[..3], top(&two, 1)[..3]);
    let other = Workload { seed: workload.seed + 1, ..workload.clone() };
    assert_ne!(top(&workload, 0)[..3], top(&other, 0)[..3]);
    let far = top(&workload, 0).windows(2).filter(|pair| pair[0].abs_diff(pair[1]) > 1 << 20).count();
    assert!(far >= 3, "{:?}", top(&workload, 0));
}

/// In a span of 2^40 records the chance of the first rank is still 1 / H, the harmonic sum by Euler's formula.
#[test]
fn zipf_over_the_largest_span() {
    let records = 1_u64 << 40;
    let workload = Workload { record_bytes: 512, ..draws(PatternKind::Zipf { theta_hundredths: 100 }, 1, 300_000) };
    let workload = Workload { span_bytes: records * 512, ..workload };
    let found = offsets(&workload);
    let mut counts = std::collections::HashMap::new();
    found.iter().for_each(|record| *counts.entry(*record).or_insert(0_u64) += 1);
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let harmonic = (records as f64).ln() + 0.577_215_664_9;
    for rank in 1..=4 {
        let expected = 300_000.0 / harmonic / rank as f64;
        let found = counts[rank - 1] as f64;
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "rank {rank}: {found}, expected {expected}");
    }
}

#[test]
fn hot_and_cold_have_their_shares_and_are_uniform_inside() {
    for (hot_percent, access_percent, records) in
        [(20, 80, 500), (1, 99, 300), (50, 0, 64), (99, 100, 100), (10, 50, 2)]
    {
        let found = offsets(&draws(PatternKind::HotCold { hot_percent, access_percent }, records, 100_000));
        let hot = (records * u64::from(hot_percent) / 100).max(1);
        let mut counts = vec![0.0; records as usize];
        found.iter().for_each(|record| counts[*record as usize] += 1.0);
        let share = f64::from(access_percent) / 100.0;
        let chance = |record| {
            if record < hot { share / hot as f64 } else { (1.0 - share) / (records - hot) as f64 }
        };
        let chances: Vec<f64> = (0..records).map(chance).collect();
        let never =
            (0..records as usize).filter(|record| chances[*record] == 0.0).map(|record| counts[record]).sum::<f64>();
        assert!(never == 0.0, "{never} operations where there may be none");
        assert_follows(&counts, &chances, &format!("{hot_percent} % hot with {access_percent} %"));
    }
}

#[test]
fn partly_sequential_jumps_as_often_as_it_says_and_continues_from_there() {
    let found = |random_percent, records, operations| {
        offsets(&draws(PatternKind::PartlySequential { random_percent }, records, operations))
    };
    assert_eq!(found(0, 5, 12), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
    let records = 1 << 20;
    for percent in [1, 30, 100] {
        let places = found(percent, records, 50_000);
        let jumps = places.windows(2).filter(|pair| pair[1] != (pair[0] + 1) % records).count() as f64;
        let share = f64::from(percent) / 100.0;
        let deviation = (50_000.0 * share * (1.0 - share)).sqrt();
        assert!((jumps - 50_000.0 * share).abs() < 5.0 * deviation + 5.0, "{percent} %: {jumps} jumps");
    }
    let mut counts = vec![0.0; 64];
    found(100, 64, 64_000).iter().for_each(|record| counts[*record as usize] += 1.0);
    assert_follows(&counts, &[1.0 / 64.0; 64], "where jumps go");
    let two = Workload { threads: 2, ..draws(PatternKind::PartlySequential { random_percent: 0 }, 6, 8) };
    assert_eq!(
        offsets(&two),
        [0, 1, 2, 3, 3, 4, 5, 0],
        "each thread from the start of its share, through the whole span"
    );
}
