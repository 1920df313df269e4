//! The quick part of the check in every test run, and that a miss is a miss.

use super::{Row, cases};

#[test]
fn the_quick_cases_hold() {
    let quick: Vec<_> = cases().into_iter().filter(|case| case.quick).collect();
    assert!(quick.len() > 15);
    let misses: Vec<Row> = quick.iter().flat_map(super::Case::rows).filter(|row| !row.holds()).collect();
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
