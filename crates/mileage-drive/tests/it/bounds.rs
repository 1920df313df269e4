//! Saturation: at a high queue depth a drive approaches what its scarcest part can do, and never exceeds any part.

use crate::drives::{Sketch, amplification, do_workload, ops_per_s, workload};
use mileage_workload::PatternKind::Random;

/// Pages per second that the planes, the channels, the link and the controller can do.
fn bounds(sketch: &Sketch, amplification: f64) -> [f64; 4] {
    let units = f64::from(sketch.channels * sketch.dies);
    let page_bytes = f64::from(sketch.page_bytes);
    let moved = amplification - 1.0;
    let erase_us = amplification / f64::from(sketch.pages) * sketch.erase_us;
    let plane_us = amplification * sketch.program_us + moved * sketch.read_us + erase_us;
    let transfers = 2.0 * amplification - 1.0;
    [
        units / plane_us * 1e6,
        f64::from(sketch.channels) * sketch.channel_mb_per_s * 1e6 / page_bytes / transfers,
        sketch.link_mb_per_s * 1e6 / page_bytes,
        if sketch.controller_us == 0.0 { f64::INFINITY } else { 1e6 / sketch.controller_us },
    ]
}

fn saturate(sketch: &Sketch, depth: u32) -> (f64, f64) {
    let mut drive = sketch.drive();
    let mut random = workload(Random, 0, sketch.capacity_bytes, 4.0, 1);
    random.depth = depth;
    do_workload(&mut drive, &random);
    (random.seed, random.stop.bytes) = (2, Some(sketch.capacity_bytes * 4));
    let record = do_workload(&mut drive, &random);
    (ops_per_s(&record), amplification(&record))
}

fn shape() -> Sketch {
    let free = Sketch { controller_us: 0.0, channel_mb_per_s: 1e6, link_mb_per_s: 1e6, queue: 65536, ..Sketch::tiny() };
    Sketch { channels: 4, dies: 2, blocks: 128, pages: 64, ..free }.with_spare(0.2)
}

#[test]
fn random_writes_approach_the_scarcest_part_and_exceed_none() {
    let planes = shape();
    let channels = Sketch { channel_mb_per_s: 20.0, ..shape() };
    let link = Sketch { link_mb_per_s: 25.0, ..shape() };
    let controller = Sketch { controller_us: 200.0, ..shape() };
    for (scarce, sketch) in [(0, planes), (1, channels), (2, link), (3, controller)] {
        let (rate, amplification) = saturate(&sketch, 4096);
        let limits = bounds(&sketch, amplification);
        let smallest = limits.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((limits[scarce] - smallest).abs() < 1e-9, "part {scarce} is meant to be the scarcest: {limits:?}");
        // The last programs of a run end after its last write was issued: 4096 of 100,000 may be unfinished work.
        assert!(rate <= smallest * 1.005, "part {scarce}: {rate} exceeds {smallest}");
        assert!(rate >= smallest * 0.93, "part {scarce}: {rate} does not approach {smallest}");
    }
}

#[test]
fn more_depth_is_never_much_slower_and_depth_1_waits_for_every_program() {
    let sketch = Sketch::tiny();
    let sketch = Sketch { channels: 4, dies: 2, blocks: 128, pages: 64, ..sketch }.with_spare(0.2);
    let rates: Vec<f64> = [1, 4, 32, 4096].into_iter().map(|depth| saturate(&sketch, depth).0).collect();
    assert!(rates.windows(2).all(|pair| pair[1] > 0.95 * pair[0]), "{rates:?}");
    assert!(rates[0] < 1e6 / 231.0, "{rates:?}");
}

#[test]
fn reads_are_bound_by_planes_and_link() {
    for (link_mb_per_s, channel_mb_per_s, bound) in
        [(1e6, 1e6, 8.0 / 50e-6), (100.0, 1e6, 100e6 / 4096.0), (1e6, 50.0, 4.0 * 50e6 / 4096.0)]
    {
        let sketch = Sketch { channel_mb_per_s, link_mb_per_s, ..shape() };
        let mut drive = sketch.drive();
        do_workload(&mut drive, &workload(mileage_workload::PatternKind::Sequential, 0, sketch.capacity_bytes, 1.0, 1));
        let mut random = workload(Random, 100, sketch.capacity_bytes, 4.0, 3);
        random.depth = 1024;
        let rate = ops_per_s(&do_workload(&mut drive, &random));
        assert!((0.93 * bound..=bound * 1.001).contains(&rate), "{rate} against {bound}");
    }
}
