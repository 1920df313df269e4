//! Limits that no drive exceeds: the rates of planes, channels, link and controller, and the depth of the queue.

use super::drive_builder::{Sketch, Timing, Work};
use super::{Case, Row};
use mileage_drive::RequestKind::{self, Read, Write};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> =
        (0..4).map(|part| Case::new(true, move || vec![saturated(part, "paced", false)])).collect();
    cases.push(Case::new(false, || vec![saturated(0, "at-once", false), saturated(1, "at-once", false)]));
    cases.push(Case::new(true, || vec![saturated(0, "paced", true), saturated(1, "paced", true)]));
    cases.push(Case::new(true, links));
    cases.push(Case::new(true, queue));
    cases
}

/// Operations of one kind on `pages` pages each, of `logical` in all, at random or one after the other.
#[derive(Clone, Copy)]
struct Load {
    kind: RequestKind,
    pages: u64,
    logical: u64,
    random: bool,
}

/// Do `count` operations with `depth` outstanding; operations per second, from the first submission to the
/// last completion.
fn closed_loop(work: &mut Work, load: Load, depth: usize, count: u64) -> f64 {
    let Load { kind, pages, logical, random } = load;
    let start_ns = mileage_drive::Immediate::now_ns(&work.drive);
    let mut outstanding: BinaryHeap<Reverse<u64>> = (0..depth).map(|_| Reverse(start_ns)).collect();
    let mut last_ns = start_ns;
    for index in 0..count {
        let now_ns = outstanding.pop().map_or(start_ns, |Reverse(ns)| ns);
        let page = if random { work.draw(logical / pages) } else { index % (logical / pages) } * pages;
        let done_ns = work.submit(kind, page, pages, now_ns).unwrap_or(now_ns);
        last_ns = last_ns.max(done_ns);
        outstanding.push(Reverse(done_ns));
    }
    mileage_drive::Immediate::advance_to(&mut work.drive, last_ns);
    count as f64 / (last_ns - start_ns) as f64 * 1e9
}

/// Random writes at a depth of 8 for each die, collections paced or at once: with A the amplification that was seen, D dies do
/// D / (A program + (A - 1) read + (A / b) erase), C channels C / ((2 A - 1) transfers), the link its rate over a
/// page, the controller one command after the other. The scarcest of them (`part`) is approached and never exceeded.
/// A controller that `packs` contents of which none compresses is bound by the same.
fn saturated(part: usize, pace: &str, packs: bool) -> Row {
    let (names, dies, channels, pages) = (["dies", "channels", "link", "controller"], 8_u32, 4_u32, 64_u32);
    let mut timing = Timing::default();
    match part {
        1 => timing.channel_mb_per_s = 20.0,
        2 => timing.link_mb_per_s = Some(25.0),
        3 => timing.controller_us = 200.0,
        _ => {}
    }
    // Use enough blocks that the planes differ little in their shares of valid pages.
    let blocks = 1024;
    let logical = u64::from(dies * blocks * pages) * 5 / 6;
    let sketch = Sketch { channels, dies_per_channel: 2, timing, ..Sketch::plane(blocks, pages, logical) };
    let mut sketch = sketch.with("gc_pace", format!("{pace:?}"));
    if packs {
        sketch = sketch.with("compression_unit_bytes", 512);
    }
    let mut work = Work::new(&sketch, 11);
    let depth = 8 * dies as usize;
    work.write_all(0..logical);
    let load = Load { kind: Write, pages: 1, logical, random: true };
    closed_loop(&mut work, load, depth, 3 * logical);
    let mut rate = 0.0;
    let a = work.amplification_of(|work| rate = closed_loop(work, load, depth, 2 * logical));
    let plane_us = a * timing.program_us + (a - 1.0) * timing.read_us + a / f64::from(pages) * timing.erase_us;
    let bounds = [
        f64::from(dies) / plane_us * 1e6,
        f64::from(channels) * timing.channel_mb_per_s * 1e6 / 4096.0 / (2.0 * a - 1.0),
        timing.link_mb_per_s.unwrap_or(f64::INFINITY) * 1e6 / 4096.0,
        if timing.controller_us > 0.0 { 1e6 / timing.controller_us } else { f64::INFINITY },
    ];
    let theory = bounds.into_iter().fold(f64::INFINITY, f64::min);
    // Work that was begun before the measurement, and a block's worth of erases, may fall to either side of it.
    let bound = Some(theory * 1.002);
    let name = format!(
        "random writes/s at depth {depth}, {pace}, bound by the {}{}",
        names[part],
        if packs { ", packed" } else { "" }
    );
    Row { name, theory, simulated: rate, tolerance: 0.05, bound }
}

/// Large reads of a fresh fast drive run at the payload rate of the link.
fn links() -> Vec<Row> {
    let links = [
        ("sata-1", 150.0),
        ("sata-2", 300.0),
        ("sata-3", 600.0),
        ("sas-1", 300.0),
        ("sas-2", 600.0),
        ("sas-3", 1200.0),
        ("pcie-1-x1", 250.0),
        ("pcie-2-x2", 1000.0),
        ("pcie-3-x4", 3940.0),
    ];
    let row = |(link, mb_per_s): (&str, f64)| {
        let timing = Timing { read_us: 1.0, link_mb_per_s: None, queue: 32, ..Timing::default() };
        let sketch = Sketch { channels: 16, timing, ..Sketch::plane(64, 64, 40_000) }.with("link", format!("{link:?}"));
        let mut work = Work::new(&sketch, 5);
        work.write_all(0..40_000);
        let load = Load { kind: Read, pages: 32, logical: 40_000, random: true };
        let rate = closed_loop(&mut work, load, 32, 5000) * 32.0 * 4096.0 / 1e6;
        // A page's time on the link is a whole number of nanoseconds, which at 4 GB/s is half of 1/1000.
        let (name, bound) = (format!("MB/s of reads over {link}"), Some(mb_per_s * 1.0006));
        Row { name, theory: mb_per_s, simulated: rate, tolerance: 0.01, bound }
    };
    links.into_iter().map(row).collect()
}

/// Reads of 400 us each, one after the other on many dies: no more than the queue holds are
/// outstanding, whatever the host's depth.
fn queue() -> Vec<Row> {
    let row = |(link, places): (&str, u32)| {
        let timing = Timing { read_us: 400.0, queue: places, link_mb_per_s: None, ..Timing::default() };
        let sketch = Sketch { channels: 256, dies_per_channel: 8, timing, ..Sketch::plane(8, 16, 100_000) };
        let mut work = Work::new(&sketch.with("link", format!("{link:?}")), 5);
        work.write_all(0..100_000);
        let start_ns = mileage_drive::Immediate::now_ns(&work.drive) + 1_000_000_000;
        mileage_drive::Immediate::advance_to(&mut work.drive, start_ns);
        // First one read at a time, for the latency, then as many as the queue takes, for the rate.
        let load = Load { kind: Read, pages: 1, logical: 100_000, random: false };
        let alone_s = 1.0 / closed_loop(&mut work, load, 1, 500);
        let rate = closed_loop(&mut work, load, 1024, 50_000);
        let theory = f64::from(places) / alone_s;
        let name = format!("reads/s at depth 1024 over {link} with {places} places");
        Row { name, theory, simulated: rate, tolerance: 0.05, bound: Some(theory * 1.002) }
    };
    [("sata-3", 32), ("sata-3", 8), ("pcie-3-x16", 64)].into_iter().map(row).collect()
}
