//! Tests of the checks: the quick ones pass, and a deviation from theory is reported as a miss.

use super::{Case, Row, cases};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The rows of all cases, simulated by as many threads as there are processors: in turn they take longer than all other
/// tests of the crate.
fn rows_of(cases: &[Case]) -> Vec<Row> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let some = case.rows();
            rows.lock().unwrap().extend(some);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    rows.into_inner().unwrap()
}

/// A third of them, from one that the process draws; all with `MILEAGE_TEST_PROFILE=thorough`. the program itself
/// checks all.
#[test]
fn the_quick_cases_hold() {
    let mut quick: Vec<_> = cases().into_iter().filter(|case| case.quick).collect();
    assert!(quick.len() > 15);
    if std::env::var_os("MILEAGE_TEST_PROFILE").is_none_or(|profile| profile != "thorough") {
        let first = std::process::id() as usize % 3;
        quick = quick.into_iter().skip(first).step_by(3).collect();
    }
    let misses: Vec<Row> = rows_of(&quick).into_iter().filter(|row| !row.holds()).collect();
    assert!(misses.is_empty(), "{misses:#?}");
}

#[test]
fn a_miss_is_a_miss() {
    let row = Row { name: String::new(), theory: 2.0, simulated: 2.01, tolerance: 0.01, bound: None };
    assert!(row.holds());
    assert!(!Row { simulated: 2.03, ..row.clone() }.holds());
    assert!(!Row { simulated: 1.97, ..row.clone() }.holds());
    assert!(!Row { bound: Some(2.005), ..row }.holds());
    assert!(Row::exact("", 0.0, 0.0).holds() && !Row::exact("", 1.0, 1.0 + 1e-12).holds());
}
