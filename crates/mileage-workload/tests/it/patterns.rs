//! Properties of the orders, over random workloads, and a suite that must fail when a driver cheats.

use super::refusals::plain;
use mileage_workload::conformance::{Completion, Log, check, judge};
use mileage_workload::{Execution, Op, OpKind, PatternKind, Step, Stop, Workload};
use proptest::prelude::*;
use std::collections::BinaryHeap;

/// A device in virtual time whose service time depends on the offset; the second implementation of a driver.
fn simulate(workload: &Workload, latency_ns: impl Fn(&Op) -> u64) -> Log {
    let mut log = Log::default();
    for thread in 0..workload.threads {
        let mut execution = Execution::new(workload, thread).unwrap();
        let (mut now_ns, mut out, mut waiting) = (0, Vec::new(), BinaryHeap::new());
        loop {
            match execution.next(now_ns, &mut out) {
                Step::Done => break,
                Step::Issue => {
                    for op in out.drain(..) {
                        let complete_ns = now_ns + latency_ns(&op);
                        log.0.push(Completion { thread, op, submit_ns: now_ns, complete_ns });
                        waiting.push(std::cmp::Reverse(complete_ns));
                    }
                }
                Step::WaitUntil(until_ns) if waiting.is_empty() => now_ns = until_ns,
                Step::AwaitCompletion | Step::WaitUntil(_) => {
                    now_ns = waiting.pop().expect("something is outstanding").0;
                    execution.complete(now_ns);
                }
            }
        }
    }
    log
}

fn uneven(op: &Op) -> u64 {
    1_000 + op.offset_bytes % 7_919
}

fn seed() -> u64 {
    let seed = std::env::var("MILEAGE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_100_101);
    eprintln!("MILEAGE_SEED={seed}");
    seed
}

#[test]
fn a_plain_driver_conforms() {
    check(seed(), 400, 1 << 20, 16, |workload| simulate(workload, uneven));
}

#[test]
fn the_suite_sees_a_driver_that_cheats() {
    let workload = Workload {
        pattern: PatternKind::Random,
        depth: 4,
        stop: Stop { operations: Some(100), time_ns: Some(50_000_000), ..Stop::default() },
        sync: mileage_workload::Sync::Fsync,
        ..plain()
    };
    let honest = simulate(&workload, uneven);
    assert_eq!(judge(&workload, &honest), Ok(()));
    let broken = |cheat: &dyn Fn(&mut Log)| {
        let mut log = honest.clone();
        cheat(&mut log);
        judge(&workload, &log).unwrap_err()
    };
    assert!(broken(&|log| log.0[5].op.offset_bytes ^= 4096).contains("in its order"));
    assert!(broken(&|log| log.0[5].op.kind = OpKind::Read).contains("in its order"));
    assert!(broken(&|log| log.0.truncate(100)).contains("final sync"));
    assert!(broken(&|log| log.0[7].thread = 1).contains("does not have"));
    assert!(broken(&|log| log.0.iter_mut().for_each(|done| done.submit_ns = 0)).contains("outstanding"));
    let mut untimed = workload.clone();
    untimed.stop.time_ns = None;
    let mut short = honest.clone();
    short.0.remove(99);
    assert!(judge(&untimed, &short).unwrap_err().contains("fewer operations"));
    let mut late = honest.clone();
    let last = late.0.len() - 2;
    late.0[last].submit_ns += 50_000_000;
    late.0[last].complete_ns += 50_000_000;
    assert!(judge(&workload, &late).unwrap_err().contains("after the time limit"));
}

fn offsets(workload: &Workload) -> Vec<u64> {
    simulate(workload, |_| 0).0.iter().map(|done| done.op.offset_bytes / u64::from(workload.record_bytes)).collect()
}

proptest! {
    #[test]
    fn a_shuffle_visits_every_record_once_per_pass(seed in any::<u64>(), records in 1_u64..500, threads in 1_u32..5) {
        prop_assume!(records >= u64::from(threads));
        let span_bytes = records * 4096;
        let stop = Stop { bytes: Some(2 * span_bytes), ..Stop::default() };
        let workload = Workload { pattern: PatternKind::Shuffled, seed, span_bytes, threads, stop, ..plain() };
        let mut visits = vec![0_u64; records as usize];
        offsets(&workload).iter().for_each(|record| visits[*record as usize] += 1);
        prop_assert!(records % u64::from(threads) != 0 || visits.iter().all(|count| *count == 2), "{visits:?}");
        prop_assert_eq!(visits.iter().sum::<u64>(), 2 * records);
    }

    #[test]
    fn equal_seeds_give_equal_orders_and_others_do_not(seed in any::<u64>()) {
        let workload = Workload { pattern: PatternKind::Random, seed, ..plain() };
        prop_assert_eq!(offsets(&workload), offsets(&workload.clone()));
        let other = Workload { seed: seed.wrapping_add(1), ..workload.clone() };
        prop_assert_ne!(offsets(&workload), offsets(&other));
    }

    #[test]
    fn threads_share_a_byte_limit_exactly(threads in 1_u32..9, records in 9_u64..300) {
        let stop = Stop { bytes: Some(records * 4096), ..Stop::default() };
        let workload = Workload { threads, stop, ..plain() };
        prop_assert_eq!(offsets(&workload).len() as u64, records);
    }
}

#[test]
fn uniform_random_is_uniform() {
    // Pearson's chi-squared over 256 records, 25,600 draws: mean 255, standard deviation sqrt(510) = 22.6.
    let stop = Stop { operations: Some(25_600), ..Stop::default() };
    let workload = Workload { pattern: PatternKind::Random, seed: 7, stop, ..plain() };
    let mut counts = [0_f64; 256];
    offsets(&workload).iter().for_each(|record| counts[*record as usize] += 1.0);
    let chi_squared: f64 = counts.iter().map(|count| (count - 100.0).powi(2) / 100.0).sum();
    assert!((255.0 - 5.0 * 22.6..255.0 + 5.0 * 22.6).contains(&chi_squared), "{chi_squared}");
}

#[test]
fn the_lookahead_is_what_is_issued_next() {
    let workload = Workload { pattern: PatternKind::Random, depth: 4, ..plain() }; // 4 divides the chunk
    let mut execution = Execution::new(&workload, 0).unwrap();
    let mut known: Vec<Op> = Vec::new();
    let mut issued = Vec::new();
    loop {
        if known.len() <= issued.len() {
            known.extend_from_slice(execution.upcoming());
        }
        let before = issued.len();
        if execution.next(0, &mut issued) == Step::Done {
            break;
        }
        for _ in before..issued.len() {
            execution.complete(0);
        }
    }
    assert!(issued == known, "the lookahead and the issued operations differ");
    assert_eq!(issued.len(), 256);
}
