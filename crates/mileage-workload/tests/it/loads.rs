//! When operations start: dues of the open loop against closed forms, caps, pauses, syncs, warm-up.

use super::driver::{seed, simulate, simulate_asking, simulate_from, uneven};
use super::refusals::plain;
use mileage_workload::conformance::Log;
use mileage_workload::{
    Cap, Completion, Execution, Load, OpKind, Open, PatternKind, Ramp, Spacing, Step, Stop, Sync, Think, Workload,
};
use proptest::prelude::*;

fn open(operations_per_s: u64, spacing: Spacing, ramp: Option<Ramp>) -> Load {
    Load { open: Some(Open { operations_per_s, spacing, ramp }), ..Load::default() }
}

fn under(load: Load, threads: u32, operations: u64) -> Workload {
    let stop = Stop { operations: Some(operations), ..Stop::default() };
    Workload { pattern: PatternKind::Random, depth: 4096, threads, stop, load, ..plain() }
}

/// Due times of all threads together, since the start, in order.
fn dues(workload: &Workload) -> Vec<u64> {
    let start_ns = 77;
    let log = simulate_from(start_ns, workload, |_| 0);
    let mut dues: Vec<u64> = log.0.iter().map(|it| it.due_ns - start_ns).collect();
    dues.sort_unstable();
    dues
}

