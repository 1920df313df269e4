//! A cache of one-bit cells: where the cliff is, how fast it is behind it, and that it comes back after a pause.
//!
//! With D planes, the time s of a program with one bit, r of a read of such a page, p of a program with all bits, and e
//! of an erase of a block of b' pages with one bit: within the cache D / s; behind it D / p with a way past the cache;
//! where everything passes it each page costs s + r + p + e / b', that is 1 / (1 / `R_slc` + 1 / `R_fold`).

use super::drive_builder::{Sketch, Timing, Work};
use super::{Case, Row};
use mileage_drive::{Immediate, RequestKind::Write};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const PLANES: u32 = 8;
const PAGES: u32 = 66;
/// Pages of a block that stores one bit per cell instead of three, and the number of such blocks, which is no multiple of
/// the planes.
const SLC_PAGES: u64 = 22;
const SLC_BLOCKS: u64 = 61;
const READ_US: f64 = 20.0;
const PROGRAM_US: f64 = 100.0;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(true, || ["bypass", "through"].into_iter().flat_map(cliffs).collect()),
        Case::new(true, || vec![follows_the_free_space(100), follows_the_free_space(30)]),
        Case::new(true, || vec![level("bypass"), level("through")]),
        Case::new(true, || vec![wear()]),
    ]
}

fn work(design: &str, key: &'static str, size: u64) -> Work {
    let timing = Timing { program_us: 600.0, erase_us: 2000.0, ..Timing::default() };
    let logical = u64::from(PLANES * 200 * PAGES);
    let sketch = Sketch { channels: 4, dies_per_channel: 2, timing, ..Sketch::plane(256, PAGES, logical) }
        .with("cell", "\"tlc\"")
        .with(key, size)
        .with("slc_design", format!("{design:?}"))
        .with("slc_read_us", format!("{READ_US:?}"))
        .with("slc_program_us", format!("{PROGRAM_US:?}"))
        .with("slc_idle_after_us", "100000.0");
    Work::new(&sketch, 3)
}

fn fixed(design: &str) -> Work {
    work(design, "slc_cache_bytes", SLC_BLOCKS * SLC_PAGES * super::drive_builder::PAGE_BYTES)
}

/// Write pages one at a time from `from` on until one takes longer than half as long again as a program with one bit;
/// how many did not.
fn pages_before_the_cliff(work: &mut Work, from: u64) -> u64 {
    let mut pages = 0;
    loop {
        let before_ns = work.drive.now_ns();
        work.write(from + pages);
        if work.drive.now_ns() - before_ns > (1500.0 * PROGRAM_US) as u64 {
            return pages;
        }
        pages += 1;
    }
}

/// The cliff of a new drive, and of a drive that wrote far beyond the cliff and then paused.
fn cliffs(design: &'static str) -> Vec<Row> {
    let mut work = fixed(design);
    let theory = (SLC_BLOCKS * SLC_PAGES) as f64;
    let block = 1.0 / SLC_BLOCKS as f64;
    let new = pages_before_the_cliff(&mut work, 0);
    work.write_all(new + 1..20_000);
    work.drive.idle_ns(60_000_000_000);
    let after = pages_before_the_cliff(&mut work, 20_000);
    [("new", new), ("after a pause", after)]
        .map(|(when, pages)| {
            Row::within(block, format!("SLC cache, {design}, {when}: pages before the cliff"), theory, pages as f64)
        })
        .into()
}

/// A cache that may have a share s of the free space: it has h blocks when s (L - h b') / b - D = h, of L pages in
/// blocks of b, and D planes that have one block less.
fn follows_the_free_space(percent: u32) -> Row {
    let mut drive = work("bypass", "slc_cache_percent", u64::from(percent));
    let share = f64::from(percent) / 100.0;
    let pages = f64::from(PLANES * 200 * PAGES);
    let blocks =
        (share * pages / f64::from(PAGES) - f64::from(PLANES)) / (1.0 + share * SLC_PAGES as f64 / f64::from(PAGES));
    let seen = pages_before_the_cliff(&mut drive, 0) as f64;
    let name = format!("SLC cache of {percent} % of the free space: pages before the cliff");
    Row::within(f64::from(PLANES) / blocks, name, blocks * SLC_PAGES as f64, seen)
}

/// Pages written in order behind the cliff, at a depth of 8 for each plane; per second.
fn level(design: &'static str) -> Row {
    let mut work = fixed(design);
    let mut in_flight: BinaryHeap<Reverse<u64>> = (0..8 * PLANES).map(|_| Reverse(0)).collect();
    let mut last_ns = 0;
    let (skipped, counted) = (20_000, 60_000);
    let mut from_ns = 0;
    for page in 0..skipped + counted {
        let now_ns = in_flight.pop().map_or(0, |Reverse(ns)| ns);
        if page == skipped {
            from_ns = now_ns;
        }
        let done_ns = work.submit(Write, page, 1, now_ns).unwrap_or(now_ns);
        last_ns = last_ns.max(done_ns);
        in_flight.push(Reverse(done_ns));
    }
    let planes = f64::from(PLANES);
    let fold_us = READ_US + 600.0 + 2000.0 / SLC_PAGES as f64;
    let page_us = if design == "bypass" { 600.0 } else { PROGRAM_US + fold_us };
    let simulated = counted as f64 / (last_ns - from_ns) as f64 * 1e9;
    Row::within(0.03, format!("SLC cache, {design}: pages/s behind the cliff"), planes / page_us * 1e6, simulated)
}

/// Each page of the host is programmed with one bit and, on a drive with erased blocks, once more with all.
fn wear() -> Row {
    let mut work = fixed("through");
    let amplification = work.amplification_of(|work| {
        work.write_all(0..10_000);
        work.drive.idle_ns(60_000_000_000);
    });
    Row::exact("SLC cache, through, in order and emptied: WA", 2.0, amplification)
}
