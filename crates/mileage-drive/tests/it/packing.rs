//! A controller that packs sees what a workload really writes.

use crate::drives::{Sketch, counter, do_workload, workload};
use mileage_drive::{FlashDrive, Immediate, ManagedImmediate};
use mileage_workload::{Content, PatternKind, Workload};

fn drive(more: &[(&'static str, &'static str)]) -> FlashDrive {
    let shape = Sketch { channels: 1, dies: 1, blocks: 80, pages: 64, ..Sketch::tiny() };
    Sketch { capacity_bytes: 4096 * 4096, ..shape }.with(more).drive()
}

fn written(content: Content, passes: f64) -> Workload {
    Workload { content, ..workload(PatternKind::Sequential, 0, 4096 * 4096, passes, 9) }
}

/// Bytes stored for each that was written.
fn stored_share(content: Content, record_bytes: u32) -> f64 {
    let mut drive = drive(&[("compression_unit_bytes", "16")]);
    do_workload(&mut drive, &Workload { record_bytes, ..written(content, 1.0) });
    assert_eq!(counter(&drive, "packing_bytes_in"), 4096 * 4096);
    counter(&drive, "packing_bytes_stored") as f64 / (4096.0 * 4096.0)
}

#[test]
fn every_content_takes_what_compressors_make_of_it() {
    let dedup =
        |percent| Content::IozoneDedup { within_percent: percent, across_percent: percent, compress_percent: percent };
    for (content, record_bytes, within) in [
        (Content::Incompressible, 4096, 0.0),
        (Content::Zeros, 4096, 0.01),
        (Content::FioScrambled, 16384, 0.03),
        (Content::FioConstant, 16384, 0.0),
        (Content::Mixed { compressible_percent: 40, duplicate_percent: 20 }, 16384, 0.01),
        (Content::IozoneDefault, 65536, 0.02),
        (dedup(98), 65536, 0.03),
        (dedup(50), 65536, 0.03),
        (dedup(25), 65536, 0.03),
    ] {
        let (share, saved) = (stored_share(content, record_bytes), content.saved_percent(4096) / 100.0);
        assert!((share - (1.0 - saved)).abs() <= within, "{content:?}: {share} stored, {saved} saved");
    }
}

#[test]
fn a_lap_brings_other_contents_and_zeros_are_one_content() {
    let all = 4096;
    for (content, passes, found) in [
        (Content::Incompressible, 2.0, 0),
        (Content::Zeros, 2.0, 2 * all - 1),
        (Content::FioScrambled, 2.0, 0),
        (Content::FioConstant, 2.0, 2 * all - 1),
        (Content::IozoneDefault, 1.0, all - 1),
    ] {
        let mut drive = drive(&[("dedupe_contents", "100_000")]);
        do_workload(&mut drive, &written(content, passes));
        assert_eq!(counter(&drive, "duplicate_pages_found"), found, "{content:?}");
        assert_eq!(drive.mapped_pages(), all);
        assert_eq!(counter(&drive, "flash_pages_programmed"), (passes as u64) * all - found, "{content:?}");
    }
    // The same writing again, and the next one.
    let mut drive = drive(&[("dedupe_contents", "100_000")]);
    for (generation, found) in [(0, 0), (0, all), (1, all)] {
        do_workload(&mut drive, &Workload { generation, ..written(Content::Incompressible, 1.0) });
        assert_eq!(counter(&drive, "duplicate_pages_found"), found);
    }
}

#[test]
fn a_short_table_finds_only_what_was_written_lately() {
    // Duplicates are a multiple of 1024 blocks apart.
    let content = Content::Mixed { compressible_percent: 0, duplicate_percent: 100 };
    for (contents, found) in [("1023", 0), ("1024", 3 * 1024)] {
        let mut drive = drive(&[("dedupe_contents", contents)]);
        do_workload(&mut drive, &written(content, 1.0));
        assert_eq!(counter(&drive, "duplicate_pages_found"), found, "{contents}");
    }
}

/// What compresses to an eighth is read eight to a page; a page that is not full yet is still in the controller.
#[test]
fn flash_is_read_where_it_was_programmed() {
    let mut drive = drive(&[("compression_unit_bytes", "512")]);
    let content = Content::Mixed { compressible_percent: 88, duplicate_percent: 0 };
    let short = Workload { content, ..workload(PatternKind::Sequential, 0, 12 * 4096, 1.0, 9) };
    do_workload(&mut drive, &short);
    assert_eq!(counter(&drive, "flash_pages_programmed"), 1);
    do_workload(&mut drive, &Workload { read_percent: 100, ..short });
    assert_eq!(counter(&drive, "flash_pages_read"), 8);
    drive.purge();
    assert_eq!((drive.mapped_pages(), drive.now_ns() > 0), (0, true));
}

/// Pacing decides when the flash works, not what it does; and no write waits for a whole collection.
#[test]
fn paced_collections_of_packed_contents_do_the_same_work_in_small_pieces() {
    let shape = Sketch { blocks: 24, pages: 64, ..Sketch::tiny() }.with_spare(0.2);
    let content = Content::Mixed { compressible_percent: 30, duplicate_percent: 0 };
    let run = |pace| {
        let more = [("compression_unit_bytes", "512"), ("gc_pace", pace)];
        let mut drive = shape.clone().with(&more).drive();
        let span_bytes = drive.capacity_bytes() / 4096 * 4096;
        let wanted = Workload { content, depth: 4, ..workload(PatternKind::Random, 0, span_bytes, 12.0, 3) };
        let record = do_workload(&mut drive, &wanted);
        let work = ["flash_pages_read", "flash_pages_programmed", "blocks_erased", "gc_pages_moved"];
        (work.map(|name| counter(&drive, name)), record.latency.write.max_ns, record.elapsed_ns)
    };
    let (at_once, paced) = (run("\"at-once\""), run("\"paced\""));
    assert_eq!(at_once.0, paced.0);
    assert!(at_once.0[3] > 10_000 && paced.1 < at_once.1 / 3, "{} and {} ns at worst", at_once.1, paced.1);
    assert!(paced.2 < at_once.2, "{} and {} ns in all", at_once.2, paced.2);
}