proptest! {
    #[test]
    fn threads_together_are_evenly_spaced(rate in 1_u64..5_000_000, threads in 1_u32..9, count in 9_u64..400) {
        let found = dues(&under(open(rate, Spacing::Constant, None), threads, count * u64::from(threads)));
        let wanted: Vec<u64> =
            (0..found.len() as u128).map(|index| (index * 1_000_000_000 / u128::from(rate)) as u64).collect();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn a_ramp_follows_the_integral_of_its_rate(from in 10_u64..100_000, to in 10_u64..100_000, over_ms in 1_u64..100, threads in 1_u32..5) {
        let over_ns = over_ms * 1_000_000;
        let ramp = Ramp { to_operations_per_s: to, over_ns };
        let found = dues(&under(open(from, Spacing::Constant, Some(ramp)), threads, 600 * u64::from(threads)));
        // The expected count at an arrival's time is its number.
        let (a, b, over_s) = (from as f64, to as f64, over_ns as f64 / 1e9);
        for (number, due_ns) in found.iter().enumerate() {
            let t = *due_ns as f64 / 1e9;
            let in_ramp = t.min(over_s);
            let count = a * in_ramp + (b - a) * in_ramp * in_ramp / (2.0 * over_s) + b * (t - in_ramp);
            // A nanosecond of rounding at the highest rate.
            prop_assert!((count - number as f64).abs() < 1e-9 * a.max(b) + 1e-6, "{number}: {count}");
        }
    }

    #[test]
    fn a_cap_is_never_passed_and_is_reached(rate in 1_000_u64..1_000_000, threads in 1_u32..5, latency_ns in 1_u64..1_000) {
        let workload = Workload { depth: 8, ..under(Load { cap: Some(Cap::OperationsPerS(rate)), ..Load::default() }, threads, 400) };
        let log = simulate(&workload, |_| latency_ns);
        let mut starts: Vec<u64> = log.0.iter().map(|it| it.submit_ns).collect();
        starts.sort_unstable();
        let span_ns = starts[399] - starts[0];
        // 8 places of at most 1 us each sustain any of these rates, so that the cap alone decides.
        let wanted_ns = 399.0 * 1e9 / rate as f64;
        prop_assert!((span_ns as f64 - wanted_ns).abs() <= f64::from(threads) + 1.0, "{span_ns} {wanted_ns}");
        prop_assert!(log.0.iter().all(|it| it.due_ns == it.submit_ns));
    }
}

/// Kolmogorov's distance of a sample from the exponential distribution of this mean.
fn distance_from_exponential(gaps: &mut [f64], mean: f64) -> f64 {
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let mut distance = 0.0_f64;
    for (rank, gap) in gaps.iter().enumerate() {
        let wanted = 1.0 - (-gap / mean).exp();
        distance = distance.max((wanted - rank as f64 / count).abs()).max((wanted - (rank as f64 + 1.0) / count).abs());
    }
    distance
}

#[test]
fn poisson_arrivals_of_all_threads_are_one_poisson_process() {
    let (rate, count) = (2_000, 40_000);
    for threads in [1, 3] {
        let workload = Workload { seed: seed(), ..under(open(rate, Spacing::Poisson, None), threads, count) };
        // Threads end at different times: only while all of them are at work do they make one process.
        let log = simulate(&workload, |_| 0);
        let end_of = |thread| log.0.iter().filter(|it| it.thread == thread).map(|it| it.due_ns).max().unwrap();
        let end_ns = (0..threads).map(end_of).min().unwrap();
        let dues: Vec<u64> = dues_of(&log).into_iter().filter(|due_ns| *due_ns <= end_ns).collect();
        let mut gaps: Vec<f64> = dues.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let wanted = 1e9 / rate as f64;
        // Exponential gaps: standard error of the mean 1/sqrt n, of the variance sqrt(8/n); five of each.
        assert!((mean / wanted - 1.0).abs() < 5.0 / n.sqrt(), "{threads} threads: mean {mean}");
        assert!((variance / wanted.powi(2) - 1.0).abs() < 5.0 * (8.0 / n).sqrt(), "{threads} threads: {variance}");
        // Kolmogorov and Smirnov: 2.2 / sqrt n has a level of 1e-4.
        let distance = distance_from_exponential(&mut gaps, wanted);
        assert!(distance < 2.2 / n.sqrt(), "{threads} threads: distance {distance}");
        // Successive gaps are independent: their correlation is 0 with a standard error of 1/sqrt n.
        let raw: Vec<f64> = dues.windows(2).map(|pair| (pair[1] - pair[0]) as f64 - mean).collect();
        let correlation = raw.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / (n * variance);
        assert!(correlation.abs() < 5.0 / n.sqrt(), "{threads} threads: correlation {correlation}");
    }
}

fn dues_of(log: &Log) -> Vec<u64> {
    let mut dues: Vec<u64> = log.0.iter().map(|it| it.due_ns).collect();
    dues.sort_unstable();
    dues
}

proptest! {
    #[test]
    fn who_asks_for_plain_operations_first_does_the_same(
        depth in 1_u32..9, threads in 1_u32..4, count in 3_u64..700, limit_us in prop::option::of(1_u64..900),
        read_percent in 0_u8..=100, gate in 0..4,
    ) {
        let load = match gate {
            0 => open(50_000, Spacing::Poisson, None),
            1 => Load { think: Some(Think { every_operations: 7, pause_ns: 5_000 }), ..Load::default() },
            _ => Load::default(),
        };
        let stop = Stop { operations: Some(count), time_ns: limit_us.map(|us| us * 1000), ..Stop::default() };
        let workload = Workload { depth, read_percent, stop, sync: Sync::Fsync, ..under(load, threads, count) };
        let mut plain = 0;
        let asked = simulate_asking(
            |execution, now_ns, out| match execution.next_plain(now_ns) {
                Some(op) => {
                    plain += 1;
                    out.push(op);
                    Step::Issue
                }
                None => execution.next(now_ns, out),
            },
            0,
            &workload,
            uneven,
        );
        prop_assert_eq!(asked.0, simulate(&workload, uneven).0);
        prop_assert!(gate > 1 || plain == 0, "what waits for a gate is never plain");
        prop_assert!(gate <= 1 || plain > 0 || count < 64 || limit_us.is_some(), "else most operations are");
    }
}

#[test]
fn what_waits_in_the_open_loop_keeps_its_due_time() {
    // A device of one operation per 100 us, asked for one per 50 us at depth 1: operation k ends at 100 (k + 1) us.
    let workload = Workload { depth: 1, ..under(open(20_000, Spacing::Constant, None), 1, 100) };
    let log = simulate(&workload, |_| 100_000);
    for (index, it) in log.0.iter().enumerate() {
        let index = index as u64;
        assert_eq!((it.due_ns, it.submit_ns, it.complete_ns), (50_000 * index, 100_000 * index, 100_000 * (index + 1)));
    }
}

#[test]
fn a_cap_catches_up_a_millisecond_and_no_more() {
    // One operation per 10 us; the first takes 20 ms.
    let workload =
        Workload { depth: 1, ..under(Load { cap: Some(Cap::OperationsPerS(100_000)), ..Load::default() }, 1, 300) };
    let first = std::cell::Cell::new(true);
    let log = simulate(&workload, |_| if first.replace(false) { 20_000_000 } else { 100 });
    let starts: Vec<u64> = log.0.iter().map(|it| it.submit_ns).collect();
    let behind = starts.iter().filter(|at_ns| (20_000_000..20_000_000 + 100_000).contains(*at_ns)).count();
    // 100 that were lost in the last millisecond, at 100 ns each, and 1 more per 10 us.
    assert!((100..=112).contains(&behind), "{behind}");
    assert!(starts[299] - starts[150] >= 149 * 10_000 - 1);
}

#[test]
fn bytes_per_second_count_bytes() {
    let cap = Some(Cap::BytesPerS(4096 * 1000));
    let log = simulate(&under(Load { cap, ..Load::default() }, 2, 100), |_| 10);
    let mut starts: Vec<u64> = log.0.iter().map(|it| it.submit_ns).collect();
    starts.sort_unstable();
    assert_eq!(starts, (0..100).map(|index| index * 1_000_000).collect::<Vec<u64>>());
}

#[test]
fn a_burst_is_whole_and_a_pause_follows_its_last_completion() {
    let think = Some(Think { pause_ns: 10_000, every_operations: 6 });
    let workload = Workload { depth: 4, ..under(Load { think, ..Load::default() }, 1, 30) };
    let log = simulate(&workload, uneven);
    for pair in log.0.chunks(6).collect::<Vec<&[Completion]>>().windows(2) {
        let last_ns = pair[0].iter().map(|it| it.complete_ns).max().unwrap();
        assert_eq!(pair[1].iter().map(|it| it.submit_ns).min(), Some(last_ns + 10_000));
    }
}

#[test]
fn syncs_stand_after_every_n_writes() {
    let of = |read_percent, operations, sync_last| {
        let stop = Stop { operations: Some(operations), ..Stop::default() };
        let syncs = Workload { sync: Sync::Fsync, sync_every: 4, sync_last, ..plain() };
        let workload = Workload { read_percent, depth: 3, stop, seed: 9, ..syncs };
        simulate(&workload, uneven).0.iter().map(|it| it.op.kind).collect::<Vec<OpKind>>()
    };
    let (kinds, without_last) = (|share, count| of(share, count, true), |count| of(0, count, false));
    let (w, s) = (OpKind::Write, OpKind::Sync);
    assert_eq!(kinds(0, 10), [w, w, w, w, s, w, w, w, w, s, w, w, s]);
    assert_eq!(kinds(0, 8), [w, w, w, w, s, w, w, w, w, s], "nothing was changed after the last sync on the way");
    let mixed = kinds(50, 60);
    let between: Vec<usize> =
        mixed.split(|kind| *kind == s).map(|part| part.iter().filter(|kind| **kind == w).count()).collect();
    assert!(between[..between.len() - 2].iter().all(|writes| *writes == 4), "{between:?}");
    assert_eq!(without_last(8), [w, w, w, w, s, w, w, w, w], "no sync is the last");
    assert_eq!(without_last(9), [w, w, w, w, s, w, w, w, w, s, w]);
    assert_eq!(kinds(100, 10).len(), 10, "who only reads has nothing to sync");
}

#[test]
fn discards_have_their_share_and_the_reads_theirs_of_the_rest() {
    let stop = Stop { operations: Some(20_000), ..Stop::default() };
    let workload = Workload { discard_percent: 20, read_percent: 50, stop, seed: seed(), ..plain() };
    let log = simulate(&workload, |_| 0);
    let count = |kind| log.0.iter().filter(|it| it.op.kind == kind).count() as f64;
    // Binomial: five standard deviations of 20,000 draws.
    for (kind, share) in [(OpKind::Discard, 0.2), (OpKind::Read, 0.4), (OpKind::Write, 0.4_f64)] {
        let deviation = (20_000.0 * share * (1.0 - share)).sqrt();
        assert!((count(kind) - 20_000.0 * share).abs() < 5.0 * deviation, "{kind:?} {}", count(kind));
    }
    let all = Workload { discard_percent: 100, sync: Sync::Fsync, ..workload };
    let log = simulate(&all, |_| 0);
    assert!(log.0[..20_000].iter().all(|it| it.op.kind == OpKind::Discard));
    assert_eq!(log.0[20_000..].iter().map(|it| it.op.kind).collect::<Vec<_>>(), [OpKind::Sync]);
}

#[test]
fn the_warm_up_comes_first_and_is_not_counted() {
    let load = Load { warm_up_ns: 1_000_000, ..Load::default() };
    let workload = Workload { depth: 1, ..under(load.clone(), 1, 50) };
    let log = simulate_from(5, &workload, |_| 30_000);
    // Operation k starts at 30 k us: 34 of them before 1 ms.
    assert_eq!(log.0.iter().map(|it| it.counted).collect::<Vec<_>>(), [vec![false; 34], vec![true; 50]].concat());
    let timed = Workload { stop: Stop { time_ns: Some(600_000), ..Stop::default() }, ..under(load, 1, 1) };
    let timed = Workload { depth: 1, ..timed };
    let log = simulate(&timed, |_| 30_000);
    // 20 from 1,020 us to 1,590 us.
    assert_eq!(log.0.iter().filter(|it| it.counted).count(), 20);
}

#[test]
fn nobody_waits_past_the_time_limit() {
    let stop = Stop { time_ns: Some(1_500_000_000), ..Stop::default() };
    let workload = Workload { stop, sync: Sync::Fsync, ..under(open(1, Spacing::Constant, None), 1, 1) };
    let mut execution = Execution::new(&workload, 0).unwrap();
    let mut out = Vec::new();
    let steps: Vec<Step> =
        [1_000, 1_000, 1_000_001_000, 1_500_001_000].map(|now_ns| execution.next(now_ns, &mut out)).into();
    assert_eq!(steps[..2], [Step::Issue, Step::WaitUntil(1_000_001_000)]);
    assert_eq!(steps[2..], [Step::Issue, Step::AwaitCompletion]);
    assert!(execution.due_ns().is_empty());
    execution.complete(1_500_001_001);
    execution.complete(1_500_001_001);
    assert_eq!(execution.next(1_500_001_002, &mut out), Step::Issue);
    assert_eq!((out[2].kind, execution.due_ns()), (OpKind::Sync, &[1_500_001_002][..]));
    execution.complete(1_500_001_003);
    assert_eq!(execution.next(1_500_001_004, &mut out), Step::Done);
    let early = Workload { stop: Stop { time_ns: Some(500_000_000), ..Stop::default() }, ..workload };
    let mut execution = Execution::new(&early, 0).unwrap();
    let steps: Vec<Step> = [0, 0].map(|now_ns| execution.next(now_ns, &mut out)).into();
    assert_eq!(steps, [Step::Issue, Step::WaitUntil(500_000_000)]);
}
