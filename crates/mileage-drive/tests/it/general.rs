//! The general block-device contract, on every device and wrapper.

use crate::drives::Sketch;
use mileage_drive::conformance::general::check;
use mileage_drive::profile::{Faults, Lost, Stall};
use mileage_drive::{ConstantTime, Disturbed, Faulty, Queued};

fn toy(persist_ns: u64) -> ConstantTime {
    ConstantTime::new(1 << 20, 70_000, persist_ns)
}

fn stalls() -> Faults {
    let stall = Some(Stall { every_ns: 5_000_000, length_ns: 2_000_000 });
    Faults { stall, lost: Some(Lost { every: 10, timeout_ns: 3_000_000 }), seed: Some(3), ..Faults::default() }
}

#[test]
fn the_toy_device_keeps_the_general_contract() {
    for persist_ns in [0, 400_000] {
        check(1, 6, 60, || toy(persist_ns));
    }
}

fn sketches() -> Vec<Sketch> {
    let volatile = Sketch { buffer: 7, ..Sketch::tiny() }.with(&[("write_buffer_power", "\"volatile\"")]);
    let protected = Sketch { buffer: 7, ..Sketch::tiny() }.with(&[("write_buffer_power", "\"protected\"")]);
    vec![Sketch::tiny(), volatile, protected]
}

#[test]
fn flash_behind_a_queue_keeps_the_general_contract() {
    for sketch in sketches() {
        check(2026, 4, 30, || Queued::new(sketch.drive()));
        check(2027, 2, 30, || Queued::new(Faulty::new(sketch.drive(), stalls())));
    }
}

#[test]
fn faulty_and_slower_devices_keep_the_general_contract() {
    check(11, 6, 60, || Disturbed::faulty(toy(400_000), stalls()));
    check(12, 6, 60, || Disturbed::slowed(toy(400_000), 30_000));
    let twice = || Disturbed::slowed(Disturbed::faulty(toy(100_000), stalls()), 1);
    check(13, 3, 30, twice);
    for sketch in sketches() {
        check(14, 2, 30, || Disturbed::faulty(Queued::new(sketch.drive()), stalls()));
    }
}
