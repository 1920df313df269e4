//! Properties of the orders, over random workloads, and a suite that must fail when a driver cheats.

use super::driver::{offsets, seed, simulate, uneven};
use super::refusals::plain;
use mileage_workload::conformance::{Scope, check};
use mileage_workload::{Execution, Op, PatternKind, Step, Stop, Workload};
use proptest::prelude::*;

#[test]
fn a_plain_driver_conforms() {
    check(seed(), 1_500, &Scope::whole(1 << 20, 16), |workload| simulate(workload, uneven));
}

proptest! {
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
