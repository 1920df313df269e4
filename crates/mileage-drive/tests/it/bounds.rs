//! Saturation: at a high queue depth a drive approaches what its scarcest part can do, and never exceeds any part.

use crate::drives::{Sketch, amplification, counter, do_workload, ops_per_s, workload};
use crate::random_drives::Draw;
use mileage_drive::{Immediate, ManagedImmediate};
use mileage_workload::PatternKind::{Random, Sequential};

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

/// Overwrites that are measured. The planes take turns and write the same number of pages of the host, but none holds
/// just the share of the valid ones: the plane u with the largest amplification `A_u` is done last, and the rate is
/// that of `D / (A_u program + (A_u - 1) read + (A_u / b) erase)`. Which plane that is changes in the course of some
/// overwrites, so that the longer the run, the nearer the mean is to each: at 128 blocks a plane, whether collections
/// are paced or not, 5.2 % below the bound after 4 overwrites, 2.6 % after 12 and 1.9 % after 16.
const PASSES: u64 = 12;

fn saturate(sketch: &Sketch, depth: u32) -> (f64, f64) {
    let mut drive = sketch.drive();
    let mut random = workload(Random, 0, sketch.capacity_bytes, 4.0, 1);
    random.depth = depth;
    do_workload(&mut drive, &random);
    (random.seed, random.stop.bytes) = (2, Some(sketch.capacity_bytes * PASSES));
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
    let paced = planes.clone().with(&[("gc_pace", "\"paced\"")]);
    for (scarce, sketch) in [(0, planes), (0, paced), (1, channels), (2, link), (3, controller)] {
        let (rate, amplification) = saturate(&sketch, 4096);
        let limits = bounds(&sketch, amplification);
        let smallest = limits.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((limits[scarce] - smallest).abs() < 1e-9, "part {scarce} is meant to be the scarcest: {limits:?}");
        // A collection begun before the measurement may be counted there and end in it.
        assert!(rate <= smallest * 1.001, "part {scarce}: {rate} exceeds {smallest}");
        assert!(rate >= smallest * 0.95, "part {scarce}: {rate} does not approach {smallest}");
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
        do_workload(&mut drive, &workload(Sequential, 0, sketch.capacity_bytes, 1.0, 1));
        let mut random = workload(Random, 100, sketch.capacity_bytes, 4.0, 3);
        random.depth = 1024;
        let rate = ops_per_s(&do_workload(&mut drive, &random));
        assert!((0.93 * bound..=bound * 1.001).contains(&rate), "{rate} against {bound}");
    }
}

/// Of any drive: the work that planes, channels, link and controller did, as counted, fits into the time that passed.
/// Work that has taken no time yet is not counted: erases that follow a merge, and of a paced collection what the next pages
/// carry, eight blocks of each plane at most, as much as is ever folded together. Pages in an SLC cache take less of the
/// planes: 70 us to program, 20 to read, and any read of the host may be one of those.
#[test]
fn no_part_of_any_drive_ever_did_more_than_it_can() {
    for seed in 0..120 {
        let mut draw = Draw::new(seed);
        let mut sketch = draw.sketch();
        let page_bytes = f64::from(sketch.page_bytes);
        // One part is scarce, mostly the planes; the others are in nobody's way.
        let scarce = draw.of(&["planes", "planes", "planes", "channels", "link", "controller"]);
        sketch.channel_mb_per_s = if scarce == "channels" { 2.0 } else { 1e6 };
        sketch.link_mb_per_s = if scarce == "link" { 2.0 } else { 1e6 };
        sketch.controller_us = if scarce == "controller" { 300.0 } else { 0.0 };
        sketch.queue = draw.of(&[1, 32, 4096]);
        let mut drive = sketch.drive();
        let mut load = workload(Random, draw.of(&[0, 0, 30]), sketch.capacity_bytes / 4096 * 4096, 8.0, seed);
        if sketch.capacity_bytes < 4096 {
            continue;
        }
        load.depth = draw.of(&[1, 256, 256]);
        let record = do_workload(&mut drive, &load);
        // Until all that was written is on the medium.
        drive.power_cycle();
        let elapsed_us = drive.now_ns() as f64 / 1e3;
        let has = |text: &str| sketch.more.iter().any(|(_, value)| *value == text);
        let by_page = drive.profile().policies.by_page();
        let [reads, programs, erases] =
            ["flash_pages_read", "flash_pages_programmed", "blocks_erased"].map(|name| counter(&drive, name) as f64);
        let cached = drive.profile().slc_cache.is_some();
        let slc_programs = counter(&drive, "slc_pages_programmed") as f64;
        let copied = counter(&drive, "gc_pages_moved") + counter(&drive, "levelling_pages_moved");
        // Of pages of several units of the map it is not known how many reads copied them.
        let parts = f64::from(sketch.page_bytes / drive.page_bytes());
        let slc_reads = if cached { reads - if parts > 1.0 { 0.0 } else { copied as f64 } } else { 0.0 };
        let planes = drive.profile().planes() as f64;
        let pages = f64::from(sketch.pages);
        let unpaid_us = 8.0 * planes * (pages * (sketch.read_us + sketch.program_us) + sketch.erase_us);
        let work_us = reads * sketch.read_us
            + programs * sketch.program_us
            + if by_page { erases * sketch.erase_us } else { 0.0 }
            - if has("\"paced\"") || cached { unpaid_us } else { 0.0 }
            - slc_programs * (sketch.program_us - 70.0)
            - slc_reads * (sketch.read_us - 20.0);
        let arrays = if has("\"one\"") { planes / f64::from(sketch.planes) } else { planes };
        let carried_us = (reads / parts + programs) * page_bytes / sketch.channel_mb_per_s
            - if has("\"paced\"") || cached {
                16.0 * planes * pages * page_bytes / sketch.channel_mb_per_s
            } else {
                0.0
            };
        let moved = (record.bytes_read + record.bytes_written) as f64;
        let commands = (record.ops_read + record.ops_written) as f64;
        for (part, needed_us) in [
            ("planes", work_us / arrays),
            ("channels", carried_us / f64::from(sketch.channels)),
            ("link", moved / sketch.link_mb_per_s),
            ("controller", commands * sketch.controller_us),
        ] {
            // Page times are whole nanoseconds.
            assert!(
                needed_us <= elapsed_us * 1.0005,
                "seed {seed}, {part}: {needed_us} us of {elapsed_us}: {sketch:?}"
            );
        }
    }
}
