//! The Intel X25-E profile against what was published of the drive.

use crate::drives::{X25E, do_workload, ops_per_s, request, submit, workload};
use mileage_drive::{FlashDrive, FlashProfile, RequestKind};
use mileage_measure::RunRecord;
use mileage_workload::PatternKind::{Random, Sequential};

fn mb_per_s(record: &RunRecord) -> f64 {
    (record.bytes_read + record.bytes_written) as f64 / record.elapsed_ns as f64 * 1e3
}

#[test]
fn rates_of_a_new_drive_are_the_published_ones() {
    let mut drive = FlashDrive::new(FlashProfile::parse(X25E).unwrap());
    let span = 1 << 30;
    let mut large = workload(Sequential, 0, span, 1.0, 1);
    large.record_bytes = 128 << 10;
    let written = mb_per_s(&do_workload(&mut drive, &large));
    assert!((170.0..=208.1).contains(&written), "sequential write {written} MB/s");
    large.read_percent = 100;
    let read = mb_per_s(&do_workload(&mut drive, &large));
    assert!((245.0..=254.2).contains(&read), "sequential read {read} MB/s");
    let read = ops_per_s(&do_workload(&mut drive, &workload(Random, 100, span, 1.0, 2)));
    assert!((34_000.0..=35_300.0).contains(&read), "random read {read} IOPS");
    let written = ops_per_s(&do_workload(&mut drive, &workload(Random, 0, span, 0.2, 3)));
    assert!((10_000.0..=35_300.0).contains(&written), "random write {written} IOPS");
}

#[test]
fn a_lone_small_write_returns_within_the_published_85_us_and_a_read_within_100() {
    let mut drive = FlashDrive::new(FlashProfile::parse(X25E).unwrap());
    assert!(submit(&mut drive, request(RequestKind::Write, 0, 4096, 0)) < 85_000);
    let read = submit(&mut drive, request(RequestKind::Read, 0, 4096, 1000)) - 1_000_000;
    assert!((75_000..100_000).contains(&read), "{read} ns");
}
