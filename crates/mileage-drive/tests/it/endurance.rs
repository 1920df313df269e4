//! What a drive says of its life.

use crate::drives::{Sketch, X25E, do_workload, workload};
use mileage_drive::{FlashDrive, FlashProfile};
use mileage_workload::PatternKind::Sequential;

#[test]
fn life_is_mean_erases_over_the_rating() {
    let text = Sketch::tiny().text() + "pe_cycles = { value = 10, source = \"a test\", confidence = \"defined\" }\n";
    let mut drive = FlashDrive::new(FlashProfile::parse(&text).unwrap());
    assert_eq!(drive.life_used(), Some(0.0));
    do_workload(&mut drive, &workload(Sequential, 0, 64 * 4096, 20.0, 1));
    // 1280 pages into 28 blocks of 4 pages that need no erase, 292 times a block that does.
    assert_eq!(drive.life_used(), Some(292.0 / (32.0 * 10.0)));
    assert_eq!(Sketch::tiny().drive().life_used(), None);
}

#[test]
fn the_x25e_is_rated_for_100_000_cycles() {
    let profile = FlashProfile::parse(X25E).unwrap();
    assert_eq!(profile.pe_cycles, Some(100_000));
}
