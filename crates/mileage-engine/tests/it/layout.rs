//! Creating and extending files.

use crate::scratch::{folder, plain, run};
use mileage_engine::Options;
use mileage_workload::{PatternKind, Stop, Workload};

#[test]
fn a_write_run_may_create_and_extend_its_file() {
    let folder = folder();
    let path = folder.path().join("new");
    let options = || Options { create: true, ..Options::new(&path) };
    run(plain(), options());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4 << 20);
    let span_bytes = 8 << 20;
    let stop = Stop { bytes: Some(span_bytes), ..Stop::default() };
    run(Workload { pattern: PatternKind::Shuffled, span_bytes, stop, threads: 2, ..plain() }, options());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), span_bytes);
    run(Workload { read_percent: 50, ..plain() }, options());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), span_bytes, "nothing is truncated");
}
