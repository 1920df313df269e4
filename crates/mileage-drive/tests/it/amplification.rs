//! Write amplification against theory, at the spare that drives are sold with.

use crate::drives::{Sketch, amplification, counter, do_workload, request, submit, workload};
use crate::formulas;
use mileage_drive::{FlashDrive, RequestKind};
use mileage_workload::PatternKind::{Random, Sequential};

/// Fill, overwrite at random three times, measure three more.
fn check(sketch: &Sketch, tolerance: f64) {
    let mut drive = sketch.drive();
    let predicted = formulas::of_drive(drive.profile());
    let capacity = sketch.capacity_bytes;
    do_workload(&mut drive, &workload(Sequential, 0, capacity, 1.0, 1));
    do_workload(&mut drive, &workload(Random, 0, capacity, 3.0, 2));
    let got = amplification(&do_workload(&mut drive, &workload(Random, 0, capacity, 3.0, 3)));
    let off = got / predicted - 1.0;
    assert!(off.abs() < tolerance, "{got:.4} against {predicted:.4}, {:+.2} %: {sketch:?}", 100.0 * off);
}

#[test]
fn random_writes_amplify_as_theory_says() {
    for (channels, dies, blocks, pages) in [(2, 2, 256, 256), (1, 1, 4096, 64), (4, 2, 1024, 32)] {
        let shape = Sketch { channels, dies, blocks, pages, ..Sketch::tiny() };
        for over_provisioning in [0.07, 0.15, 0.28] {
            check(&shape.clone().with_spare(over_provisioning), 0.01);
        }
    }
}

#[test]
fn odd_geometry_amplifies_as_theory_says() {
    let odd = Sketch { channels: 3, dies: 1, blocks: 700, pages: 100, ..Sketch::tiny() };
    check(&odd.with_spare(0.2), 0.01);
}

#[test]
fn sequential_overwrites_move_nothing() {
    for (channels, dies) in [(1, 1), (2, 2), (3, 5)] {
        let sketch = Sketch { channels, dies, blocks: 40, pages: 32, ..Sketch::tiny() }.with_spare(0.15);
        let mut drive = sketch.drive();
        for pass in 0..5 {
            let record = do_workload(&mut drive, &workload(Sequential, 0, sketch.capacity_bytes, 1.0, pass));
            assert_eq!(record.counters["gc_pages_moved"], 0, "{channels} x {dies}, pass {pass}");
            assert_eq!(record.counters["flash_pages_programmed"], record.counters["host_pages_written"]);
        }
    }
}

/// Writes that spare some planes' pages for ever must not fill those planes up.
#[test]
fn a_stride_amplifies_no_more_than_a_third_above_the_best() {
    let sketch = Sketch { channels: 4, dies: 1, blocks: 128, pages: 64, ..Sketch::tiny() }.with_spare(0.15);
    let mut drive = sketch.drive();
    do_workload(&mut drive, &workload(Sequential, 0, sketch.capacity_bytes, 1.0, 1));
    let pages = sketch.capacity_bytes / 4096;
    let mut before = 0;
    for pass in 0..20_u64 {
        for page in (0..pages).filter(|page| page % 4 < 2) {
            let offset_bytes = page * 4096;
            submit(&mut drive, request(RequestKind::Write, offset_bytes, 4096, 0));
        }
        let programmed = counter(&drive, "flash_pages_programmed");
        let pass_amplification = (programmed - before) as f64 / (pages / 2) as f64;
        before = programmed;
        assert!(pass == 0 || pass_amplification < 2.0, "pass {pass}: {pass_amplification}");
    }
}

#[test]
fn discarding_makes_room() {
    let sketch = Sketch { channels: 2, dies: 2, blocks: 128, pages: 64, ..Sketch::tiny() }.with_spare(0.07);
    let (mut plain, mut trimmed) = (sketch.drive(), sketch.drive());
    let capacity = sketch.capacity_bytes;
    for drive in [&mut plain, &mut trimmed] {
        do_workload(drive, &workload(Sequential, 0, capacity, 1.0, 1));
    }
    let half = capacity / 8192 * 4096;
    let discard = request(RequestKind::Discard, half, capacity - half, 0);
    submit(&mut trimmed, discard);
    assert_eq!(counter(&trimmed, "trimmed_pages"), (capacity - half) / 4096);
    assert_eq!(trimmed.mapped_pages(), half / 4096);
    let random =
        |drive: &mut FlashDrive, seed| amplification(&do_workload(drive, &workload(Random, 0, half, 6.0, seed)));
    random(&mut plain, 2);
    random(&mut trimmed, 2);
    assert!(random(&mut trimmed, 3) < 1.6 && random(&mut plain, 3) > 2.5);
}

/// A worn drive is written once in order: the next pass in order moves nothing if survivors have blocks of their own. Where
/// they share blocks with what the host writes, it still finds them there.
#[test]
fn a_pass_in_order_heals_a_worn_drive_where_survivors_are_apart() {
    let shape = Sketch { channels: 2, dies: 2, blocks: 128, pages: 64, ..Sketch::tiny() }.with_spare(0.15);
    let second_pass = |frontiers| {
        let mut drive = shape.clone().with(&[("frontiers", frontiers)]).drive();
        do_workload(&mut drive, &workload(Sequential, 0, shape.capacity_bytes, 1.0, 1));
        do_workload(&mut drive, &workload(Random, 0, shape.capacity_bytes, 3.0, 2));
        let pass = |drive: &mut FlashDrive| {
            amplification(&do_workload(drive, &workload(Sequential, 0, shape.capacity_bytes, 1.0, 3)))
        };
        let first = pass(&mut drive);
        (first, pass(&mut drive), pass(&mut drive))
    };
    let (apart, shared) = (second_pass("\"survivors-apart\""), second_pass("\"shared\""));
    assert!(apart.1 < 1.03 && shared.1 > apart.1 + 0.1, "apart {apart:?}, shared {shared:?}");
}
