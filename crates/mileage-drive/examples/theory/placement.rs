//! What reads of several pages cost by how these lie: on the same die, on planes that are read together, or as parts of
//! many flash pages.

use super::drive_builder::{Sketch, Work};
use super::{Case, Row};
use mileage_drive::Immediate;
use mileage_drive::RequestKind::{Flush, Read};

const READ_US: f64 = 50.0;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(true, || [2, 8, 32].into_iter().flat_map(dies).collect()),
        Case::new(true, || [("any-pages", 0.75), ("same-page", 1.0)].into_iter().flat_map(planes).collect()),
        Case::new(true, parts),
    ]
}

/// Mean time of reads of `pages` pages, each when the one before is complete, in us, of a drive that is written in order and
/// then, if `at_random`, overwritten twice at random.
fn mean_us(sketch: &Sketch, pages: u64, at_random: bool) -> f64 {
    let mut work = Work::new(sketch, 17);
    let logical = sketch.logical;
    work.write_all(0..logical);
    for _ in 0..if at_random { 2 * logical } else { 0 } {
        let page = work.draw(logical);
        work.write(page);
    }
    let flushed_ns = work.submit(Flush, 0, 0, work.drive.now_ns()).unwrap_or(0);
    let (mut now_ns, reads) = (flushed_ns + 1_000_000_000, 20_000);
    let start_ns = now_ns;
    for _ in 0..reads {
        let first = work.draw(logical / pages) * pages;
        now_ns = work.submit(Read, first, pages, now_ns).unwrap_or(now_ns);
    }
    work.drive.advance_to(now_ns);
    (now_ns - start_ns) as f64 / f64::from(reads) / 1e3
}

/// Two pages that follow each other are on two dies; after writing at random they share one of D dies in one case of D.
fn dies(dies: u32) -> Vec<Row> {
    let sketch = Sketch { dies_per_channel: dies, ..Sketch::plane(32, 64, u64::from(dies) * 24 * 64) };
    let name = |how: &str| format!("read of two pages written {how}, {dies} dies, us");
    vec![
        Row::within(1e-3, name("in order"), READ_US, mean_us(&sketch, 2, false)),
        Row::within(0.02, name("at random"), READ_US * (1.0 + 1.0 / f64::from(dies)), mean_us(&sketch, 2, true)),
    ]
}

/// The two planes of a die read together what lies on both; after writing at random that is so in half of the cases, and at
/// the same place of both blocks in one of as many cases as a block has pages.
fn planes((together, share): (&str, f64)) -> Vec<Row> {
    let sketch = Sketch::plane(128, 64, 2 * 96 * 64).with("planes_per_die", 2);
    let sketch = sketch.with("plane_work", "\"together\"").with("plane_reads", format!("{together:?}"));
    let name = |how: &str| format!("read of two pages written {how}, planes together, {together}, us");
    let at_random = 2.0 * READ_US * if share < 1.0 { share } else { 1.0 - 0.25 / 64.0 };
    vec![
        Row::within(1e-3, name("in order"), READ_US, mean_us(&sketch, 2, false)),
        Row::within(0.02, name("at random"), at_random, mean_us(&sketch, 2, true)),
    ]
}

/// 128 KiB that were written in order lie in eight flash pages of 16 KiB, and written at random in as many as they have
/// parts: published drives lose up to 87 % of such reads.
fn parts() -> Vec<Row> {
    let sketch = Sketch::plane(128, 64, 96 * 64 * 4).with("page_bytes", 16384).with("mapping_bytes", 4096);
    let sketch = sketch.with("write_buffer_pages", 4);
    let name = |how: &str| format!("read of 128 KiB written {how}, pages of 16 KiB, us");
    // Two overwrites leave a page untouched in e^-2 of the cases; two such neighbours still share their array read.
    let reads = 32.0 - 24.0 * (-4.0_f64).exp();
    vec![
        Row::within(1e-3, name("in order"), 8.0 * READ_US, mean_us(&sketch, 32, false)),
        Row::within(0.01, name("at random"), reads * READ_US, mean_us(&sketch, 32, true)),
    ]
}
