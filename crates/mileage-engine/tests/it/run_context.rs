//! What lies around a run: the device's own counters, the engine's own cost, the clock, and what limited the rate.

use crate::refusals::Loop;
use crate::scratch::{file_of, folder, plain, run};
use mileage_engine::{Api, Options};
use mileage_workload::{Load, Open, PatternKind, Spacing, Stop, Workload};
use std::path::Path;
use std::process::Command;

/// A mount that is undone, whatever becomes of the test.
struct Mount<'a>(&'a Path);

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_device_of_its_own_counts_just_what_the_run_moved() {
    let folder = folder();
    let Some(device) = Loop::attach(&folder.path().join("disk")) else { return };
    let span_bytes = 4 << 20;
    let workload = Workload {
        pattern: PatternKind::Random,
        read_percent: 50,
        span_bytes,
        threads: 3,
        stop: Stop { operations: Some(3000), ..Stop::default() },
        ..plain()
    };
    let record = run(workload, Options { direct: true, ..Options::new(&device.0) }).record;
    assert_eq!(record.error, None);
    let counted = &record.usage.device;
    let merged = |name: &str| counted[name];
    assert_eq!((merged("read_bytes"), merged("write_bytes")), (record.bytes_read, record.bytes_written));
    assert!((1..=record.ops_read).contains(&merged("reads")), "{counted:?}");
    assert!((1..=record.ops_written).contains(&merged("writes")), "{counted:?}");
}

#[test]
fn what_a_warm_up_moves_is_not_counted() {
    let folder = folder();
    let Some(device) = Loop::attach(&folder.path().join("disk")) else { return };
    let workload = Workload {
        pattern: PatternKind::Random,
        read_percent: 100,
        stop: Stop { operations: Some(500), ..Stop::default() },
        load: Load { warm_up_ns: 200_000_000, ..Load::default() },
        ..plain()
    };
    let record = run(workload, Options { direct: true, audit: true, ..Options::new(&device.0) }).record;
    assert_eq!((record.error, record.ops_read), (None, 500));
    assert_eq!(record.usage.device["read_bytes"], record.bytes_read);
}

#[test]
fn a_file_system_of_several_devices_shows_their_sum() {
    let folder = folder();
    let disks = [folder.path().join("one"), folder.path().join("two")];
    let Some(first) = Loop::attach_of(&disks[0], 256 << 20) else { return };
    let Some(second) = Loop::attach_of(&disks[1], 256 << 20) else { return };
    let made = Command::new("mkfs.btrfs").args(["-q", "-d", "raid0", "-m", "raid1", &first.0, &second.0]).status();
    let at = folder.path().join("mounted");
    std::fs::create_dir(&at).unwrap();
    let mounted = made.is_ok_and(|made| made.success())
        && Command::new("mount").arg(&first.0).arg(&at).status().is_ok_and(|mounted| mounted.success());
    if !mounted {
        eprintln!("skipped a_file_system_of_several_devices_shows_their_sum: no btrfs here");
        return;
    }
    let _undone = Mount(&at);
    let file = at.join("data");
    std::fs::write(&file, vec![0x5A; 32 << 20]).unwrap();
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    let span_bytes = 32 << 20;
    let workload = Workload {
        read_percent: 100,
        record_bytes: 1 << 20,
        span_bytes,
        stop: Stop { bytes: Some(span_bytes), ..Stop::default() },
        ..plain()
    };
    let record = run(workload, Options { direct: true, ..Options::new(&file) }).record;
    assert_eq!(record.error, None);
    let read_bytes = record.usage.device["read_bytes"];
    assert!((span_bytes..span_bytes * 5 / 4).contains(&read_bytes), "both halves: {:?}", record.usage.device);
}

#[test]
fn the_engines_own_cost_and_its_clock_stand_in_the_record() {
    let (_folder, path) = file_of(4 << 20);
    let record = run(plain(), Options::new(&path)).record;
    let usage = &record.usage;
    assert!((1_000..100_000_000).contains(&usage.overhead_ps), "{} ps for an operation", usage.overhead_ps);
    // A thousandth: more than any clock strays, less than a wrong one does.
    let bound_ns = record.elapsed_ns / 1000 + 100_000;
    assert!(usage.clock_gained_ns.unsigned_abs() < bound_ns, "{usage:?}");
    let nowhere = run(plain(), Options { api: Api::Null, ..Options::new(&path) }).record;
    assert!(nowhere.usage.device.is_empty() && nowhere.usage.overhead_ps > 0);
}

#[test]
fn the_cost_of_every_pattern_is_measured() {
    let (_folder, path) = file_of(4 << 20);
    for pattern in [
        PatternKind::Sequential,
        PatternKind::Random,
        PatternKind::Shuffled,
        PatternKind::Zipf { theta_hundredths: 110 },
    ] {
        let large = Workload { record_bytes: 2 << 20, pattern: pattern.clone(), ..plain() };
        for workload in [Workload { pattern, ..plain() }, large] {
            let record = run(workload, Options::new(&path)).record;
            assert!(record.usage.overhead_ps > 0);
        }
    }
}

#[test]
fn a_rate_that_is_kept_is_what_limits() {
    let (_folder, path) = file_of(4 << 20);
    let open = Open { operations_per_s: 200, spacing: Spacing::Constant, ramp: None };
    let workload = Workload {
        read_percent: 100,
        stop: Stop { operations: Some(100), ..Stop::default() },
        load: Load { open: Some(open), ..Load::default() },
        ..plain()
    };
    let record = run(workload, Options::new(&path)).record;
    // A machine that stood still meanwhile has not kept it, and the record must not say so.
    let kept = record.ops_read as f64 >= 0.98 * 200.0 * record.elapsed_ns as f64 * 1e-9;
    assert_eq!(record.usage.limited_by == "rate", kept, "{} ns for {} reads", record.elapsed_ns, record.ops_read);
}
